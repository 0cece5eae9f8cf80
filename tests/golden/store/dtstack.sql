-- args: run dtstack.sql --stand-in src=in.jsonl --stand-in sink=-
-- flinkStreamSQL casts; a number that does not fit the sink's column is refused, never wrapped.
CREATE TABLE src(l bigint)WITH(type='kafka', bootstrapServers='h:1', topic='t');
CREATE TABLE sink(l int)WITH(type='console');
INSERT INTO sink SELECT l FROM src;
