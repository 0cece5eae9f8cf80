-- args: run --quiet job.sql
-- sorted
-- Computed and metadata columns of tables whose names have capitals, dots or blanks.
CREATE TABLE MySource(id INT, Twice AS id * 2, p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE `impala::My.Db t` WITH ('connector'='filesystem') LIKE MySource;
CREATE TABLE Dim(id INT, V STRING) WITH ('connector'='filesystem', 'path'='dim.jsonl', 'format'='json');
CREATE TABLE Sink1(what STRING, n INT, v STRING) WITH ('connector'='print');
INSERT INTO Sink1 SELECT 'capitals', o.Twice, d.V FROM MySource o LEFT JOIN Dim FOR SYSTEM_TIME AS OF o.p AS d ON o.id = d.id;
INSERT INTO Sink1 SELECT 'no alias', MySource.Twice, CAST(MySource.id AS STRING) FROM MySource;
INSERT INTO Sink1 SELECT 'dots', Twice, CAST(id AS STRING) FROM `impala::My.Db t`;
INSERT INTO Sink1 SELECT 'dots and alias', x.Twice, 'x' FROM `impala::My.Db t` AS x WHERE x.Twice > 2;
