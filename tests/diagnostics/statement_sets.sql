-- expect: error[E0101] 6:1 END without a statement set
-- expect: error[E0202] 9:1 a statement set holds INSERT statements only (it begins in line 8)
-- expect: error[E0101] 12:1 the statement set has no end
CREATE TABLE t(a INT) WITH ('connector'='datagen', 'number-of-rows'='1');
CREATE TABLE s(a INT) WITH ('connector'='print');
END;
EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT a FROM t; INSERT INTO s SELECT a FROM t; END;
BEGIN STATEMENT SET;
BEGIN STATEMENT SET;
INSERT INTO s SELECT a FROM t;
END;
BEGIN STATEMENT SET;
INSERT INTO s SELECT a FROM t;
