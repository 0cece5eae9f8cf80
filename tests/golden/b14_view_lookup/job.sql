-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in sink=-
-- B14, B15, B16. A view joined with a side table; `t.*`, AS in both cases, an alias that is a keyword.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(id int, name varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)
WITH(type='mysql', url='jdbc:mysql://h/d', userName='u', password='p', tableName='d', cache='ALL');
CREATE TABLE sink(`order` int, n varchar)WITH(type='console');
CREATE VIEW v AS SELECT t.* FROM src AS t;
INSERT INTO sink SELECT v.id AS `order`, s.name as n FROM v LEFT JOIN dim s ON v.id = s.id;
