-- args: check job.sql
-- args: check job.sql --set job.strict-options=true
-- What flinkStreamSQL takes no notice of is a warning, or an error if the job asks for it.
CREATE TABLE src(id int)WITH(type='kafka', bootstrapServers='h:1', topic='t', zookeeperQuorm='h:2', groupID='g');
