-- args: run dtstack.sql --stand-in src=in.jsonl --stand-in sink=-
-- B18. Surplus columns of the query are dropped in flinkStreamSQL.
CREATE TABLE src(id int, name varchar, age int)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE sink(id int, name varchar)WITH(type='console');
INSERT INTO sink SELECT id, name, age FROM src;
