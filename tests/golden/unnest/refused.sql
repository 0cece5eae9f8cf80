-- args: check refused.sql
CREATE TABLE src (id INT, tags ARRAY<STRING>) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');
CREATE TABLE dst (id INT) WITH ('connector' = 'print');
INSERT INTO dst SELECT s.id FROM src AS s CROSS JOIN UNNEST(id) AS t (x);
INSERT INTO dst SELECT id FROM src CROSS JOIN UNNEST(tags) AS t (x, y);
INSERT INTO dst SELECT id FROM src LEFT JOIN UNNEST(tags) AS t (x) ON x = 'a';
INSERT INTO dst SELECT id FROM src CROSS JOIN UNNEST(nothing) AS t (x);
INSERT INTO dst SELECT id FROM src CROSS JOIN UNNEST(tags, tags) AS t (x, y);
