-- expect: warning[W0301] 3:3 did you mean zookeeperQuorum?
CREATE TABLE t(id bigint) WITH (type='kafka10', bootstrapServers='h:1',
  zookeeperQuorm='z', topic='t');
