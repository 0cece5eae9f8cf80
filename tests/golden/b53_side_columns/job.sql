-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in sink=-
-- B53. A query that uses some columns of the side table gets their values and types.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(id int, name varchar, age int, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d', cache='ALL');
CREATE TABLE sink(id int, age int)WITH(type='console');
INSERT INTO sink SELECT a.id, b.age FROM src a JOIN dim b ON a.id = b.id;
