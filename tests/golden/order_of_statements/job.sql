-- args: run --quiet job.sql
-- flinkStreamSQL's statements stand in any order, and a text in quotes is never a statement of its own.
INSERT INTO sink SELECT id, 'create table x (a int) with (type=''kafka''); -- no comment' AS t, name--- three dashes
FROM v;
CREATE VIEW v AS SELECT id, name FROM src;
CREATE TABLE sink(id int, t varchar, name varchar)WITH(type='console');
CREATE TABLE src(id int, name varchar)WITH(
  type='file', /* path='other.jsonl', */ PATH="in.jsonl", format='json', -- path='x',
  CHARSETNAME='UTF-8'
)
