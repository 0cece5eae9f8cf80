-- args: run skip.sql
-- on-error = skip: dropped and counted.
CREATE TABLE src(id int, n varchar)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json', 'on-error'='skip');
CREATE TABLE sink(id int, n int)WITH('connector'='print');
INSERT INTO sink SELECT id, CAST(n AS INT) FROM src;
