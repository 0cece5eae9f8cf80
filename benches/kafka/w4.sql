CREATE TABLE src (channel STRING, name STRING, pv STRING, a STRING, b STRING, pt AS PROCTIME()) WITH (
 'connector'='kafka','topic'='${IN}','properties.bootstrap.servers'='${BROKER}',
 'scan.startup.mode'='earliest-offset','scan.bounded.mode'='latest-offset','format'='json');
CREATE TABLE dim (name STRING, city STRING, lvl INT, PRIMARY KEY (name) NOT ENFORCED) WITH (
 'connector'='jdbc','url'='${JDBC}','table-name'='${DIM}','username'='wasmill','password'='wasmill-secret',
 'lookup.cache'='PARTIAL','lookup.partial-cache.max-rows'='${CACHE}','lookup.partial-cache.expire-after-write'='60 s');
CREATE TABLE dst (channel STRING, name STRING, pv INT, city STRING, lvl INT) WITH (
 'connector'='kafka','topic'='${OUT}','properties.bootstrap.servers'='${BROKER}',
 'properties.linger.ms'='20','properties.batch.size'='262144','properties.acks'='1','format'='json');
INSERT INTO dst SELECT s.channel, s.name, CAST(s.pv AS INT), d.city, d.lvl
FROM src AS s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.pt AS d ON s.name = d.name;
