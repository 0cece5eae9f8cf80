-- expect: warning[W0601] 2:28 not checked
CREATE TABLE t(a ROW<b INT NOT NULL>) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
