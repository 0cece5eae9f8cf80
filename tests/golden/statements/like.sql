-- args: check like.sql
-- args: run --quiet like.sql
-- What LIKE takes of another table: all of it, parts, options replaced or taken away again.
CREATE TABLE src(
  id INT, name STRING, twice AS id * 2, PRIMARY KEY(id) NOT ENFORCED
) WITH ('connector'='filesystem', 'path'='nowhere.jsonl', 'format'='json');
CREATE TABLE whole(thrice AS id * 3) WITH ('path'='in.jsonl') LIKE src (
  EXCLUDING CONSTRAINTS
  INCLUDING GENERATED
  OVERWRITING OPTIONS
);
CREATE TABLE bare WITH ('connector'='print') LIKE src (EXCLUDING ALL);
ALTER TABLE bare SET ('parallelism'='2', 'on-error'='skip');
ALTER TABLE bare RESET ('parallelism');
CREATE TABLE wide(more INT) LIKE bare;
INSERT INTO wide SELECT id + twice, name, thrice FROM whole;
