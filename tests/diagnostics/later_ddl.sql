-- expect: error[E0202] 13:52 not supported yet: PARTITION in CREATE TABLE
-- expect: error[E0202] 14:24 PARTITIONED in CREATE TABLE
-- expect: error[E0202] 15:17 AS in CREATE TABLE
-- expect: error[E0202] 16:44 AS in CREATE TABLE
-- expect: error[E0201] 17:1 CREATE MATERIALIZED
-- expect: error[E0202] 18:24 DISTRIBUTED in CREATE TABLE
-- expect: error[E0201] 19:1 not supported yet: DELETE
-- expect: error[E0201] 20:1 not supported yet: UPDATE
-- expect: error[E0201] 21:1 not supported yet: SHOW CREATE TABLE
-- expect: error[E0201] 22:1 LOAD MODULE
CREATE TABLE o(a INT) WITH ('connector'='print');
CREATE TABLE s(id INT) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE k(a INT, PRIMARY KEY(a) NOT ENFORCED) PARTITION BY HASH(a) PARTITIONS 3 STORED AS KUDU;
CREATE TABLE k2(a INT) PARTITIONED BY (a) WITH ('connector'='print');
CREATE TABLE k3 AS SELECT id FROM s;
CREATE TABLE k4 WITH ('connector'='print') AS SELECT id FROM s;
CREATE MATERIALIZED TABLE m AS SELECT 1;
CREATE TABLE d1(a INT) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('connector'='print');
DELETE FROM o WHERE a = 1;
UPDATE o SET a = 1;
SHOW CREATE TABLE o;
LOAD MODULE core;
