-- expect: error[E0102] 3:1 comment is not closed
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
/* never
