-- args: run views.sql
-- sorted
-- A chain of views, one with a column list that renames, one that hides a column; a view that nobody reads.
CREATE TABLE src(id INT, name STRING, n INT, `order` STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(k INT, label STRING, twice INT) WITH ('connector'='print');
CREATE VIEW named(k, label, n) AS SELECT id, name, n FROM src;
CREATE VIEW doubled AS SELECT k, label, n * 2 AS twice FROM named WHERE n <> 0;
CREATE VIEW unused AS SELECT name FROM src;
INSERT INTO sink SELECT k, label, twice FROM doubled WHERE twice < 100;
INSERT INTO sink SELECT d.k, UPPER(d.label), d.twice FROM doubled AS d;
