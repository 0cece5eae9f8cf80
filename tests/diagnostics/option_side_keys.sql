-- expect: error[E0305] 13:174 cacheSize must be at least 0
-- expect: error[E0305] 13:190 cacheTTLMs must be at least 1000
-- expect: error[E0304] 13:218 option cacheMode must be one of ordered, unordered
-- expect: error[E0304] 13:239 option asyncCapacity must be an integer of at least 0
-- expect: error[E0304] 13:258 option asyncTimeout must be a duration
-- expect: error[E0304] 13:277 option asyncPoolSize must be an integer from 1 to 20
-- expect: error[E0304] 13:299 option partitionedJoin must be true or false
-- expect: error[E0304] 13:327 option connectRetryMaxNum must be an integer of at least 0
-- expect: error[E0304] 13:349 option asyncFailMaxNum must be an integer of at least 0
-- expect: error[E0302] 14:34 table c needs the option password
-- expect: error[E0305] 14:107 updateMode UPSERT needs a PRIMARY KEY
-- expect: error[E0304] 15:147 option batchSize must be an integer from 0 to 10000
CREATE TABLE a(k int, v varchar, PRIMARY KEY(k), PERIOD FOR SYSTEM_TIME) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', password='p', tableName='t', cache='lru', cacheSize='-1', cacheTTLMs='999', cacheMode='any', asyncCapacity='-1', asyncTimeout='x', asyncPoolSize='21', partitionedJoin='maybe', connectRetryMaxNum='-1', asyncFailMaxNum='-2');
CREATE TABLE c(k int, v varchar) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', tableName='t', updateMode='upsert');
CREATE TABLE b(k int, v varchar, PRIMARY KEY(k)) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', password='p', tableName='t', batchSize='10001');
