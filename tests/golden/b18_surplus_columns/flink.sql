-- args: check flink.sql
-- B18. In Flink's dialect it is an error that lists both schemas.
CREATE TABLE src(id int, name varchar, age int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(id int, name varchar)WITH('connector'='print');
INSERT INTO sink SELECT id, name, age FROM src;
