-- expect: error[E0101] 2:88 expected a quoted value of option groupId, found =
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h:1', topic='t', groupId = = 'x');
