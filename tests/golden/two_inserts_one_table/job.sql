-- args: run job.sql --stand-in sink=out.jsonl
-- show: out.jsonl
-- sorted
-- Two INSERTs into one table: neither overwrites what the other wrote.
CREATE TABLE src(id int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(id int)WITH('connector'='print');
INSERT INTO sink SELECT id FROM src;
INSERT INTO sink SELECT id + 100 FROM src;
