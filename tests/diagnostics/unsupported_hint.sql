-- expect: error[E0205] 3:31 query hints
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO t SELECT a FROM t /*+ OPTIONS('a'='b') */;
