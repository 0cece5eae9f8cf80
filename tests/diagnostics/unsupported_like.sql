-- check: error[E0204] 6:44 a pattern in which the escape character ! stands before something else than %, _ or !
-- check: error[E0204] 7:57 an ESCAPE that is not one character
-- check: error[E0204] 8:44 LIKE with ESCAPE and a pattern that is no text in quotes
-- check: error[E0204] 9:37 ILIKE
CREATE TABLE t(a STRING) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO t SELECT a FROM t WHERE a LIKE 'x!y' ESCAPE '!';
INSERT INTO t SELECT a FROM t WHERE a LIKE 'x!%' ESCAPE '!!';
INSERT INTO t SELECT a FROM t WHERE a LIKE a ESCAPE '!';
INSERT INTO t SELECT a FROM t WHERE a ILIKE 'x';
