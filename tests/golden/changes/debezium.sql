-- args: run debezium.sql --dead-letters dead.jsonl
-- show: dead.jsonl
-- B29: an update without its before image is a dead letter that names it; the other changes keep their kinds.
CREATE TABLE src(id INT, name STRING, price DECIMAL(6, 2)) WITH ('connector'='filesystem', 'path'='debezium.jsonl', 'format'='debezium-json', 'on-error'='dead-letter');
CREATE TABLE sink(id INT, name STRING, twice DECIMAL(8, 2)) WITH ('connector'='print');
INSERT INTO sink SELECT id, UPPER(name), CAST(price * 2 AS DECIMAL(8, 2)) FROM src;
