-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in sink=1.jsonl --stand-in dim2=dim2.jsonl --stand-in sink2=2.jsonl --stand-in sink3=3.jsonl
-- show: 1.jsonl
-- show: 2.jsonl
-- show: 3.jsonl
-- B71. Keys are compared by value: text against BIGINT, BIGINT against INT; what does not fit matches nothing.
CREATE TABLE src(s varchar, l bigint)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(big bigint, small int, v varchar, PRIMARY KEY(big), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d', cache='ALL');
CREATE TABLE sink(s varchar, by_text varchar, l bigint, by_number varchar)WITH(type='console');
INSERT INTO sink SELECT a.s, t.v AS by_text, a.l, n.v AS by_number FROM src a
LEFT JOIN dim t ON a.s = t.big
LEFT JOIN dim n ON a.l = n.small;
CREATE TABLE dim2(k varchar, v varchar, PRIMARY KEY(k), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d2', cache='ALL');
CREATE TABLE sink2(l bigint, v varchar)WITH(type='console');
CREATE TABLE sink3(l bigint, v varchar)WITH(type='console');
INSERT INTO sink2 SELECT a.l, d.v FROM src a LEFT JOIN dim2 d ON a.l = d.k;
INSERT INTO sink3 SELECT a.l, d.v FROM src a LEFT JOIN dim2 d ON CAST(a.s AS INT) = CAST(d.k AS INT);
