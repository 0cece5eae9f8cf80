-- expect: error[E0101] 2:36 write type = '..'
CREATE TABLE t(a int) WITH (type = kafka);
