-- args: run job.sql --stand-in src=in.jsonl --stand-in out=-
-- B02. A comment equals one blank.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h1:1,h2:2', topic='t');
CREATE TABLE `out`(id int)WITH(type='console');
INSERT INTO `out` SELECT id--key
FROM src;
