-- args: run job.sql --dead-letters dead.jsonl
-- show: dead.jsonl
-- A schema that is given: an enum, a union, a path into a record; what does not fit the schema is a dead letter.
CREATE TABLE src(`type` STRING, n BIGINT, r.s STRING AS s, r.bytes BYTES AS b, tags ARRAY<STRING>) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='avro', 'avro.encoding'='json', 'on-error'='dead-letter',
  'avro.schema'='{"type":"record","name":"e","fields":[{"name":"type","type":{"type":"enum","name":"t","symbols":["A","B"]}},{"name":"n","type":["null","int"]},{"name":"r","type":{"type":"record","name":"r","fields":[{"name":"s","type":"string"},{"name":"bytes","type":"bytes"}]}},{"name":"tags","type":{"type":"array","items":"string"}}]}');
CREATE TABLE sink(`type` STRING, n BIGINT, s STRING, b BYTES, tags ARRAY<STRING>) WITH ('connector'='print');
INSERT INTO sink SELECT `type`, n, s, b, tags FROM src;
