//! Jobs against a real PostgreSQL; the writer is the one that tests/mysql.rs looks at closely.

use wasmill_tests::services::{Postgres, service, unique};
use wasmill_tests::{Run, Sandbox};

const WHO: &str = "'username'='wasmill', 'password'='wasmill-secret'";

fn table(db: &Postgres, prefix: &str, columns: &str) -> String {
    let name = unique(prefix);
    db.query(&format!("CREATE TABLE {name} ({columns})"));
    name
}

fn job(s: &Sandbox, db: &Postgres, columns: &str, sink_columns: &str, name: &str, options: &str) {
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src({columns}) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE sink({sink_columns}) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{name}'{options});\n\
             INSERT INTO sink SELECT * FROM src;",
            db.jdbc_url()
        ),
    );
}

fn run(s: &Sandbox) -> Run {
    s.wasmill(&["run", "job.sql"])
}

#[test]
fn rows_are_appended_and_upserted_also_by_flinkstreamsqls_type() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "up", "id int primary key, a text, b text");
    db.query(&format!("INSERT INTO {name} VALUES (1, 'a', 'x')"));
    s.write(
        "in.jsonl",
        "{\"id\":1,\"a\":null,\"b\":\"y\"}\n{\"id\":2,\"a\":\"q\",\"b\":null}\n{\"id\":2,\"a\":null,\"b\":\"r\"}\n",
    );
    let dtstack = |options: &str| {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id int, a varchar, b varchar) WITH (type='file', path='in.jsonl', format='json');\n\
                 CREATE TABLE sink(id int, a varchar, b varchar, primary key (id)) WITH (type='postgresql', url='{}', \
                 userName='wasmill', password='wasmill-secret', tableName='{name}'{options});\n\
                 INSERT INTO sink SELECT id, a, b FROM src;",
                db.jdbc_url()
            ),
        );
        run(&s).expect_code(0).expect_balanced();
        db.query(&format!("SELECT id, a, b FROM {name} ORDER BY id"))
    };
    assert_eq!(dtstack(""), ["1\ta\ty", "2\tq\tr"]);
    assert_eq!(dtstack(", allReplace='true'"), ["1\t\ty", "2\t\tr"]);
    let plain = table(&db, "app", "id bigint, a varchar(10), b text");
    job(&s, &db, "id INT, a STRING, b STRING", "id INT, a STRING, b STRING", &plain, "");
    run(&s).expect_code(0);
    assert_eq!(db.query(&format!("SELECT COUNT(*) FROM {plain}")), ["3"]);
}

#[test]
fn b93_one_long_value_is_dirty_and_the_rows_beside_it_are_stored() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "b93", "id int, v varchar(5), c char(3), n numeric(4,1)");
    let rows = [
        r#"{"id":1,"v":"ok","c":"abc","n":1.5}"#,
        r#"{"id":2,"v":"too long","c":"abc","n":1.5}"#,
        r#"{"id":3,"v":"ok","c":"abcd","n":1.5}"#,
        r#"{"id":4,"v":"ok","c":"abc","n":12345}"#,
        r#"{"id":5000000000,"v":"ok","c":"abc","n":1.5}"#,
        r#"{"id":6,"v":"nul\u0000","c":"abc","n":1.5}"#,
        r#"{"id":7,"v":"ok","c":"abc","n":1.5}"#,
    ];
    s.write("in.jsonl", rows.join("\n"));
    let columns = "id BIGINT, v STRING, c STRING, n DECIMAL(10,1)";
    job(&s, &db, columns, columns, &name, "");
    s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT id FROM {name} ORDER BY id")), ["1", "7"]);
    let mut lines: Vec<u64> = s.json_lines("dead.jsonl").iter().filter_map(|d| d["origin"]["line"].as_u64()).collect();
    lines.sort_unstable();
    assert_eq!(lines, [2, 3, 4, 5, 6]);
    let dead = s.json_lines("dead.jsonl");
    let column = |line: u64| dead.iter().find(|d| d["origin"]["line"] == line).map(|d| d["column"].clone());
    assert_eq!(column(2), Some("v".into()));
    assert_eq!(column(3), Some("c".into()));
}

#[test]
fn on_conflict_needs_its_key() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "nokey", "id int, other int unique");
    s.write("in.jsonl", "{\"id\":1}\n");
    job(&s, &db, "id INT", "id INT, PRIMARY KEY (id) NOT ENFORCED", &name, "");
    run(&s).expect_code(2).expect_stderr("PRIMARY KEY (id) is no unique key").expect_stderr("(other)");
}

const TYPES: &str = "bo BOOLEAN, sm SMALLINT, i INT, l BIGINT, d DECIMAL(38,10), f FLOAT, x DOUBLE, s STRING, y BYTES, \
                     da DATE, t TIME(3), ts TIMESTAMP(6), lt TIMESTAMP_LTZ(3), js STRING, uu STRING, ch STRING, iv STRING";
const THEIRS: &str = "bo boolean, sm smallint, i integer, l bigint, d numeric(38,10), f real, x double precision, s text, \
                      y bytea, da date, t time(3), ts timestamp(6), lt timestamptz(3), js jsonb, uu uuid, ch char(4), \
                      iv interval";

#[test]
fn every_type_comes_back_as_it_was_written() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "types", &format!("id int primary key, {THEIRS}"));
    let rows = "{\"id\":1,\"bo\":true,\"sm\":-32768,\"i\":-2147483648,\"l\":9223372036854775807,\
                \"d\":1234567890123456789012345678.0123456789,\"f\":0.1,\"x\":0.1,\"s\":\"é'\\\"😀\",\"y\":\"AAH/\",\
                \"da\":\"1969-12-31\",\"t\":\"23:59:59.5\",\"ts\":\"2024-02-29 23:59:59.999999\",\
                \"lt\":\"1999-07-01 12:00:00.5Z\",\"js\":\"{\\\"a\\\": 1}\",\"uu\":\"6f2c1f5e-2f0a-4b6e-9d0c-0123456789ab\",\
                \"ch\":\"abcd\",\"iv\":\"1 day 02:00:00\"}\n\
                {\"id\":2,\"bo\":null,\"sm\":null,\"i\":null,\"l\":null,\"d\":null,\"f\":null,\"x\":null,\"s\":null,\"y\":null,\
                \"da\":null,\"t\":null,\"ts\":null,\"lt\":null,\"js\":null,\"uu\":null,\"ch\":null,\"iv\":null}\n";
    s.write("in.jsonl", rows);
    let columns = format!("id INT, {TYPES}");
    job(&s, &db, &columns, &format!("{columns}, PRIMARY KEY (id) NOT ENFORCED"), &name, "");
    run(&s).expect_code(0);
    let seen = db.query(&format!("SET TIME ZONE 'UTC'; SELECT d, f, ts, lt, y, js->>'a' FROM {name} WHERE id = 1"));
    assert_eq!(
        seen,
        [
            "1234567890123456789012345678.0123456789\t0.1\t2024-02-29 23:59:59.999999\t1999-07-01 12:00:00.5+00\t\\x0001ff\t1"
        ]
    );
    let tables = format!(
        "CREATE TABLE db({columns}) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='public.{name}');\n\
         CREATE TABLE o({columns}) WITH ('connector'='print');\n",
        db.jdbc_url()
    );
    s.write("job.sql", format!("{tables}INSERT INTO o SELECT * FROM db;"));
    assert_eq!(run(&s).expect_code(0).stdout, rows);
    s.write("keys.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    s.write(
        "job.sql",
        tables
            + "CREATE TABLE k(id INT, p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='keys.jsonl', 'format'='json');\n\
               INSERT INTO o SELECT d.* FROM k JOIN db FOR SYSTEM_TIME AS OF k.p AS d ON k.id = d.id;",
    );
    assert_eq!(run(&s).expect_code(0).stdout, rows);
}

#[test]
fn lookups_by_text_uuid_and_decimal_match_by_value() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "side", "u uuid, c char(5), d numeric(10,2), v text");
    db.query(&format!("INSERT INTO {name} VALUES ('6f2c1f5e-2f0a-4b6e-9d0c-0123456789ab', 'ab', 1.50, 'hit')"));
    s.write("in.jsonl", "{\"u\":\"6f2c1f5e-2f0a-4b6e-9d0c-0123456789ab\",\"d\":1.5}\n{\"u\":\"no uuid\",\"d\":1.5}\n");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(u STRING, d DECIMAL(10,1), p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE dim(u STRING, d DECIMAL(10,2), v STRING) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{name}', \
             'lookup.cache'='PARTIAL');\nCREATE TABLE o(u STRING, v STRING) WITH ('connector'='print');\n\
             INSERT INTO o SELECT src.u, d.v FROM src LEFT JOIN dim FOR SYSTEM_TIME AS OF src.p AS d ON src.u = d.u AND src.d = d.d;",
            db.jdbc_url()
        ),
    );
    assert_eq!(
        run(&s).expect_code(0).stdout,
        "{\"u\":\"6f2c1f5e-2f0a-4b6e-9d0c-0123456789ab\",\"v\":\"hit\"}\n{\"u\":\"no uuid\",\"v\":null}\n"
    );
}

#[test]
fn a_scan_in_partitions_reads_every_row_once() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "scan", "id bigint primary key");
    db.query(&format!("INSERT INTO {name} SELECT generate_series(1, 20000)"));
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE db(id BIGINT) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{name}', \
             'scan.partition.column'='id', 'scan.partition.num'='3', 'scan.partition.lower-bound'='1', \
             'scan.partition.upper-bound'='20000');\nCREATE TABLE o(id BIGINT) WITH ('connector'='print');\n\
             INSERT INTO o SELECT id FROM db;",
            db.jdbc_url()
        ),
    );
    let run = run(&s).expect_code(0);
    let mut ids: Vec<u64> = wasmill_tests::json_lines(&run.stdout).iter().filter_map(|r| r["id"].as_u64()).collect();
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=20_000));
}

#[test]
fn what_cannot_be_read_is_told_with_both_schemas() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let name = table(&db, "fit", "id int, a int[]");
    s.write("in.jsonl", "");
    job(&s, &db, "id INT, a STRING", "id INT, a STRING", &name, "");
    run(&s).expect_code(2).expect_stderr("a STRING").expect_stderr("a integer[]");
    job(&s, &db, "id INT", "id INT", "no_such_table", "");
    run(&s).expect_code(2).expect_stderr("there is no table no_such_table");
    s.write("job.sql", s.read("job.sql").replace("wasmill-secret", "hush"));
    let run = run(&s).expect_code(2).expect_stderr("password");
    assert!(!run.stderr.contains("hush"), "{}", run.stderr);
}

#[test]
fn tls_is_used_and_verified_as_the_url_says() {
    let (s, db) = (Sandbox::new(), Postgres::shared());
    let ca = std::path::Path::new(&service("WASMILL_POSTGRES_TLS")).join("ca.pem");
    db.query(
        "CREATE OR REPLACE FUNCTION is_encrypted() RETURNS boolean LANGUAGE sql AS \
         'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'",
    );
    s.write("in.jsonl", "{\"v\":\"x\"}\n");
    let job = |query: &str| {
        let name = table(&db, "tls", "v text, encrypted boolean DEFAULT is_encrypted()");
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(v STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
                 CREATE TABLE sink(v STRING) WITH ('connector'='jdbc', 'url'='{}?{query}', {WHO}, 'table-name'='{name}');\n\
                 INSERT INTO sink SELECT * FROM src;",
                db.jdbc_url()
            ),
        );
        (run(&s), name)
    };
    let rows = |query: &str| {
        let (done, name) = job(query);
        done.expect_code(0);
        db.query(&format!("SELECT encrypted FROM {name}"))
    };
    assert_eq!(rows("sslmode=disable"), ["f"]);
    assert_eq!(rows("sslmode=require"), ["t"]);
    assert_eq!(rows(&format!("sslmode=verify-ca&sslrootcert={}", ca.display())), ["t"]);
    assert_eq!(rows(&format!("sslmode=verify-full&sslrootcert={}", ca.display())), ["t"]);
    // A certificate of nobody that is trusted.
    job("sslmode=verify-ca").0.expect_code(2).expect_stderr("TLS").expect_stderr("sslrootcert");
}
