-- args: run --quiet job.sql
-- B19. INSERT INTO t(c, a): by the list, the others are NULL.
CREATE TABLE src(x INT, y INT)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(a INT, b INT, c INT)WITH('connector'='print');
INSERT INTO sink(c,a) SELECT x, y FROM src;
