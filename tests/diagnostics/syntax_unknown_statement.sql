-- expect: error[E0107] 2:1 did you mean CREATE?
CRATE TABLE t(a INT) WITH ('connector'='print');
