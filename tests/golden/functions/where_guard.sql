-- args: run where_guard.sql
-- A condition beside a division in WHERE guards it, whichever rows come first in the batch.
CREATE TABLE src(i INT, x INT, y INT, s STRING, t TIMESTAMP(3)) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(i INT) WITH ('connector'='print');
INSERT INTO sink SELECT i FROM src WHERE y <> 0 AND x / y < 100;
