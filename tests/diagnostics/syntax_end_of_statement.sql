-- expect: error[E0101] 2:15 expected (, found the end of the statement
CREATE TABLE t
