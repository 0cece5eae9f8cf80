-- expect: warning[W0104] 3:1 plugins.toml
-- expect: warning[W0104] 4:3 ignored
add jar with /x/y.jar;
  ADD FILE z;
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h:1', topic='t');
