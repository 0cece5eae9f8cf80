-- expect: error[E0402] 12:17 column a is declared in t, too
-- expect: error[E0402] 13:17 OVERWRITING GENERATED
-- expect: error[E0404] 14:17 EXCLUDING CONSTRAINTS
-- expect: error[E0303] 15:24 OVERWRITING OPTIONS
-- expect: error[E0101] 16:24 OVERWRITING works for GENERATED, METADATA, OPTIONS and WATERMARKS only
-- expect: error[E0405] 17:22 table late is not declared yet
-- expect: error[E0405] 18:22 unknown table tt
-- expect: error[E0101] 19:14 table t7 has no columns
-- expect: error[E0406] 20:17 OVERWRITING WATERMARKS
CREATE TABLE t(a INT NOT NULL, w TIMESTAMP(3), c AS a + 1, PRIMARY KEY(a) NOT ENFORCED, WATERMARK FOR w AS w)
WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE l1(a BIGINT) LIKE t;
CREATE TABLE l2(c AS a + 2) LIKE t;
CREATE TABLE l3(PRIMARY KEY(a) NOT ENFORCED) LIKE t;
CREATE TABLE t4  WITH ('number-of-rows'='2') LIKE t (INCLUDING OPTIONS);
CREATE TABLE t5 LIKE t(OVERWRITING CONSTRAINTS);
CREATE TABLE t6 LIKE late;
CREATE TABLE t8 LIKE tt;
CREATE TABLE t7 WITH ('connector'='print');
CREATE TABLE l9(WATERMARK FOR w AS w - INTERVAL '1' SECOND) LIKE t;
CREATE TABLE late LIKE t (EXCLUDING ALL INCLUDING OPTIONS);
