-- args: run job.sql
-- A condition without columns above a lookup join.
CREATE TABLE src(id int, p AS PROCTIME())WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE dim(id int, v string)WITH('connector'='filesystem', 'path'='dim.jsonl', 'format'='json');
CREATE TABLE sink(id int, v string)WITH('connector'='print');
INSERT INTO sink SELECT s.id, d.v FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id WHERE 1 > 2;
