-- expect: error[E0405] 14:12 unknown table tt
-- expect: error[E0405] 15:12 v is a view
-- expect: error[E0501] 16:15 unknown function f
-- expect: error[E0202] 17:1 table t is changed after line 13 has used it
-- expect: error[E0405] 19:29 t was dropped in line 18
-- expect: error[E0401] 20:14 t was used before it was dropped in line 18
-- expect: error[E0401] 21:25 there is a table or view v already
-- expect: error[E0405] 22:13 unknown table nothing
DROP TABLE IF EXISTS t;
CREATE TABLE t(a INT) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE s(a INT) WITH ('connector'='print');
CREATE TABLE u(a INT) WITH ('connector'='print');
CREATE VIEW v AS SELECT a FROM t; INSERT INTO s SELECT a FROM t;
DROP TABLE tt;
DROP TABLE v;
DROP FUNCTION f; DROP TEMPORARY SYSTEM FUNCTION IF EXISTS g;
ALTER TABLE t SET ('number-of-rows' = '2');
DROP TABLE t; DROP VIEW IF EXISTS w;
INSERT INTO s SELECT a FROM t;
CREATE TABLE t(b INT) WITH ('connector'='print');
ALTER TABLE u RENAME TO v;
ALTER TABLE nothing RESET ('a'); ALTER TABLE IF EXISTS nothing RENAME TO u;
