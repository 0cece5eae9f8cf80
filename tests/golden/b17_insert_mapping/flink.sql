-- args: run flink.sql --stand-in src=in.jsonl --stand-in sink=-
-- B17. The same text in Flink's dialect maps by position: pv='aa', channel='mq6'.
CREATE TABLE src(id int, channel varchar, pv varchar)WITH('connector'='kafka', 'properties.bootstrap.servers'='h:1', 'topic'='t', 'format'='json');
CREATE TABLE sink(pv VARCHAR, channel VARCHAR)WITH('connector'='print');
INSERT INTO sink SELECT channel, pv FROM src;
