-- expect: error[E0405] 4:13 did you mean results?
-- expect: error[E0202] 6:13 v is a view
CREATE TABLE results(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO reslts SELECT a FROM results;
CREATE VIEW v AS SELECT a FROM results;
INSERT INTO v SELECT a FROM results;
