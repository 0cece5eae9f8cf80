-- args: run fail.sql
-- The same in Flink's dialect fails the job, naming the record.
CREATE TABLE src(id int, n varchar)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(id int, n int)WITH('connector'='print');
INSERT INTO sink SELECT id, CAST(n AS INT) FROM src;
