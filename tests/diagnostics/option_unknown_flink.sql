-- expect: error[E0301] 4:50 did you mean topic?
-- expect: error[E0301] 5:3 option names are case-sensitive: format
-- expect: error[E0301] 5:75 unknown option frobnicate
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'topics'='t', 'topic'='t',
  'Format'='json', 'format'='json', 'properties.bootstrap.servers'='h:1', 'frobnicate'='1');
