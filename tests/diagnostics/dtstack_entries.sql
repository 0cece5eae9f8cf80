-- expect: error[E0101] 7:22 expected a column, found ,
-- expect: error[E0402] 8:23 column a is declared twice
-- expect: error[E0404] 9:56 PRIMARY KEY names column id twice
-- expect: error[E0102] 10:56 string is not closed
-- Entries that flinkStreamSQL's reader takes for something else. (After an open quote there is no next statement.)
CREATE TABLE ok(a int NOT NULL, d decimal(10,2) NOT NULL, x.y[0] int AS z NOT NULL, @attr varchar AS at, cf:q varchar AS cfq, [0].a int AS first) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE e(a int,,b int) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE r(a int, `a` int) WITH (type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE k(id int, name varchar, PRIMARY KEY( id , ID ) NOT ENFORCED, PERIOD FOR SYSTEM_TIME) WITH (type='kudu', kuduMasters='h', tableName='t', cache='LRU');
CREATE TABLE q(a int) WITH (type='kafka', topic='t', k='open);
