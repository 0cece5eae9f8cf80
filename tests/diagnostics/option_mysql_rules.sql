-- expect: error[E0305] 5:110 UPSERT needs a PRIMARY KEY
-- expect: error[E0304] 5:141 from 0 to 10000
-- expect: error[E0305] 6:49 jdbc:oracle: (Oracle) is not supported
-- expect: error[E0305] 6:93 needs a password option
CREATE TABLE a(x int) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', password='p', tableName='t', updateMode='upsert', batchSize='10001');
CREATE TABLE b(x INT) WITH ('connector'='jdbc', 'url'='jdbc:oracle:thin', 'table-name'='t', 'username'='u');
