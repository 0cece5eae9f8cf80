-- args: run conditions.sql
-- Three-valued logic: what is NULL, what is false, and which operand guards which.
CREATE TABLE src(i INT, x INT, y INT, s STRING, t TIMESTAMP(3)) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(i INT, c STRING, guarded BOOLEAN, guarded_or BOOLEAN, quotient INT, nz INT, b BOOLEAN, nb BOOLEAN, inl BOOLEAN, notin BOOLEAN, inn BOOLEAN, co INT, iff STRING)
WITH ('connector'='print');
INSERT INTO sink SELECT i,
  CASE WHEN x > 5 THEN 'big' WHEN x > 0 THEN 'small' WHEN x IS NULL THEN 'none' END,
  y <> 0 AND x / y > 2,
  y = 0 OR y IS NULL OR x / y > 2,
  CASE WHEN y = 0 THEN -1 ELSE x / y END,
  x / NULLIF(y, 0),
  x BETWEEN 0 AND 10, x NOT BETWEEN 0 AND 10,
  x IN (5, 10), x NOT IN (5, 10), x IN (5, NULL),
  COALESCE(x, y, 99), IF(x > y, 'gt', 'le')
FROM src;
