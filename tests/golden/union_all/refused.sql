-- args: check refused.sql
CREATE TABLE a (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = 'a.jsonl', 'format' = 'json');
CREATE TABLE dst (id INT) WITH ('connector' = 'print');
INSERT INTO dst SELECT id FROM a UNION SELECT id FROM a;
INSERT INTO dst SELECT id FROM a UNION ALL SELECT name FROM a;
INSERT INTO dst SELECT id FROM a UNION ALL SELECT id, name FROM a;
