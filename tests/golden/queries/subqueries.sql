-- args: run subqueries.sql
-- Subqueries in FROM, four deep, with aliases that hide those outside.
CREATE TABLE src(id INT, name STRING, n INT, `order` STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(x INT, y STRING) WITH ('connector'='print');
INSERT INTO sink
SELECT t.x, t.y FROM (
  SELECT t.x + 1 AS x, t.y FROM (
    SELECT t.id * 10 AS x, CONCAT(t.name, '!') AS y, t.n FROM (
      SELECT id, name, n FROM src WHERE id IS NOT NULL
    ) t WHERE t.n <> 0
  ) AS t WHERE t.x > 0
) t WHERE t.y IS NULL OR t.y <> 'x';
