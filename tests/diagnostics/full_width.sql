-- expect: warning[W0101] 8:17 full-width （ is read as (
-- expect: warning[W0101] 8:24 ，
-- expect: warning[W0101] 8:53 ，
-- expect: warning[W0101] 8:59 ，
-- expect: warning[W0101] 8:83 ）
-- expect: warning[W0101] 8:139 ；
-- expect: warning[W0303] 8:114 full-width commas in option kuduMasters
CREATE TABLE dim（id int，name varchar, PRIMARY KEY(id，name)， PERIOD FOR SYSTEM_TIME）WITH(type='kudu', kuduMasters='ip1，ip2', tableName='t')；
