-- args: explain flink.sql
-- args: explain flink.sql --set parallelism.default=3 --set pipeline.operator-chaining.enabled=false
-- Filters on the stream go below a look-up, those on a LEFT side table stay above; unused columns are not read.
CREATE TABLE orders(id BIGINT, customer INT, price DECIMAL(10, 2), note STRING, unused STRING, p AS PROCTIME())
WITH ('connector'='kafka', 'topic'='orders', 'properties.bootstrap.servers'='host:9092', 'format'='json');
CREATE TABLE customers(id BIGINT, name STRING, country STRING, unused STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector'='jdbc', 'url'='jdbc:mysql://host/shop', 'table-name'='customers', 'lookup.cache'='PARTIAL');
CREATE TABLE countries(code STRING, tax DECIMAL(4, 2)) WITH ('connector'='filesystem', 'path'='c.csv', 'format'='csv');
CREATE TABLE out1(id BIGINT, name STRING, total DECIMAL(20, 4)) WITH ('connector'='sqlite', 'path'='o.db', 'table'='t');
CREATE TABLE out2(note STRING) WITH ('connector'='print', 'parallelism'='1');
CREATE VIEW named AS
SELECT o.id, c.name, c.country, o.price, o.p FROM orders AS o
LEFT JOIN customers FOR SYSTEM_TIME AS OF o.p AS c ON o.customer = c.id AND c.name <> 'x'
WHERE o.price > 10 AND c.country IS NOT NULL;
INSERT INTO out1
SELECT n.id, n.name, n.price * t.tax FROM named AS n JOIN countries FOR SYSTEM_TIME AS OF n.p AS t ON n.country = t.code
WHERE t.tax > 0;
INSERT INTO out2 SELECT UPPER(TRIM(note)) FROM orders WHERE note LIKE 'a%' AND TRUE;
