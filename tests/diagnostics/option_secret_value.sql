-- expect: error[E0101] 2:75 expected =, found a text
CREATE TABLE t(a int) WITH (type='mysql', url='u', userName='u', password 'hush', tableName='t');
