-- args: run job.sql
-- sorted
-- Functions over columns of four rows, nested ones among them; NULLs, empty arrays and text that is no JSON.
SET 'table.local-time-zone' = 'Asia/Shanghai';
CREATE TABLE src (id INT, name STRING, tags ARRAY<STRING>, m MAP<STRING, STRING>, doc STRING, t TIMESTAMP(3), n INT)
WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');
CREATE TABLE texts (id INT, cap STRING, padded STRING, found INT, digest STRING) WITH ('connector' = 'print');
CREATE TABLE nested (id INT, `first` STRING, sorted ARRAY<STRING>, has BOOLEAN, v STRING, `size` INT, made STRING)
WITH ('connector' = 'print');
CREATE TABLE times (id INT, next_month TIMESTAMP(3), `hour` TIMESTAMP(3), `year` BIGINT, days INT, unix BIGINT)
WITH ('connector' = 'print');
CREATE TABLE docs (id INT, b STRING, first_b INT, is_json BOOLEAN) WITH ('connector' = 'print');
INSERT INTO texts SELECT id, INITCAP(name), LPAD(name, 8, '.'), LOCATE('e', name), LEFT(MD5(name), 6) FROM src;
INSERT INTO nested SELECT id, tags[1], ARRAY_SORT(ARRAY_DISTINCT(tags)), ARRAY_CONTAINS(tags, 'a'), m['k'],
  CARDINALITY(tags), JSON_OBJECT('tags' VALUE tags, 'id' VALUE id) FROM src;
INSERT INTO times SELECT id, t + INTERVAL '1' MONTH, FLOOR(t TO HOUR), YEAR(t),
  TIMESTAMPDIFF(DAY, TIMESTAMP '2024-01-01 00:00:00', t), UNIX_TIMESTAMP(CAST(t AS STRING)) FROM src;
INSERT INTO docs SELECT id, JSON_QUERY(doc, 'lax $.a.b' EMPTY ARRAY ON EMPTY),
  JSON_VALUE(doc, '$.a.b[0]' RETURNING INT DEFAULT -1 ON ERROR), doc IS JSON FROM src WHERE n IS NULL OR n BETWEEN SYMMETRIC 3 AND -1;
