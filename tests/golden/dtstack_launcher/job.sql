-- args: dtstack -sql job.sql -name nightly -mode local -confProp {"sql.env.parallelism":"1","timezone":"Asia/Shanghai"}
-- args: dtstack -sql job.sql -name nightly -mode yarnPer -flinkconf /opt/flink/conf -queue q -addjar ["a.jar"] -addShipfile ["k.keytab"] -confProp {"time.characteristic":"EventTime","sql.env.paralelism":"2","mine":"x"} -dirtyProperties {"type":"mysql","url":"jdbc:mysql://h/d","userName":"u","password":"secret1","printLimit":"5","errorLimit":"7"}
-- args: dtstack launch.json --stand-in src=in.jsonl --quiet
-- args: dtstack -sql job.sql -confProp {"sql.env.parallelism":"parllNum"}
-- The flags of flinkStreamSQL's launcher: what has no meaning here is named, and no value of -dirtyProperties is shown.
CREATE TABLE src(id int, name varchar)WITH(type='file', path='in.jsonl', format='json');
CREATE TABLE sink(id int, name varchar)WITH(type='console');
INSERT INTO sink SELECT id, name FROM src;
