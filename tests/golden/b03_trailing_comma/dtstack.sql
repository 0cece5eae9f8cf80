-- args: run dtstack.sql --stand-in src=in.jsonl
-- B03. A trailing comma in WITH: accepted with one warning in flinkStreamSQL.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h1:1', topic='t',);
CREATE TABLE sink(id int)WITH(type ='console',);
INSERT INTO sink SELECT id FROM src;
