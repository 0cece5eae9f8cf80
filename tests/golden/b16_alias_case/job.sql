-- args: run --quiet job.sql --stand-in sink=-
-- B16. AS and as, and a name in backticks that is a word of SQL.
CREATE TABLE src(id int)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE dim(id int, name varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)WITH(type='file', path='dim.csv', format='csv', csv.header='true', fieldDelimiter=',', cache='ALL');
CREATE TABLE sink(`order` int, n varchar)WITH(type='console');
INSERT INTO sink SELECT a.id AS `order`, s.name as n FROM src a LEFT JOIN dim s ON a.id=s.id;
