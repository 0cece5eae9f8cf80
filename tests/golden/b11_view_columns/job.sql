-- args: run --quiet job.sql --stand-in sink=-
-- B11. CREATE VIEW v (x, y) AS SELECT is read.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(id int, name varchar)WITH(type='console');
CREATE VIEW v (x, y) AS SELECT id, name FROM src;
INSERT INTO sink SELECT y AS name, x AS id FROM v;
