-- args: run job.sql --stand-in kafkaSource=in.jsonl --stand-in out=-
-- Seed 004's nested table as printed (ROW with round brackets); fields of a ROW, also of a NULL one, and of a row in a row.
CREATE table kafkaSource(
  id STRING,
  type STRING,
  data ROW(
    patient_id STRING,
    name STRING,
    age STRING,
    gmt_create STRING,
    gmt_modify STRING)
) with (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'test-topic',
  'connector.properties.bootstrap.servers' = 'xx.xx.xx.xx:9092',
  'connector.properties.group.id' = 'test-group',
  'connector.startup-mode' = 'latest-offset',
  'format.type' = 'json'
);
CREATE TABLE `out` (id STRING, patient STRING, name STRING, longest STRING) WITH ('connector' = 'print');
INSERT INTO `out`
SELECT k.id, data.patient_id, UPPER(k.data.name), CONCAT(data.age, '-', k.data.gmt_create)
FROM (SELECT id, data FROM kafkaSource WHERE data.patient_id <> '9' OR data.patient_id IS NULL) AS k;
