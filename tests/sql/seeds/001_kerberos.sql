create table dim (
    name varchar,
    id int,
    PERIOD FOR SYSTEM_TIME
) WITH (
    type='kudu',
    kuduMasters='host1',
    tableName='foo',
    parallelism ='1',
    cache ='ALL',
    keytab='foo/foobar.keytab',
    krb5conf='bar/krb5.conf',
    principal='kudu/[email protected]'
);
