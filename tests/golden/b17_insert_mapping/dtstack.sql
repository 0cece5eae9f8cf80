-- args: run dtstack.sql --stand-in src=in.jsonl --stand-in sink=-
-- B17. flinkStreamSQL maps by name: pv='mq6', channel='aa'.
CREATE TABLE src(id int, channel varchar, pv varchar)WITH(type='kafka10', bootstrapServers='h:1', topic='t');
CREATE TABLE sink(pv VARCHAR, channel VARCHAR)WITH(type='mysql', url='jdbc:mysql://h:3306/test', userName='u', password='p', tableName='t');
INSERT INTO sink SELECT channel, pv FROM src;
