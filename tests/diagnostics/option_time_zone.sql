-- expect: error[E0305] 2:76 unknown time zone Asia/Shangai
CREATE TABLE t(a int) WITH (type='kafka', bootstrapServers='h', topic='t', timezone='Asia/Shangai');
