-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in inner_sink=inner.jsonl --stand-in left_sink=left.jsonl
-- show: inner.jsonl
-- show: left.jsonl
-- B47, B49, B68. NULL in any part of a key matches nothing, not even NULL.
CREATE TABLE src(a int, b int, c int)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(a int, b int, c int, v varchar, PRIMARY KEY(a,b,c), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d', cache='ALL');
CREATE TABLE inner_sink(a int, v varchar)WITH(type='console');
CREATE TABLE left_sink(a int, v varchar)WITH(type='console');
INSERT INTO inner_sink SELECT s.a, d.v FROM src s JOIN dim d ON s.a=d.a AND s.b=d.b AND s.c=d.c;
INSERT INTO left_sink SELECT s.a, d.v FROM src s LEFT JOIN dim d ON s.a=d.a AND s.b=d.b AND s.c=d.c;
