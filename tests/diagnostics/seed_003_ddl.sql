-- The statements of the Bahir connector's page outside of its catalog: read and done, without a message.
CREATE TABLE TestTable ( first STRING, second STRING, third INT NOT NULL ) WITH ( 'connector.type' = 'kudu', 'kudu.masters' = '...', 'kudu.table' = 'TestTable', 'kudu.hash-columns' = 'first', 'kudu.primary-key-columns' = 'first,second' );
ALTER TABLE TestTable RENAME TO TestTableRen;
DROP TABLE TestTableRen
