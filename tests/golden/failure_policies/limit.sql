-- args: run limit.sql
-- More refused rows than the limit fail the job.
CREATE TABLE src(id int, n varchar)WITH(type='file', fileName='in.jsonl', format='json', errorLimit='1');
CREATE TABLE sink(id int, n int)WITH(type='console');
INSERT INTO sink SELECT id, CAST(n AS INT) AS n FROM src;
