-- args: check flink.sql
-- B03. The same in Flink's dialect is a syntax error.
CREATE TABLE src(id int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json',);
