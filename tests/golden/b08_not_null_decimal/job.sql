-- args: run --quiet job.sql --dead-letters dead.jsonl --stand-in src=in.jsonl --stand-in sink=-
-- show: dead.jsonl
-- B08. decimal(10,2) NOT NULL and timestamp(3) are types: rounded half up, too many digits and NULL are refused.
CREATE TABLE src(amount decimal(10,2) NOT NULL, t timestamp(3))WITH(type='kafka', bootstrapServers='h:1', topic='t', sourcedatatype='json');
CREATE TABLE sink(amount decimal(10,2), t timestamp(3))WITH(type='console');
INSERT INTO sink SELECT amount, t FROM src;
