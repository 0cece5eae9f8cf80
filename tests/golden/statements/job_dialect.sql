-- args: run --quiet job_dialect.sql
-- args: run --quiet job_dialect.sql --set job.dialect=flink
-- args: check job_dialect.sql --set job.dialect=dtstack
-- The job asks for flinkStreamSQL's mapping by name, whatever the sink's dialect; then for Flink's by position.
SET 'job.dialect' = 'flinkStreamSQL';
CREATE TABLE src(id INT, name STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(name STRING, id STRING) WITH ('connector'='print');
INSERT INTO sink SELECT CAST(id AS STRING) AS id, name FROM src;
