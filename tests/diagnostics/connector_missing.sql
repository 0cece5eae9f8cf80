-- expect: error[E0307] 4:23 conector: did you mean connector?
-- expect: error[E0307] 5:23 Kudu catalog
-- expect: error[E0307] 6:23 names no connector
CREATE TABLE t(a INT) WITH ('conector'='print');
CREATE TABLE u(a INT) WITH ('kudu.masters'='h');
CREATE TABLE v(a INT) WITH ();
