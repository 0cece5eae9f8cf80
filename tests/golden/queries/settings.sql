-- args: run settings.sql
-- args: run settings.sql --set table.local-time-zone=America/New_York
-- SET in the file, with and without quotes; the flag wins. TIMESTAMP_LTZ is shown and cast in the session's zone.
SET 'table.local-time-zone' = 'Asia/Shanghai';
SET parallelism.default = 1;
SET 'pipeline.name' = 'named';
SET 'execution.runtime-mode' = 'streaming';
CREATE TABLE ltz(t TIMESTAMP_LTZ(3), z TIMESTAMP(3)) WITH ('connector'='filesystem', 'path'='ltz.jsonl', 'format'='json');
CREATE TABLE sink(a STRING, b TIMESTAMP(3), c TIMESTAMP_LTZ(3), d TIMESTAMP_LTZ(3)) WITH ('connector'='print');
INSERT INTO sink SELECT CAST(t AS STRING), CAST(t AS TIMESTAMP(3)), t, CAST(z AS TIMESTAMP_LTZ(3)) FROM ltz;
