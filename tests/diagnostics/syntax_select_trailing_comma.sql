-- expect: error[E0101] 3:2 expected an expression, found FROM
INSERT INTO o SELECT a,
 FROM WHERE x;
