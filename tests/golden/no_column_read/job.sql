-- args: run job.sql
-- Queries that read no column at all still have one row for each row.
CREATE TABLE src(id int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(a string, b int)WITH('connector'='print', 'on-error'='dead-letter');
INSERT INTO sink SELECT UPPER('x'), 1 + 1 FROM src;
