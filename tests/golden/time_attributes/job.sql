-- sorted
-- args: run --quiet job.sql
-- args: run --quiet --set table.local-time-zone=Asia/Shanghai job.sql
-- flinkStreamSQL's columns that nobody declares: ROWTIME is the wall clock of the watermark's column in the job's zone,
-- PROCTIME the time of processing; * does not hold them, and a declared column of the name is meant rather.
CREATE TABLE millis(ts bigint, id int, WATERMARK FOR ts AS withOffset(ts, 1000))WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE named(ts bigint, id int AS ROWTIME)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(what varchar, v varchar)WITH(type='console');
CREATE TABLE all_columns(ts bigint, id int)WITH('connector'='print');
CREATE VIEW v AS SELECT ROWTIME, m.ROWTIME AS again FROM millis AS m WHERE m.PROCTIME > TIMESTAMP '2000-01-01 00:00:00';
INSERT INTO sink SELECT 'rowtime' AS what, CAST(ROWTIME AS varchar) AS v FROM v WHERE ROWTIME = again;
INSERT INTO sink SELECT 'declared' AS what, CAST(ROWTIME AS varchar) AS v FROM named;
INSERT INTO all_columns SELECT * FROM millis;
