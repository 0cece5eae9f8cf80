-- args: run ctes.sql
-- sorted
-- WITH: several, one reading another, one hiding a table's name, one with a column list.
CREATE TABLE src(id INT, name STRING, n INT, `order` STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(k INT, label STRING) WITH ('connector'='print');
INSERT INTO sink
WITH src AS (SELECT id, name FROM src WHERE id > 1), b(k, label) AS (SELECT id, name FROM src)
SELECT k, label FROM b;
INSERT INTO sink WITH a AS (SELECT id + 100 AS id FROM src), b AS (SELECT id + 1000 AS id FROM a) SELECT id, 'b' FROM b;
