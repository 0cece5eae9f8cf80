-- expect: error[E0106] 3:3 a comma is missing before b
CREATE TABLE t(a INT
  b INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
