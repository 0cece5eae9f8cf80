-- expect: error[E0305] 7:45 krb5conf is missing
-- expect: error[E0305] 7:19 only together
-- expect: warning[W0303] 9:14 primaryKey
-- expect: error[E0305] 9:49 as many entries
-- expect: error[E0305] 10:106 hash column y
CREATE TABLE a(x int, PRIMARY KEY(x), PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='t', cache='ALL',
  primaryKey='x', lowerBoundPrimaryKey='1', principal='p', keytab='k');
CREATE TABLE b(x int, PRIMARY KEY(x), PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='t', cache='ALL',
  primaryKey='x，y', lowerBoundPrimaryKey='1,2', upperBoundPrimaryKey='3');
CREATE TABLE c(x INT) WITH ('connector.type'='kudu', 'kudu.masters'='h', 'kudu.primary-key-columns'='x', 'kudu.hash-columns'='y');
