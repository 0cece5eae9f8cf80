-- args: run parallel.sql
-- sorted
-- A join above a union, and two sinks below one; the tables have different parallelism.
CREATE TABLE a (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = 'a.jsonl', 'format' = 'json', 'parallelism' = '2');
CREATE TABLE b (nr INT, label STRING) WITH ('connector' = 'filesystem', 'path' = 'b.jsonl', 'format' = 'json', 'on-error' = 'skip');
CREATE TABLE dst (id BIGINT, name STRING) WITH ('connector' = 'print');
CREATE TABLE small (id BIGINT) WITH ('connector' = 'blackhole');
CREATE VIEW u AS SELECT id, name FROM a UNION ALL SELECT nr, label FROM b;
INSERT INTO dst SELECT u.id, u.name FROM u WHERE u.id > 1;
INSERT INTO small SELECT id FROM a;
