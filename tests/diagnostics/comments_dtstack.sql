-- expect: warning[W0102] 4:9 // is read as the start of a comment
-- expect: warning[W0102] 5:57 # is read as the start of a comment
CREATE TABLE t(
  a int // 维表标识
) WITH (type='kafka', bootstrapServers='h:1', topic='t' #可不设置
);
