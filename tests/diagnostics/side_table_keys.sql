-- expect: warning[W0402] 3:14 has no PRIMARY KEY
-- expect: warning[W0403] 4:46 added as STRING
create table dim (name varchar, PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='foo', cache='ALL');
create table dim2 (name varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='foo');
