-- args: check unknown.sql
CREATE TABLE src (id INT, data ROW<a INT, b ROW<c STRING>>) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');
CREATE TABLE `out` (x STRING) WITH ('connector' = 'print');
INSERT INTO `out` SELECT data.b.c FROM src;
INSERT INTO `out` SELECT data.nope FROM src;
