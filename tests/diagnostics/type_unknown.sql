-- expect: error[E0601] 5:18 did you mean STRING?
-- expect: error[E0601] 5:27 unknown type ITN
-- expect: error[E0603] 5:34 type MULTISET
-- expect: error[E0101] 5:42 found <
CREATE TABLE t(a strng, b itn, c MULTISET<INT>, d BLOOB(3)) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
