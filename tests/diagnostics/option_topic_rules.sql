-- expect: error[E0305] 4:63 exclude each other
-- expect: error[E0305] 5:23 topic or topic-pattern is needed
-- expect: error[E0305] 6:191 partition:0,offset:42;partition:1,offset:300
CREATE TABLE a(x INT) WITH ('connector'='kafka', 'topic'='t', 'topic-pattern'='t.*', 'properties.bootstrap.servers'='h', 'format'='json');
CREATE TABLE b(x INT) WITH ('connector'='kafka', 'properties.bootstrap.servers'='h', 'format'='json');
CREATE TABLE c(x INT) WITH ('connector.type'='kafka', 'connector.topic'='t', 'connector.properties.bootstrap.servers'='h', 'format.type'='json', 'connector.startup-mode'='specific-offsets', 'connector.specific-offsets'='partition:0,offset:42;partition:1');
