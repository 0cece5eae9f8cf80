-- expect: error[E0104] 2:22 comments begin with --
CREATE TABLE t(a INT # key
) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
