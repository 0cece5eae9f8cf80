-- expect: error[E0407] 3:16 a.b type AS name
-- expect: error[E0407] 4:14 no column with a type
CREATE TABLE t(a.b int) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE u(x AS 1) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
