-- args: run job.sql --stand-in dim=dim.jsonl
-- sorted
-- A query, a view or a nested query over a side table as the right side of a join; the same dimension twice.
CREATE TABLE src (id INT, k STRING, p AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');
CREATE TABLE dim (k varchar, name varchar, n int, PRIMARY KEY (k), PERIOD FOR SYSTEM_TIME)
WITH (type = 'mysql', url = 'jdbc:mysql://h/d', tableName = 'dim', userName = 'u', password = 'p', cache = 'ALL');
CREATE TABLE dst (q STRING, id INT, a STRING, b STRING) WITH ('connector' = 'print');
CREATE VIEW named AS SELECT k AS key_of, UPPER(name) AS label FROM dim WHERE n > 1;
INSERT INTO dst SELECT 'inner', s.id, d.label, CAST(NULL AS STRING)
  FROM src s JOIN (SELECT k AS kk, name AS label FROM dim WHERE n > 1) d ON s.k = d.kk;
INSERT INTO dst SELECT 'left', s.id, d.label, d.fixed
  FROM src s LEFT JOIN (SELECT k, COALESCE(name, 'none') AS label, 'y' AS fixed FROM dim WHERE n > 1) d ON s.k = d.k;
INSERT INTO dst SELECT 'view', s.id, v.label, CAST(NULL AS STRING) FROM src s LEFT JOIN named v ON s.k = v.key_of;
INSERT INTO dst SELECT 'nested', s.id, d.x, CAST(NULL AS STRING)
  FROM src s JOIN (SELECT k, x FROM (SELECT k, CONCAT(name, '!') AS x, n FROM dim) i WHERE n < 3) d ON d.k = s.k AND d.x <> 'two!';
INSERT INTO dst SELECT 'twice', s.id, a.name, b.name
  FROM src s LEFT JOIN (SELECT k, name FROM dim WHERE n = 1) a ON s.k = a.k LEFT JOIN (SELECT k, name FROM dim WHERE n > 1) b ON s.k = b.k;
INSERT INTO dst SELECT 'union', id, name, CAST(NULL AS STRING) FROM (
  SELECT s.id, d.name FROM src s JOIN dim d ON s.k = d.k UNION ALL SELECT s.id, 'plain' FROM src s) u;
