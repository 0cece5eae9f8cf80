-- args: run job.sql
-- sorted
-- Arrays, arrays of rows, maps; NULL, empty; CROSS JOIN, comma, LEFT JOIN; with a side table and a condition after it.
CREATE TABLE src (id INT, tags ARRAY<STRING>, items ARRAY<ROW<sku STRING, qty INT>>, props MAP<STRING, INT>, p AS PROCTIME())
WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');
CREATE TABLE dim (sku STRING, name STRING) WITH ('connector' = 'filesystem', 'path' = 'dim.jsonl', 'format' = 'json');
CREATE TABLE dst (q STRING, id INT, a STRING, b STRING) WITH ('connector' = 'print');
INSERT INTO dst SELECT 'cross', id, tag, CAST(NULL AS STRING) FROM src CROSS JOIN UNNEST(tags) AS t (tag);
INSERT INTO dst SELECT 'comma', s.id, tag, CAST(NULL AS STRING) FROM src AS s, UNNEST(s.tags) AS t (tag) WHERE tag <> 'x';
INSERT INTO dst SELECT 'left', id, tag, CAST(NULL AS STRING) FROM src LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE;
INSERT INTO dst SELECT 'rows', id, sku, CAST(qty AS STRING) FROM src CROSS JOIN UNNEST(items) AS i;
INSERT INTO dst SELECT 'renamed', id, i.s, CAST(i.n AS STRING) FROM src CROSS JOIN UNNEST(items) AS i (s, n) WHERE i.n > 1;
INSERT INTO dst SELECT 'map', id, m.k, CAST(m.v AS STRING) FROM src LEFT JOIN UNNEST(props) AS m (k, v) ON TRUE;
INSERT INTO dst SELECT 'numbered', id, tag, CAST(n AS STRING) FROM src CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t (tag, n);
INSERT INTO dst SELECT 'twice', id, tag, sku FROM src CROSS JOIN UNNEST(tags) AS t (tag) CROSS JOIN UNNEST(items) AS i (sku, qty);
INSERT INTO dst SELECT 'joined', s.id, i.sku, dim.name FROM src AS s CROSS JOIN UNNEST(s.items) AS i (sku, qty)
  LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p ON i.sku = dim.sku;
INSERT INTO dst SELECT 'literal', x, CAST(NULL AS STRING), CAST(NULL AS STRING) FROM UNNEST(ARRAY[1, 2]) AS t (x);
INSERT INTO dst SELECT 'made', id, y, CAST(NULL AS STRING) FROM src CROSS JOIN UNNEST(ARRAY[CAST(id AS STRING), 'z']) AS t (y) WHERE id < 2;
