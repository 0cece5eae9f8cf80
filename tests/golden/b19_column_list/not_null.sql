-- args: check not_null.sql
-- B19. A column that is NOT NULL has to be in the list.
CREATE TABLE src(x INT, y INT)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(a INT, b INT NOT NULL, c INT)WITH('connector'='print');
INSERT INTO sink(c,a) SELECT x, y FROM src;
