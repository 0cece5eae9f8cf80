-- args: run job.sql --set parallelism.default=2 --stand-in sink=out.jsonl
-- show: out.jsonl
-- sorted
-- Two subtasks of the source feed one writer of the file.
CREATE TABLE src(id int, name string)WITH('connector'='filesystem', 'path'='in', 'format'='json');
CREATE TABLE sink(id int, name string)WITH('connector'='print');
INSERT INTO sink SELECT id + 1, UPPER(name) FROM src WHERE id <> 3;
