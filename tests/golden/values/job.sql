-- args: run job.sql
-- sorted
-- Rows that the job holds itself.
CREATE TABLE dst (id BIGINT, price DECIMAL(16, 3), name STRING, at TIMESTAMP(3)) WITH ('connector' = 'print');
CREATE TABLE texts (t STRING) WITH ('connector' = 'print');
INSERT INTO dst VALUES (1, 1.5, 'one', TIMESTAMP '2026-01-02 03:04:05'), (2, 22, NULL, NULL), (CAST(3000000000 AS BIGINT), 0.001, UPPER('x'), TIMESTAMP '2026-01-02 00:00:00');
INSERT INTO texts SELECT CONCAT('a', 'b');
INSERT INTO texts SELECT UPPER(x.name) FROM (VALUES (1, 'p'), (2, 'q')) AS x (id, name) WHERE x.id > 1;
