-- args: run names.sql
-- sorted
-- Backticks for reserved and odd names, the same column twice, columns without a name (EXPR$0 ..), constants only,
-- names that differ in case only.
CREATE TABLE src(id INT, name STRING, n INT, `order` STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(`select` STRING, `a b` INT, `A B` INT) WITH ('connector'='print');
CREATE TABLE wide(a INT, b INT, c STRING, d BOOLEAN, e DECIMAL(3, 1), f DOUBLE, g STRING) WITH ('connector'='print');
INSERT INTO sink SELECT `s`.`order`, id, id AS `from` FROM src AS `s` WHERE `order` IS NOT NULL;
INSERT INTO wide SELECT 1, -2, 'it''s', TRUE, 1.5, 1e2, CAST(NULL AS STRING) FROM src WHERE id = 1;
INSERT INTO sink SELECT t.`EXPR$0`, t.`EXPR$2`, id FROM (SELECT UPPER(name), id, n + 1 FROM src) t WHERE id < 3;
