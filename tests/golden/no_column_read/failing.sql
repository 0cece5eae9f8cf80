-- args: run failing.sql --dead-letters dead.jsonl
-- show: dead.jsonl
-- A constant that fails refuses each row by its own number.
CREATE TABLE src(id int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(b int)WITH('connector'='print');
INSERT INTO sink SELECT CAST('x' AS INT) FROM src WHERE PROCTIME() IS NOT NULL;
