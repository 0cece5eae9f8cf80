-- expect: error[E0306] 2:50 belong to different dialects
CREATE TABLE t(a INT) WITH ('connector'='kafka', 'connector.type'='kafka', 'topic'='t');
