-- args: check flink.sql
-- What would lose values on its way into the sink needs a CAST in Flink's dialect.
CREATE TABLE src(l BIGINT, f DOUBLE, s STRING, i INT)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(a INT)WITH('connector'='print');
CREATE TABLE wide(a BIGINT, b DOUBLE, c DECIMAL(12,2))WITH('connector'='print');
INSERT INTO sink SELECT l FROM src;
INSERT INTO sink SELECT f FROM src;
INSERT INTO sink SELECT s FROM src;
INSERT INTO sink SELECT CAST(l AS INT) FROM src;
INSERT INTO wide SELECT i, i, i FROM src;
INSERT INTO wide SELECT i, i, i FROM nodb.src;
