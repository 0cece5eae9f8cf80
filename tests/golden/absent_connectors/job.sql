-- args: check job.sql
-- args: run --quiet job.sql --stand-in src=in.jsonl --stand-in dim=dim.csv --stand-in sink=-
-- args: check job.sql --stand-in src=in.jsonl --stand-in dim=dim.csv --stand-in sink=-
-- Tables of connectors that are not here are refused by name, and run with stand-ins.
CREATE TABLE src(k varchar, n int)WITH(type='rabbitmq', host='h', password='secret1');
CREATE TABLE dim(k varchar, v varchar, PRIMARY KEY(k), PERIOD FOR SYSTEM_TIME)WITH(type='hbase', zookeeperQuorum='h', cache='LRU', tableName='t');
CREATE TABLE sink(k varchar, v varchar, n int)WITH(type='clickhouse', url='jdbc:clickhouse://h/d', password='secret2', tableName='t');
INSERT INTO sink SELECT s.k, d.v, s.n FROM src s JOIN dim d ON s.k = d.k;
