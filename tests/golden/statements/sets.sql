-- args: run --quiet sets.sql
-- sorted
-- All forms of a statement set, EXECUTE INSERT, and names with their catalog and database.
CREATE TABLE src(id INT, name STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE default_catalog.default_database.sink(id INT, name STRING) WITH ('connector'='print');
USE CATALOG default_catalog;
USE default_database;
CREATE TABLE one LIKE sink;
ALTER TABLE one RENAME TO first;
DROP TABLE IF EXISTS one;
BEGIN STATEMENT SET;
INSERT INTO sink SELECT id, 'begin' FROM src;
INSERT INTO default_database.sink SELECT id, 'second' FROM default_catalog.default_database.src WHERE id = 1;
END;
EXECUTE STATEMENT SET BEGIN
INSERT INTO sink SELECT id, 'execute set' FROM src;
INSERT INTO sink SELECT id, CASE WHEN id = 1 THEN 'x' ELSE 'y' END FROM src;
END;
EXECUTE INSERT INTO sink SELECT id, 'execute' FROM src;
