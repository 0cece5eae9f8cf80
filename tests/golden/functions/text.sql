-- args: run text.sql
-- LIKE with its wildcards and ESCAPE, SUBSTRING at and beyond the ends (positions count from 1, 0 is 1, negative ones
-- from the end), CONCAT with NULL.
CREATE TABLE src(i INT, x INT, y INT, s STRING, t TIMESTAMP(3)) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(i INT, l1 BOOLEAN, l2 BOOLEAN, l3 BOOLEAN, nl BOOLEAN, s1 STRING, s0 STRING, sm STRING, far STRING, neg STRING, len INT, cc STRING, pp STRING, tr STRING, bs BOOLEAN)
WITH ('connector'='print');
INSERT INTO sink SELECT i,
  s LIKE 'a%', s LIKE 'a_c', s LIKE '%!%' ESCAPE '!', s NOT LIKE '%c',
  SUBSTRING(s, 2), SUBSTRING(s FROM 0 FOR 2), SUBSTRING(s, -2), SUBSTRING(s, 10, 2), SUBSTRING(s, 2, -1),
  CHAR_LENGTH(s), CONCAT(s, '-', CAST(x AS STRING)), s || '|' || CAST(y AS STRING), TRIM(BOTH 'a' FROM s), 'a\_c' LIKE 'a\_c'
FROM src;
