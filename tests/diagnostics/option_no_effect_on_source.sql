-- expect: warning[W0302] 4:76 updateMode has no effect on a source
-- expect: warning[W0302] 4:97 enableKeyPartitions has no effect
-- expect: warning[W0302] 4:126 zookeeperQuorum has no effect here
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h', topic='t', updateMode='append', enableKeyPartitions='false', zookeeperQuorum='z');
