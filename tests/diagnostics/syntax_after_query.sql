-- expect: error[E0101] 3:33 expected the end of the statement (;), found 5
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO t SELECT a FROM t x 5;
