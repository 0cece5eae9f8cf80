-- args: run failing.sql
-- args: run failing.sql --dead-letters dead.jsonl
-- A row of VALUES that fails.
CREATE TABLE dst (id INT) WITH ('connector' = 'print');
INSERT INTO dst SELECT CAST(t AS INT) FROM (VALUES ('1'), ('two'), ('3')) AS x (t);
