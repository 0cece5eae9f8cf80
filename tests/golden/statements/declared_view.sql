-- args: run --quiet declared_view.sql --stand-in sink=-
-- flinkStreamSQL's view in two statements: by position, with the declared types.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(n varchar, i bigint)WITH(type='console');
CREATE VIEW v(i bigint, n varchar);
INSERT INTO v SELECT id * 10, name FROM src;
INSERT INTO sink SELECT i, n FROM v;
