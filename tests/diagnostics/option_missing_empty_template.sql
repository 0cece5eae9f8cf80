-- expect: error[E0304] 5:82 0.11
-- expect: error[E0302] 5:110 bootstrap.servers of table k is empty
-- expect: error[E0302] 5:157 format.type of table k is empty
-- expect: error[E0305] 5:86 connector.topic or connector.topic-pattern is needed
CREATE TABLE k(a STRING) WITH ('connector.type' = 'kafka', 'connector.version' = '', 'connector.topic' = '', 'connector.properties.bootstrap.servers' = '', 'format.type' = '');
