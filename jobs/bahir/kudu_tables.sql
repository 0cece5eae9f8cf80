-- args: run kudu_tables.sql --stand-in events=events.jsonl --stand-in users=users.jsonl --stand-in TestTable=result.jsonl
-- show: result.jsonl
-- Tables of the Bahir Kudu connector, of both its generations: read, looked up and written. Each is replaced by a file
-- here; without --stand-in the job goes to Kudu.

-- The connector of Flink 1.10 ('connector.type').
CREATE TABLE events (
  first STRING,
  user_id BIGINT,
  third INT NOT NULL,
  seen TIMESTAMP(3)
) WITH (
  'connector.type' = 'kudu',
  'kudu.masters' = 'kudu-master:7051',
  'kudu.table' = 'events',
  'kudu.hash-columns' = 'first',
  'kudu.primary-key-columns' = 'first,user_id'
);

-- That of Flink since 1.11 ('connector'), with its lookup cache.
CREATE TABLE users (
  id BIGINT,
  name STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'kudu',
  'kudu.masters' = 'kudu-master:7051',
  'kudu.table' = 'users',
  'kudu.lookup.cache.max-rows' = '1000',
  'kudu.lookup.cache.ttl' = '60000'
);

CREATE TABLE TestTable (
  first STRING,
  second STRING,
  third INT NOT NULL
) WITH (
  'connector.type' = 'kudu',
  'kudu.masters' = 'kudu-master:7051',
  'kudu.table' = 'TestTable',
  'kudu.hash-columns' = 'first',
  'kudu.primary-key-columns' = 'first,second'
);

-- Legacy and Flink tables are filled by position.
INSERT INTO TestTable
SELECT e.first, u.name, e.third
FROM events AS e
LEFT JOIN users FOR SYSTEM_TIME AS OF PROCTIME() AS u ON e.user_id = u.id
WHERE e.third > 0;
