-- args: check job.sql
-- args: explain job.sql
-- args: run job.sql
-- args: run job.sql --stand-in src=in.jsonl --stand-in sink=-
-- A connector that only has its options so far: check accepts it, run refuses it without a stand-in.
CREATE TABLE src(id int)WITH(type='kafka11', bootstrapServers='h:9092', topic='t', groupId='g');
CREATE TABLE sink(id int, PRIMARY KEY(id))WITH(type='kudu', kuduMasters='h:7051', tableName='t', principal='p', keytab='secret2', krb5conf='c');
INSERT INTO sink SELECT id FROM src WHERE id > 1;
