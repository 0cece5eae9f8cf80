-- args: run null.sql
-- on-error = null: bad values are NULL, bad records are skipped.
CREATE TABLE src(id int, n varchar)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json', 'on-error'='null');
CREATE TABLE sink(id int, n int)WITH('connector'='print');
INSERT INTO sink SELECT id, CAST(n AS INT) FROM src;
