-- args: check job.sql
-- All errors of a file come together, in the order of the text.
CREATE TABLE src(id int, name varchar)WITH('connector'='filesystem', 'pth'='in.jsonl', 'format'='json');
CREATE TABLE sink(id int, name varchar)WITH('connector'='prnt');
CREATE TABLE good(id int, name varchar)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE out2(id int, name varchar)WITH('connector'='print');
INSERT INTO out2 SELECT id, nmae FROM good;
INSERT INTO out2 SELECT id, FOO(name) FROM good;
INSERT INTO out2 SELECT id, COUNT(*) FROM good GROUP BY id;
INSERT INTO missing SELECT id, name FROM good;
INSERT INTO out2 SELECT id FROM WHERE id = 1;
