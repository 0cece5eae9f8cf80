-- args: run --quiet job.sql --stand-in sink=-
-- B15. t.* of a view with another name.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(id int, name varchar)WITH(type='console');
CREATE VIEW v AS SELECT id, name FROM src;
INSERT INTO sink SELECT t.* FROM v AS t;
