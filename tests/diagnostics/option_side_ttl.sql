-- expect: error[E0305] 2:127 at least 1000
CREATE TABLE a(x int, PRIMARY KEY(x), PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='t', cache='LRU', cacheTTLMs='60');
