-- expect: error[E0106] 2:42 a comma is missing before PERIOD
CREATE TABLE dim(id int, PRIMARY KEY(id) PERIOD FOR SYSTEM_TIME) WITH(type='kudu', kuduMasters='h', tableName='t');
