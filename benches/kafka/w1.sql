CREATE TABLE src (channel STRING, name STRING, pv STRING, a STRING, b STRING) WITH (
 'connector'='kafka','topic'='${IN}','properties.bootstrap.servers'='${BROKER}',
 'scan.startup.mode'='earliest-offset','scan.bounded.mode'='${BOUNDED}','format'='json');
CREATE TABLE dst (channel STRING, name STRING, pv INT, ab INT) WITH (
 'connector'='kafka','topic'='${OUT}','properties.bootstrap.servers'='${BROKER}',
 'properties.linger.ms'='${LINGER}','properties.batch.size'='262144','properties.acks'='1','format'='json');
INSERT INTO dst SELECT UPPER(channel), CONCAT(name,'-',a), CAST(pv AS INT), CAST(a AS INT)+CAST(b AS INT)
FROM src WHERE CAST(pv AS INT) >= 20;
