CREATE TABLE src (channel STRING, name STRING, pv STRING, a STRING, b STRING) WITH (
 'connector'='kafka','topic'='${IN}','properties.bootstrap.servers'='${BROKER}','properties.group.id'='flink-peer',
 'scan.startup.mode'='earliest-offset','scan.bounded.mode'='latest-offset','format'='json')
;
CREATE TABLE dst (channel STRING, name STRING, pv INT, ab INT) WITH (
 'connector'='jdbc','url'='${JDBC}','table-name'='w5out','username'='wasmill','password'='wasmill-secret',
 'sink.buffer-flush.max-rows'='100','sink.buffer-flush.interval'='1s')
;
INSERT INTO dst SELECT UPPER(channel), CONCAT(name,'-',a), CAST(pv AS INT), CAST(a AS INT)+CAST(b AS INT)
FROM src WHERE CAST(pv AS INT) >= 20
;
