-- expect: error[E0303] 2:78 option TOPIC is given twice
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h:1', topic='t', TOPIC='u');
