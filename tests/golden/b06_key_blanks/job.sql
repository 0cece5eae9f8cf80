-- args: run --quiet job.sql
-- B06. Blanks in PRIMARY KEY are no part of the names.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE dim(id int, name varchar, v varchar, PRIMARY KEY( id , name ), PERIOD FOR SYSTEM_TIME)WITH(type='file', path='dim.csv', format='csv', csv.header='true', fieldDelimiter=',', cache='ALL');
CREATE TABLE sink(id int, name varchar, v varchar)WITH(type='console');
INSERT INTO sink SELECT a.id, a.name, s.v FROM src a JOIN dim s ON a.id = s.id AND a.name = s.name;
