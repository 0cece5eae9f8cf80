-- expect: warning[W0404] 6:69 withOffset names s
-- expect: error[E0406] 7:41 is STRING
-- expect: error[E0403] 8:47 did you mean ts?
-- expect: error[E0101] 9:62 a delay in milliseconds, found -
-- expect: error[E0406] 10:57 one watermark
CREATE TABLE a(ts bigint, s varchar, WATERMARK FOR ts AS withOffset(s, 1000)) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE b(ts STRING, WATERMARK FOR ts AS ts - 1) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE c(ts TIMESTAMP(3), WATERMARK FOR tz AS ts) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE d(ts bigint, WATERMARK FOR ts AS withOffset(ts, -5)) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE e(ts TIMESTAMP(3), WATERMARK FOR ts AS ts, WATERMARK FOR ts AS ts) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
