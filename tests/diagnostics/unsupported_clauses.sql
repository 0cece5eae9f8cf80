-- expect: error[E0202] 9:23 PARTITIONED in CREATE TABLE
-- expect: error[E0101] 10:14 table b has no columns
-- (line 11 is like a table with errors: no message of its own)
-- expect: error[E0202] 12:22 DEFAULT on a column
-- expect: error[E0101] 13:22 the WITH clause names the connector
-- expect: error[E0202] 14:23 UNIQUE in CREATE TABLE
-- expect: error[E0202] 15:13 view v has no query
-- expect: error[E0202] 16:8 INSERT OVERWRITE
CREATE TABLE a(x INT) PARTITIONED BY (x) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE b WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE c(x INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json') LIKE a;
CREATE TABLE d(x INT DEFAULT 5) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE e(x INT);
CREATE TABLE f(x INT, UNIQUE (x)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE VIEW v(a varchar, b varchar);
INSERT OVERWRITE a SELECT x FROM a;
