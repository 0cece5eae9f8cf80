-- args: check job.sql
-- args: explain job.sql
-- args: run job.sql
-- args: run job.sql --stand-in src=in.jsonl --stand-in sink=-
-- Connectors that only have their options so far: check accepts them, run refuses them without a stand-in.
CREATE TABLE src(id int)WITH(type='kafka11', bootstrapServers='h:9092', topic='t', groupId='g');
CREATE TABLE sink(id int, PRIMARY KEY(id))WITH(type='kudu', kuduMasters='h:7051', tableName='t');
INSERT INTO sink SELECT id FROM src WHERE id > 1;
