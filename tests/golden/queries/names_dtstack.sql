-- args: run names_dtstack.sql
-- sorted
-- flinkStreamSQL maps by name: the order of the SELECT does not matter, nor do columns that the sink lacks.
CREATE TABLE src(id int, name varchar, n int)WITH(type='file', fileName='in.jsonl', format='json');
CREATE TABLE sink(name varchar, missing varchar, id int)WITH(type='console');
INSERT INTO sink SELECT n * 2 AS id, n, name, 'm' AS MISSING FROM src;
insert into sink select id, name, cast(null as varchar) as missing from src where id=1;
