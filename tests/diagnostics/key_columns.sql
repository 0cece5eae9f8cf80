-- expect: error[E0403] 7:37 did you mean id?
-- expect: error[E0404] 8:41 names column id twice
-- expect: error[E0404] 9:49 has a PRIMARY KEY already
-- expect: warning[W0401] 10:24 NOT ENFORCED
-- expect: error[E0403] 11:37 key column x
-- expect: error[E0202] 12:41 ENFORCED keys
CREATE TABLE a(id INT, PRIMARY KEY (idd) NOT ENFORCED) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
CREATE TABLE b(id INT, PRIMARY KEY (id, id) NOT ENFORCED) WITH ('connector'='upsert-kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'key.format'='json', 'value.format'='json');
CREATE TABLE c(id INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='upsert-kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'key.format'='json', 'value.format'='json');
CREATE TABLE d(id INT, PRIMARY KEY (id)) WITH ('connector'='upsert-kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'key.format'='json', 'value.format'='json');
CREATE TABLE e(id int, primary key (x)) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', password='p', tableName='t');
CREATE TABLE f(id INT, PRIMARY KEY (id) ENFORCED) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', 'format'='json');
