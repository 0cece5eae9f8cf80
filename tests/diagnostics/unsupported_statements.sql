-- expect: error[E0201] 11:1 not supported yet: CREATE CATALOG
-- expect: error[E0201] 12:1 ALTER TABLE
-- expect: error[E0201] 13:1 DROP TABLE
-- expect: error[E0201] 14:1 USE CATALOG
-- expect: error[E0201] 15:1 EXPLAIN SELECT
-- expect: error[E0201] 16:1 BEGIN STATEMENT SET
-- expect: error[E0201] 17:1 END
-- expect: error[E0201] 18:1 INSERT INTO sink SELECT ..
-- expect: error[E0201] 19:1 allReplace
-- expect: error[E0201] 20:1 CREATE DATABASE
CREATE CATALOG k WITH ('type'='kudu');
ALTER TABLE a RENAME TO b;
DROP TABLE a;
USE CATALOG k;
EXPLAIN SELECT 1;
BEGIN STATEMENT SET;
END;
SELECT a FROM t;
REPLACE INTO t SELECT a FROM s;
CREATE DATABASE d;
