-- args: run time.sql
-- TIMESTAMPADD over the ends of months and years, DATE_FORMAT patterns of Java, TO_TIMESTAMP and what it cannot read.
CREATE TABLE src(i INT, x INT, y INT, s STRING, t TIMESTAMP(3)) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE sink(i INT, m TIMESTAMP(3), q TIMESTAMP(3), y TIMESTAMP(3), d TIMESTAMP(3), h TIMESTAMP(3), f STRING, g STRING, iso STRING, p TIMESTAMP(3), bad TIMESTAMP(3))
WITH ('connector'='print');
INSERT INTO sink SELECT i,
  TIMESTAMPADD(MONTH, 1, t), TIMESTAMPADD(QUARTER, -1, t), TIMESTAMPADD(YEAR, x, t), TIMESTAMPADD(DAY, 1, t), TIMESTAMPADD(HOUR, -24, t),
  DATE_FORMAT(t, 'yyyy-MM-dd HH:mm:ss.SSS'), DATE_FORMAT(t, 'yyMMdd EEE h a'), DATE_FORMAT(t, 'yyyy-MM-dd''T''HH:mm'),
  TO_TIMESTAMP(DATE_FORMAT(t, 'dd/MM/yyyy HH'), 'dd/MM/yyyy HH'), TO_TIMESTAMP(s)
FROM src;
