-- check: error[E0206] 16:41 not supported yet: a join of two streams
-- check: error[E0203] 17:45 LATERAL TABLE(..) and table functions
-- check: error[E0203] 18:54 LATERAL TABLE(..) and table functions
-- check: error[E0203] 19:38 not supported yet: UNION
-- check: error[E0203] 20:42 INTERSECT
-- check: error[E0203] 21:43 EXCEPT ALL
-- check: error[E0204] 22:38 IN (SELECT ..)
-- check: error[E0204] 23:46 EXISTS
-- check: error[E0204] 24:23 a query as a value
-- check: error[E0206] 25:35 several tables in FROM (a cross join)
-- check: error[E0206] 26:44 FULL JOIN is not supported
-- check: error[E0206] 27:45 RIGHT JOIN is not supported
-- check: error[E0203] 28:45 NATURAL JOIN
CREATE TABLE s(id INT, name STRING, ts TIMESTAMP(3)) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE o(a INT) WITH ('connector'='print');
INSERT INTO o SELECT a.id FROM s a JOIN s b ON a.id = b.id AND a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts;
INSERT INTO o SELECT a.id FROM s a, LATERAL TABLE(split(a.name)) AS T(w);
INSERT INTO o SELECT a.id FROM s a LEFT JOIN LATERAL TABLE(split(a.name)) AS T(w) ON TRUE;
INSERT INTO o SELECT id FROM s UNION SELECT id FROM s;
INSERT INTO o SELECT id FROM s INTERSECT SELECT id FROM s;
INSERT INTO o SELECT id FROM s EXCEPT ALL SELECT id FROM s;
INSERT INTO o SELECT id FROM s WHERE id IN (SELECT id FROM s);
INSERT INTO o SELECT id FROM s WHERE EXISTS (SELECT 1 FROM s);
INSERT INTO o SELECT (SELECT id FROM s) FROM s;
INSERT INTO o SELECT s.id FROM s, s AS t WHERE s.id = t.id;
INSERT INTO o SELECT s.id FROM s FULL JOIN s AS t ON s.id = t.id;
INSERT INTO o SELECT s.id FROM s RIGHT JOIN s AS t ON s.id = t.id;
INSERT INTO o SELECT id FROM s NATURAL JOIN s AS t;
