-- check: error[E0207] 20:22 not supported yet: the aggregate function COUNT
-- check: error[E0203] 20:47 not supported yet: GROUP BY
-- check: error[E0203] 20:57 not supported yet: HAVING
-- check: error[E0203] 21:15 SELECT DISTINCT
-- check: error[E0204] 22:22 DISTINCT and ALL in a function
-- check: error[E0207] 22:22 the aggregate function COUNT
-- check: error[E0203] 23:41 ORDER BY
-- check: error[E0203] 23:50 LIMIT and OFFSET
-- check: error[E0203] 24:57 GROUP BY GROUPING SETS
-- check: error[E0203] 25:49 GROUP BY ROLLUP
-- check: error[E0203] 26:47 GROUP BY CUBE
-- check: error[E0204] 27:22 FILTER
-- check: error[E0207] 27:22 the aggregate function COUNT
-- check: error[E0204] 28:22 WITHIN GROUP
-- check: error[E0207] 28:22 the aggregate function LISTAGG
-- check: error[E0203] 29:44 FETCH FIRST
-- check: error[E0203] 30:30 TABLESAMPLE
CREATE TABLE s(id INT, name STRING, ts TIMESTAMP(3)) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE o(a INT) WITH ('connector'='print');
INSERT INTO o SELECT COUNT(*) FROM s GROUP BY id HAVING COUNT(*) > 1;
INSERT INTO o SELECT DISTINCT id FROM s;
INSERT INTO o SELECT COUNT(DISTINCT id) FROM s;
INSERT INTO o SELECT id FROM s ORDER BY ts LIMIT 5;
INSERT INTO o SELECT id FROM s GROUP BY GROUPING SETS ((id), ());
INSERT INTO o SELECT id FROM s GROUP BY ROLLUP (id);
INSERT INTO o SELECT id FROM s GROUP BY CUBE (id, name);
INSERT INTO o SELECT COUNT(*) FILTER (WHERE id > 1) FROM s;
INSERT INTO o SELECT LISTAGG(name, ',') WITHIN GROUP (ORDER BY id) FROM s;
INSERT INTO o SELECT id FROM s FETCH FIRST 5 ROWS ONLY;
INSERT INTO o SELECT id FROM s TABLESAMPLE SYSTEM(10);
