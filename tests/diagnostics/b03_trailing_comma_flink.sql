-- expect: error[E0105] 2:48 remove the comma
CREATE TABLE o(a INT) WITH ('connector'='print',);
