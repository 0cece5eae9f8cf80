-- expect: error[E0305] 2:76 offsetReset must be one of latest, earliest
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h', topic='t', offsetReset='newest');
