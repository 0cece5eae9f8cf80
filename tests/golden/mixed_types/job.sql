-- args: run job.sql
-- Exact numbers beside approximate ones are DOUBLE, in comparisons and in the branches of CASE and IF; a TIMESTAMP keeps
-- its precision beside a DATE; negation wraps.
CREATE TABLE src(i INT, d DECIMAL(10,2), f DOUBLE, ts TIMESTAMP(3), da DATE)
WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(tiny BOOLEAN, huge BOOLEAN, c STRING, iff STRING, t STRING, neg INT)WITH('connector'='print');
INSERT INTO sink
SELECT d * 0 < f * 1E-20, d > f * 1E300,
       CAST(CASE WHEN i < 1 THEN d ELSE f * 1E-20 END AS STRING), CAST(IF(i < 1, d, f) AS STRING),
       CAST(CASE WHEN i > 1 THEN ts ELSE da END AS STRING), -(-2147483648)
FROM src;
