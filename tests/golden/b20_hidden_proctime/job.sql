-- args: run --quiet job.sql
-- sorted
-- B20. FOR SYSTEM_TIME AS OF u.PROCTIME, a column that flinkStreamSQL gives to each source: the same as the plain join.
CREATE TABLE src(id int)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE dim(id int, name varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)WITH(type='file', path='dim.csv', format='csv', csv.header='true', fieldDelimiter=',', cache='ALL');
CREATE TABLE sink(how varchar, id int, name varchar)WITH(type='console');
INSERT INTO sink SELECT 'as of' AS how, u.id, s.name FROM src u LEFT JOIN dim FOR SYSTEM_TIME AS OF u.PROCTIME AS s ON u.id=s.id;
INSERT INTO sink SELECT 'plain' AS how, u.id, s.name FROM src u LEFT JOIN dim s ON u.id=s.id;
