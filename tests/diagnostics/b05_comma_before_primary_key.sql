-- expect: error[E0106] 2:39 a comma is missing before PRIMARY KEY
CREATE TABLE dim(id int, name varchar PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME) WITH(type='kudu', kuduMasters='h', tableName='t');
