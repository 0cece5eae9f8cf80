-- args: run orders.sql --stand-in orders=orders.jsonl --stand-in shops=shops.csv --stand-in big_orders=big.jsonl --stand-in per_shop=shop.jsonl --stand-in late_orders=late.jsonl
-- show: big.jsonl
-- show: shop.jsonl
-- show: late.jsonl
-- Flink SQL since 1.11: metadata and computed columns, a watermark, LIKE, a view, a lookup join, a statement set.
SET 'pipeline.name' = 'orders';
SET 'table.local-time-zone' = 'Europe/Berlin';

CREATE TABLE orders (
  order_id BIGINT,
  shop_id INT,
  amount DECIMAL(10, 2) NOT NULL,
  items ARRAY<ROW<sku STRING, n INT>>,
  ts TIMESTAMP(3),
  arrived TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  net AS CAST(amount / 1.19 AS DECIMAL(10, 2)),
  proc AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'broker:9092',
  'properties.group.id' = 'orders',
  'scan.startup.mode' = 'group-offsets',
  'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601'
);

CREATE TABLE shops (
  shop_id INT,
  name STRING,
  PRIMARY KEY (shop_id) NOT ENFORCED
) WITH (
  'connector' = 'jdbc',
  'url' = 'jdbc:postgresql://db:5432/shops',
  'table-name' = 'shops',
  'username' = 'reader',
  'password' = 'secret',
  'lookup.cache' = 'PARTIAL',
  'lookup.partial-cache.max-rows' = '10000',
  'lookup.partial-cache.expire-after-write' = '1 h'
);

CREATE TABLE big_orders (order_id BIGINT, shop STRING, net DECIMAL(10, 2), order_day DATE) WITH (
  'connector' = 'kafka',
  'topic' = 'big_orders',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);
CREATE TABLE late_orders WITH ('topic' = 'late_orders') LIKE big_orders;

CREATE TABLE per_shop (
  shop STRING,
  order_id BIGINT,
  first_sku STRING,
  PRIMARY KEY (shop) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'per_shop',
  'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

CREATE VIEW named AS
SELECT o.order_id, COALESCE(s.name, 'unknown') AS shop, o.net, o.ts, o.items[1].sku AS first_sku
FROM orders AS o
LEFT JOIN shops FOR SYSTEM_TIME AS OF o.proc AS s ON o.shop_id = s.shop_id;

EXECUTE STATEMENT SET BEGIN
INSERT INTO big_orders SELECT order_id, shop, net, CAST(ts AS DATE) FROM named WHERE net > 100;
INSERT INTO late_orders
  SELECT order_id, shop, net, CAST(ts AS DATE) FROM named WHERE ts < TIMESTAMP '2024-01-02 00:00:00';
INSERT INTO per_shop SELECT shop, order_id, first_sku FROM named;
END;
