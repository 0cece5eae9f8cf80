-- expect: error[E0209] 13:1 not supported yet: a catalog of type kudu
-- expect: error[E0201] 14:1 not supported yet: ALTER VIEW
-- expect: error[E0201] 15:1 not supported yet: ALTER TABLE .. ADD
-- expect: error[E0201] 16:1 not supported yet: DROP DATABASE
-- expect: error[E0201] 17:1 not supported yet: SHOW JARS
-- expect: error[E0202] 18:9 not supported yet: EXPLAIN with CHANGELOG_MODE
-- expect: error[E0201] 19:1 not supported yet: COMPILE PLAN
-- expect: error[E0201] 20:1 INSERT INTO sink SELECT ..
-- expect: error[E0201] 21:1 allReplace
-- expect: error[E0209] 22:1 not supported yet: the database d
-- expect: error[E0201] 23:1 not supported yet: USE MODULES
-- expect: error[E0201] 24:1 not supported yet: DESCRIBE FUNCTION
CREATE CATALOG k WITH ('type'='kudu');
ALTER VIEW v RENAME TO w;
ALTER TABLE t ADD (c INT);
DROP DATABASE d;
SHOW JARS;
EXPLAIN CHANGELOG_MODE INSERT INTO t SELECT a FROM s;
COMPILE PLAN 'p.json' FOR INSERT INTO t SELECT a FROM s;
SELECT a FROM t;
REPLACE INTO t SELECT a FROM s;
CREATE DATABASE d;
USE MODULES core;
DESCRIBE FUNCTION f;
