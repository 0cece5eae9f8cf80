-- expect: error[E0308] 4:33 flinkStreamSQL has: console, file, kafka, kafka09
-- expect: error[E0308] 5:29 did you mean kafka?
-- expect: error[E0302] 6:29 connector of table v is empty
CREATE TABLE t(a varchar) WITH (type='myOwn', host='h');
CREATE TABLE u(a INT) WITH ('connector'='kafak');
CREATE TABLE v(a INT) WITH ('connector'='');
