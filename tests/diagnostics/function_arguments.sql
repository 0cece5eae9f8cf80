-- check: error[E0605] 9:22 LEFT: takes (text, integer), not (STRING, STRING): argument 2 does not fit
-- check: error[E0605] 10:22 REGEXP: regular expression '(?<=a)b': look-around is not supported
-- check: error[E0501] 11:22 unknown function REGEXP_EXTRAKT
-- check: error[E0605] 12:22 IF(condition, value, otherwise) does not take 2 arguments
-- check: error[E0108] 13:35 TIMESTAMP '2024-02-30 00:00:00' does not exist
-- check: error[E0108] 14:38 INTERVAL '1 x' is no DAY TO HOUR
-- check: error[E0605] 15:22 JSON_VALUE: the JSON path 'a.b' does not begin with $
CREATE TABLE t(a STRING, b TIMESTAMP(3)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO t SELECT LEFT(a, 'x'), b FROM t;
INSERT INTO t SELECT REGEXP(a, '(?<=a)b'), b FROM t;
INSERT INTO t SELECT REGEXP_EXTRAKT(a, 'x'), b FROM t;
INSERT INTO t SELECT IF(a, b), b FROM t;
INSERT INTO t SELECT a, TIMESTAMP '2024-02-30 00:00:00' FROM t;
INSERT INTO t SELECT a, b + INTERVAL '1 x' DAY TO HOUR FROM t;
INSERT INTO t SELECT JSON_VALUE(a, 'a.b'), b FROM t;
