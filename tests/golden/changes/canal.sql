-- args: run canal.sql
-- Changes of one table, written anew as Debezium would say them.
CREATE TABLE src(id INT, name STRING, price DECIMAL(6, 2)) WITH ('connector'='filesystem', 'path'='canal.jsonl', 'format'='canal-json', 'canal-json.table.include'='p');
CREATE TABLE sink(id INT, name STRING, price DECIMAL(6, 2)) WITH ('connector'='print', 'format'='debezium-json');
INSERT INTO sink SELECT id, name, price FROM src;
