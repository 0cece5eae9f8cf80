-- args: run job.sql --stand-in src=in.jsonl --stand-in sink=-
-- B25. SQL NULL, the text 'null' and a missing member are told apart.
CREATE TABLE src(n varchar)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE sink(n varchar, is_null boolean)WITH(type='console');
INSERT INTO sink SELECT n, n IS NULL AS is_null FROM src;
