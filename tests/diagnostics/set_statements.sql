-- expect: error[E0101] 5:6 expected =, found the end of the statement
-- expect: error[E0101] 6:5 expected an option, found =
SET 'pipeline.name' = 'b';
SET table.exec.x = true;
SET a;
SET = 5;
-- check: warning[W0304] 4:5 has no effect here
