-- args: run --quiet job.sql --stand-in sink=-
-- sorted
-- B13. A view over UNION ALL reads both tables.
CREATE TABLE s1(id int)WITH(type='file', path='s1.jsonl', format='json');
CREATE TABLE s2(id int)WITH(type='file', path='s2.jsonl', format='json');
CREATE TABLE sink(id int)WITH(type='console');
CREATE VIEW v AS SELECT id FROM s1 WHERE id>1 UNION ALL SELECT id FROM s2;
INSERT INTO sink SELECT id FROM v;
