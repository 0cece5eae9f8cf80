-- expect: error[E0109] 2:16 backticks quote identifiers
CREATE TABLE t("a" INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
