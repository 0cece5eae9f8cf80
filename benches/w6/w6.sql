-- W6: JSON lines to JSON lines, filter and projection; the same work as datafusion_w6.py beside it.
CREATE TABLE src (channel STRING, name STRING, pv STRING, a STRING, b STRING)
WITH ('connector' = 'filesystem', 'path' = 'plain.jsonl', 'format' = 'json');

CREATE TABLE dst (channel STRING, name STRING, pv INT, ab INT)
WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json');

INSERT INTO dst
SELECT UPPER(channel), CONCAT(name, '-', a), CAST(pv AS INT), CAST(a AS INT) + CAST(b AS INT)
FROM src
WHERE CAST(pv AS INT) >= 20;
