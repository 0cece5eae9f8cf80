-- args: run constant_where.sql
-- sorted
-- Conditions that are always or never true, as generated SQL has them: the job runs, and drops are counted.
CREATE TABLE src(id INT, name STRING, n INT, `order` STRING, p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE dim(id INT, name STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(k STRING, id INT) WITH ('connector'='print');
INSERT INTO sink SELECT 'all', id FROM src WHERE 1 = 1 AND TRUE;
INSERT INTO sink SELECT 'none', id FROM src WHERE 1 = 0;
INSERT INTO sink SELECT 'none', id FROM src WHERE id > 0 AND FALSE;
INSERT INTO sink SELECT 'none', id FROM src WHERE CAST(NULL AS BOOLEAN);
INSERT INTO sink SELECT 'none', s.id FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id AND FALSE;
INSERT INTO sink SELECT d.name, s.id FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id AND 1 = 2;
