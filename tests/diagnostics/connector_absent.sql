-- check: error[E0210] 8:14 table cache is of connector redis, which is not here
-- check: error[E0210] 9:14 flinkStreamSQL has: console
-- check: error[E0210] 10:14 --stand-in es=PATH rehearses the job with a local file
-- check: error[E0210] 11:14 table dis1 is of connector dis
-- check: warning[W0305] 12:14 table unused is of connector hbase-2.2, which is not here; no statement uses it
-- Connectors that are known by name: their options and metadata are not known.
CREATE TABLE src(k varchar) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE cache(k varchar, v varchar, PRIMARY KEY(k), PERIOD FOR SYSTEM_TIME) WITH (type='redis', url='h:6379', password='p', cache='LRU');
CREATE TABLE ora(k varchar, v varchar) WITH (type='Oracle', url='jdbc:oracle:thin:@h:1521:x', userName='u', password='p', tableName='t');
CREATE TABLE es(k STRING, v STRING) WITH ('connector'='elasticsearch-7', 'hosts'='http://h:9200', 'index'='i');
CREATE TABLE dis1(k STRING, ts TIMESTAMP(3) METADATA FROM 'timestamp') WITH ('connector.type'='dis', 'connector.channel'='c', 'format.type'='csv');
CREATE TABLE unused(rowkey STRING, cf ROW<a INT>) WITH ('connector'='hbase-2.2', 'table-name'='t', 'zookeeper.quorum'='h');
INSERT INTO ora SELECT s.k, c.v FROM src s LEFT JOIN cache c ON s.k = c.k;
INSERT INTO es SELECT k, 'x' FROM dis1;
