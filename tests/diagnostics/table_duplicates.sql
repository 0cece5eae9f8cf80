-- expect: error[E0401] 6:14 declared in line
-- expect: error[E0401] 7:13 there is a table t already
-- expect: error[E0502] 10:17 function F
-- expect: error[E0402] 11:30 column a is declared twice
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE VIEW t AS SELECT a FROM t;
CREATE TABLE IF NOT EXISTS t(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE FUNCTION f AS 'x';
CREATE FUNCTION F AS 'x';
CREATE TABLE u(a INT, b INT, a STRING) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
-- check: error[E0501] 9:22 class 'x' is not in plugins.toml
