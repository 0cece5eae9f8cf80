-- expect: error[E0305] 9:95 topic and topic-pattern exclude each other
-- expect: error[E0305] 9:55 a PRIMARY KEY needs a format of changes
-- expect: error[E0305] 9:171 timestamp needs scan.startup.timestamp-millis
-- expect: error[E0305] 10:96 a user name needs a password option
-- expect: error[E0304] 10:127 NONE, LRU, ALL, PARTIAL, FULL, not 'SOME'
-- expect: error[E0304] 10:164 option sink.buffer-flush.interval must be a duration such as 500 ms
-- expect: error[E0305] 10:179 all four or none
-- expect: error[E0308] 11:29 did you mean kafka?
CREATE TABLE h(k STRING, PRIMARY KEY(k) NOT ENFORCED) WITH ('connector'='kafka', 'topic'='t', 'topic-pattern'='p', 'properties.bootstrap.servers'='h:1', 'format'='json', 'scan.startup.mode'='timestamp');
CREATE TABLE i(k STRING) WITH ('connector'='jdbc', 'url'='jdbc:mysql://h/d', 'table-name'='t', 'username'='u', 'lookup.cache'='SOME', 'sink.buffer-flush.interval'='1 fortnight', 'scan.partition.num'='3');
CREATE TABLE p(k INT) WITH ('connector'='Kafka', 'properties.bootstrap.servers'='h:1', 'topic'='t', 'format'='json');
