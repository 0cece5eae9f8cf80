-- args: run dli_cars.sql --stand-in kafkaSource=cars.jsonl --stand-in kafkaSink=cars_out.jsonl --stand-in patients=patients.jsonl --stand-in names=names_out.jsonl
-- show: cars_out.jsonl
-- show: names_out.jsonl
-- Tables of Flink 1.10 and Huawei DLI ('connector.type'): the samples of DLI's page on Kafka sources. A number in a
-- record is the text of a STRING column, what a record lacks is NULL, and ROW(..) may be written with round brackets.
create table kafkaSource(
  car_id STRING,
  car_owner STRING,
  car_brand STRING,
  car_speed INT)
with (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic-pattern' = '(topic-a|topic-b|topic-\\d*)',
  'connector.properties.bootstrap.servers' = 'broker:9092',
  'connector.properties.group.id' = 'test-group',
  'connector.startup-mode' = 'latest-offset',
  'format.type' = 'json'
);

create table kafkaSink(car_id STRING, brand STRING, fast BOOLEAN)
with (
  'connector.type' = 'kafka',
  'connector.version' = 'universal',
  'connector.topic' = 'cars',
  'connector.properties.0.key' = 'bootstrap.servers',
  'connector.properties.0.value' = 'broker:9092',
  'format.type' = 'json',
  'update-mode' = 'append'
);

CREATE table patients(
  id STRING,
  type STRING,
  data ROW(
    patient_id STRING,
    name STRING,
    age STRING,
    gmt_create STRING,
    gmt_modify STRING)
) with (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'test-topic',
  'connector.properties.bootstrap.servers' = 'broker:9092',
  'connector.properties.group.id' = 'test-group',
  'connector.startup-mode' = 'specific-offsets',
  'connector.specific-offsets' = 'partition:0,offset:42;partition:1,offset:300',
  'format.type' = 'json'
);

create table names(patient STRING, name STRING)
with (
  'connector.type' = 'kafka',
  'connector.version' = '0.11',
  'connector.topic' = 'names',
  'connector.properties.bootstrap.servers' = 'broker:9092',
  'format.type' = 'csv',
  'format.field-delimiter' = '|'
);

insert into kafkaSink select car_id, UPPER(car_brand), car_speed > 100 from kafkaSource;
insert into names select data.patient_id, data.name from patients where type = 'online';
