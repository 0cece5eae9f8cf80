-- args: run refused_rows.sql
-- A row that a function refuses is a dead letter, the others go on.
CREATE TABLE src (id INT, n INT)
WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json', 'on-error' = 'dead-letter');
CREATE TABLE `out` (id INT, r INT) WITH ('connector' = 'print');
INSERT INTO `out` SELECT id, CASE WHEN id > 3 THEN 0 ELSE RAND_INTEGER(n) * 0 END FROM src;
