-- expect: error[E0305] 4:118 key.format needs key.fields
-- expect: error[E0305] 4:139 sink.transactional-id-prefix
-- expect: error[E0305] 5:23 upsert-kafka needs a PRIMARY KEY
CREATE TABLE a(x INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json', 'key.format'='json', 'sink.delivery-guarantee'='exactly-once');
CREATE TABLE b(x INT) WITH ('connector'='upsert-kafka', 'topic'='t', 'properties.bootstrap.servers'='h', 'key.format'='json', 'value.format'='json');
