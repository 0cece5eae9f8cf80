-- args: run dead_letter.sql --dead-letters dead.jsonl
-- show: dead.jsonl
-- A bad record, a bad value and a failing CAST become dead letters in a flinkStreamSQL job; the good rows go on.
CREATE TABLE src(id int, n varchar)WITH(type='file', fileName='in.jsonl', format='json');
CREATE TABLE sink(id int, n int)WITH(type='console');
INSERT INTO sink SELECT id, CAST(n AS INT) AS n FROM src;
