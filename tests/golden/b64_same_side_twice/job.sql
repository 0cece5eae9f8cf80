-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in sink=-
-- B64, B55. The same side table twice, each with its own condition; a key with two rows gives two.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(id int, kind varchar, v varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d', cache='ALL');
CREATE TABLE sink(id int, a varchar, b varchar)WITH(type='console');
INSERT INTO sink SELECT a.id, s1.v AS a, s2.v AS b FROM src a
JOIN dim s1 ON a.id=s1.id AND s1.kind='A'
LEFT JOIN dim s2 ON a.id=s2.id AND s2.kind='B';
