-- expect: error[E0101] 2:22 expected , or ) after a column, found WITH
CREATE TABLE t(a INT WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE u(b INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
