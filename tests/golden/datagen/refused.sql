-- args: check refused.sql
-- Settings of datagen that would change nothing, or cannot be met, are named.
CREATE TABLE a(id INT, flag BOOLEAN) WITH ('connector'='datagen', 'fields.idd.min'='1');
CREATE TABLE b(id INT) WITH ('connector'='datagen', 'fields.id.kind'='sequence', 'fields.id.start'='9', 'fields.id.end'='1');
CREATE TABLE c(id INT) WITH ('connector'='datagen', 'rows-per-second'='0');
CREATE TABLE d(id INT) WITH ('connector'='blackhole', 'format'='json');
CREATE TABLE out1(id INT) WITH ('connector'='print');
INSERT INTO out1 SELECT id FROM a;
INSERT INTO a SELECT id FROM b;
