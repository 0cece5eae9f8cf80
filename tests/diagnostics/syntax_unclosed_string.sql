-- expect: error[E0102] 3:22 string is not closed
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO t SELECT 'x FROM t;
