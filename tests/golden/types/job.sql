-- args: run job.sql --stand-in src=in.jsonl --stand-in sink=-
-- Every scalar type from JSON to the stand-in's JSON: exact numbers, Flink's timestamp text.
CREATE TABLE src(b boolean, t tinyint, s smallint, i int, l bigint, d decimal(20,4), f float, x double, c string,
  y bytes, da date, ts timestamp(3), ts6 timestamp(6), arr array<int>, r row<p string, q int>)
WITH('connector'='kafka', 'properties.bootstrap.servers'='h:1', 'topic'='t', 'format'='json');
CREATE TABLE sink(b boolean, t tinyint, s smallint, i int, l bigint, d decimal(20,4), f float, x double, c string,
  y bytes, da date, ts timestamp(3), ts6 timestamp(6), arr array<int>, r row<p string, q int>)
WITH('connector'='print');
INSERT INTO sink SELECT * FROM src;
