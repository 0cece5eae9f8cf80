-- expect: error[E0601] 4:18 did you mean STRING?
-- expect: error[E0101] 5:22 expected a column, found ,
-- expect: error[E0101] 6:28 found the end of the statement
CREATE TABLE a(x STRNG) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE b(y INT,,z INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
INSERT INTO a SELECT x FROM;
