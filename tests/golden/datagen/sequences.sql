-- args: run sequences.sql --set parallelism.default=2
-- sorted
-- The shortest sequence ends the table; the subtasks share its rows, each is made once.
CREATE TABLE src(id INT, code STRING, n DECIMAL(5, 2), note STRING, twice AS id * 2) WITH ('connector'='datagen', 'seed'='3',
  'fields.id.kind'='sequence', 'fields.id.start'='1', 'fields.id.end'='5',
  'fields.code.kind'='sequence', 'fields.code.start'='-2', 'fields.code.end'='100',
  'fields.n.min'='1.25', 'fields.n.max'='1.25', 'fields.note.null-rate'='1');
CREATE TABLE dst(id INT, code STRING, n DECIMAL(5, 2), note STRING, twice INT) WITH ('connector'='print');
CREATE TABLE nothing(id INT) WITH ('connector'='blackhole');
INSERT INTO dst SELECT id, code, n, note, twice FROM src;
INSERT INTO nothing SELECT id FROM src;
