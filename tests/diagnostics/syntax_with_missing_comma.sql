-- expect: error[E0106] 3:3 a comma is missing before topic
CREATE TABLE t(a int) WITH (type='kafka'
  topic='t');
