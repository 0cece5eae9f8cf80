-- args: run mysql_sink.sql --stand-in MyTable=mysql_sink.in.jsonl --stand-in MyResult=result.jsonl
-- show: result.jsonl
-- B17. The sample of flinkStreamSQL's page on the MySQL sink, as printed: INSERT maps columns by name, so channel stays
-- channel and pv stays pv although the query and the sink list them in different order.
CREATE TABLE MyTable(
    id int,
    channel varchar,
    pv varchar,
    xctime varchar,
    name varchar
 )WITH(
    type ='kafka10',
    bootstrapServers ='172.16.8.107:9092',
    zookeeperQuorum ='172.16.8.107:2181/kafka',
    offsetReset ='latest',
    topic ='es_test',
    timezone='Asia/Shanghai',
    topicIsPattern ='false',
    parallelism ='1'
 );

CREATE TABLE MyResult(
    pv VARCHAR,
    channel VARCHAR
 )WITH(
    type ='mysql',
    url ='jdbc:mysql://172.16.10.134:3306/test',
    userName ='dtstack',
    password ='abc123',
    tableName ='myresult',
    parallelism ='1'
 );


insert  
into
    MyResult
    select
        channel,
        pv
    from
        MyTable
