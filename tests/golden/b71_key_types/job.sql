-- args: run job.sql --stand-in src=in.jsonl --stand-in dim=dim.jsonl --stand-in sink=-
-- B71. Keys are compared by value: text against BIGINT, BIGINT against INT; what does not fit matches nothing.
CREATE TABLE src(s varchar, l bigint)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE dim(big bigint, small int, v varchar, PRIMARY KEY(big), PERIOD FOR SYSTEM_TIME)
WITH(type='kudu', kuduMasters='h:1', tableName='d', cache='ALL');
CREATE TABLE sink(s varchar, by_text varchar, l bigint, by_number varchar)WITH(type='console');
INSERT INTO sink SELECT a.s, t.v AS by_text, a.l, n.v AS by_number FROM src a
LEFT JOIN dim t ON a.s = t.big
LEFT JOIN dim n ON a.l = n.small;
