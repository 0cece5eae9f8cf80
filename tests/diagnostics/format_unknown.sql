-- expect: error[E0309] 5:67 did you mean json?
-- expect: error[E0310] 6:67 format parquet
-- expect: error[E0301] 7:84 unknown option csv.header
-- expect: error[E0302] 8:23 wasm.module
CREATE TABLE t(a INT) WITH ('connector'='filesystem', 'path'='p', 'format'='jsn', 'jsn.x'='y');
CREATE TABLE u(a INT) WITH ('connector'='filesystem', 'path'='p', 'format'='parquet');
CREATE TABLE v(a INT) WITH ('connector'='filesystem', 'path'='p', 'format'='json', 'csv.header'='true');
CREATE TABLE w(a INT) WITH ('connector'='print', 'format'='wasm');
