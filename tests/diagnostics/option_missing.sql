-- expect: error[E0302] 3:27 table t needs the option tableName
-- expect: error[E0302] 3:85 option password of table t is empty
CREATE TABLE t(a varchar) WITH (type='mysql', url='jdbc:mysql://h/d', userName='u', password='');
