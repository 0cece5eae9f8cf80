-- check: error[E0403] 7:30 column 'ROWTIME' does not exist here
-- check: error[E0403] 8:30 column 'PROCTIME' does not exist here
-- Without a watermark there is no ROWTIME, and Flink's tables have neither.
CREATE TABLE src(id int)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE fl(id INT)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(v varchar)WITH(type='console');
INSERT INTO sink SELECT CAST(ROWTIME AS varchar) AS v FROM src;
INSERT INTO sink SELECT CAST(PROCTIME AS varchar) AS v FROM fl;
