-- expect: error[E0209] 8:1 not supported yet: a catalog of type hive
-- expect: error[E0209] 10:5 unknown catalog hove
-- expect: error[E0209] 14:13 unknown database d2
-- expect: error[E0209] 15:49 unknown catalog other
-- expect: error[E0101] 16:50 expected at most catalog.database.name, found d
-- What is declared in a refused catalog, and what reads it, is not spoken of again.
CREATE CATALOG IF NOT EXISTS default_catalog; CREATE DATABASE IF NOT EXISTS default_database;
CREATE CATALOG h WITH ('type'='hive'); USE CATALOG h; CREATE TABLE there(a INT) WITH ('kudu.hash-columns'='a'); USE default_catalog.default_database; USE
CATALOG default_catalog; USE h.x; USE h.y; USE CATALOG
    hove; USE CATALOG default_catalog;
USE default_database;
CREATE TABLE default_catalog.default_database.t(a INT) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE s(a INT) WITH ('connector'='print');
INSERT INTO d2.s SELECT a FROM t;
INSERT INTO default_database.s SELECT a FROM    other.d.t;
INSERT INTO s SELECT a FROM t; INSERT INTO a.b.c.d SELECT a FROM t;
INSERT INTO default_catalog.default_database.s SELECT t.a FROM default_database.t; INSERT INTO s SELECT a FROM there;
