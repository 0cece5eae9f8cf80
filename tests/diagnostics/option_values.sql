-- expect: error[E0304] 5:84 insert, update, upsert, not 'merge'
-- expect: error[E0304] 6:13 from 1 to 2147483647
-- expect: error[E0304] 6:33 option parallelism must be an integer
-- expect: error[E0304] 6:51 NONE, LRU, ALL
CREATE TABLE t(a int) WITH (type='kudu', kuduMasters='h', tableName='t', writeMode='merge',
  batchSize='many', parallelism='parllNum', cache='SOME');
