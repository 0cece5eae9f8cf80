-- expect: error[E0601] 3:18 unknown type STRNG
-- expect: error[E0106] 3:24 a comma is missing before int
CREATE TABLE o(a strng int) WITH ('connector'='print');
INSERT INTO o SELECT a FROM o;
