-- args: check settings.sql
-- RESET takes one setting back, or all.
SET 'pipeline.name' = 'first';
SET parallelism.default = 4;
RESET;
SET 'pipeline.name' = 'second';
SET table.local-time-zone = Asia/Shanghai;
SET 'job.batch-rows' = '7';
RESET 'job.batch-rows';
RESET parallelism.default;
CREATE TABLE src(id INT) WITH ('connector'='datagen', 'number-of-rows'='1');
