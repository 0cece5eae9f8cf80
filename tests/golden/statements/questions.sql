-- args: explain questions.sql
-- args: run --quiet questions.sql
-- args: run questions.sql
-- What is asked is answered by explain and check, and passed over by run, which does not run what is explained.
CREATE TABLE src(id INT, name STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(id INT, name STRING) WITH ('connector'='print');
CREATE VIEW v AS SELECT id FROM src WHERE id > 1;
SHOW TABLES;
SHOW VIEWS;
SHOW CURRENT DATABASE;
DESCRIBE src;
DESC v;
EXPLAIN PLAN FOR INSERT INTO sink SELECT id, 'not run' FROM v;
EXPLAIN SELECT UPPER(name) FROM src;
EXPLAIN STATEMENT SET BEGIN
INSERT INTO sink SELECT id, 'nor this' FROM src;
END;
INSERT INTO sink SELECT id, name FROM src;
