-- expect: error[E0209] 3:13 unknown catalog kudu
-- The statements of the Bahir connector's page in a Kudu catalog: read, and refused for the catalog's sake.
USE CATALOG kudu;
CREATE TABLE TestTable ( first STRING, second STRING, third INT NOT NULL ) WITH ( 'kudu.hash-columns' = 'first', 'kudu.primary-key-columns' = 'first,second' );
ALTER TABLE TestTable RENAME TO TestTableRen;
DROP TABLE TestTableRen
