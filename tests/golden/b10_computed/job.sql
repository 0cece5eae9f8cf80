-- args: run --quiet job.sql --stand-in sink=-
-- B10. A computed column is the same with and without a blank after the comma, nested and in Flink's spelling.
CREATE TABLE src(a varchar, b varchar, concat(a, b) AS c, concat(a,b) AS d, concat(upper(a), lower(b)) AS e, f AS concat(b,a))WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(c varchar, d varchar, e varchar, f varchar)WITH(type='console');
INSERT INTO sink SELECT c, d, e, f FROM src;
