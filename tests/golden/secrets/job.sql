-- args: check job.sql
-- Secrets under any of their names, and in numbered pairs, are not shown.
CREATE TABLE k(id int)WITH('connector.type'='kafka', 'connector.version'='0.11', 'connector.topic'='t',
  'connector.properties.bootstrap.servers'='h:1', 'connector.properties.0.key'='ssl.key.password',
  'connector.properties.0.value'='hunter2', 'format.type'='json');
CREATE TABLE k2(id int)WITH('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json',
  'properties.ssl.keystore.key'='hunter2', 'properties.passphrase'='hunter2',
  'properties.basic.auth.user.info'='u:hunter2');
CREATE TABLE f(id int)WITH('connector'='filesystem', 'path'='s3://key:hunter2@bucket/x?token=hunter2', 'format'='json');
CREATE TABLE o(id int)WITH('connector'='print');
INSERT INTO f SELECT id FROM k;
CREATE TABLE m(id int)WITH(type='mysql', url='jdbc:mysql://h/d', userName='u', pasword='hunter2', password=hunter2,
  tableName='t');
