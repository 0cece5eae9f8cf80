-- expect: error[E0602] 6:26 a precision from 1 to 38
-- expect: error[E0602] 7:29 a scale from 0 to 5
-- expect: error[E0602] 8:26 a length from 1 to
-- expect: error[E0602] 9:28 from 0 to 9
-- expect: error[E0603] 10:31 TIMESTAMP_LTZ
CREATE TABLE t(a DECIMAL(39, 2)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE u(a DECIMAL(5, 6)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE v(a VARCHAR(0)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE w(a TIMESTAMP(10)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE x(a TIMESTAMP(3) WITH TIME ZONE) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
