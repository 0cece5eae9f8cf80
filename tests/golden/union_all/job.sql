-- args: run job.sql
-- sorted
-- Branches of a UNION ALL: the same table twice, another one with other names, nested, with a side table, in a view.
CREATE TABLE a (id INT, name STRING, p AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = 'a.jsonl', 'format' = 'json');
CREATE TABLE b (nr BIGINT, label STRING) WITH ('connector' = 'filesystem', 'path' = 'b.jsonl', 'format' = 'json');
CREATE TABLE dim (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = 'dim.jsonl', 'format' = 'json');
CREATE TABLE dst (id BIGINT, name STRING, branch STRING) WITH ('connector' = 'print');
CREATE VIEW both_tables AS SELECT id, name FROM a WHERE id > 1 UNION ALL SELECT nr, label FROM b;
INSERT INTO dst
SELECT id, name, 'first' FROM a
UNION ALL SELECT nr, UPPER(label), 'second' FROM b WHERE nr < 20
UNION ALL (SELECT id, name, 'view' FROM both_tables UNION ALL SELECT 7, CAST(NULL AS STRING), 'literal')
UNION ALL SELECT a.id, dim.name, 'side' FROM a LEFT JOIN dim FOR SYSTEM_TIME AS OF a.p ON a.id = dim.id;
