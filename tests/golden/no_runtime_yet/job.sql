-- args: check job.sql
-- args: explain job.sql
-- args: run job.sql
-- args: run job.sql --stand-in src=in.jsonl --stand-in sink=-
-- Connectors that only have their options so far: check accepts them, run refuses them without a stand-in.
CREATE TABLE src(id int)WITH(type='kafka11', bootstrapServers='h:9092', topic='t', groupId='g');
CREATE TABLE sink(id int, PRIMARY KEY(id))WITH(type='mysql', url='jdbc:mysql://h:3306/test?password=secret1', userName='dtstack', password='secret2', tableName='t');
INSERT INTO sink SELECT id FROM src WHERE id > 1;
