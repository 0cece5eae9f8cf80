-- expect: error[E0408] 10:13 the query has 1 columns, the view v has 2
-- expect: error[E0403] 12:18 view w has no column m
-- expect: error[E0202] 13:69 view y is filled twice
-- expect: error[E0202] 14:13 view z has no query
-- expect: error[E0202] 15:15 not supported yet: column types in CREATE VIEW .. AS SELECT
-- flinkStreamSQL's views in two statements.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(n varchar, i bigint)WITH(type='console');
CREATE VIEW v(i bigint, n varchar); INSERT INTO sink SELECT i, n FROM v;
INSERT INTO v SELECT id FROM src;
CREATE VIEW w(i bigint, n varchar); INSERT INTO sink SELECT i, n FROM w;
INSERT INTO w(n, m) SELECT name, id FROM src;
CREATE VIEW y(i int); INSERT INTO y SELECT id FROM src; INSERT INTO y SELECT id FROM src;
CREATE VIEW z(i int);
CREATE VIEW q(i int) AS SELECT id FROM src;
