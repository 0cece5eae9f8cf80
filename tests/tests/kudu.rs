//! Kudu on a real cluster: sink, side table, scan. Kudu's own tool says what is there.

use wasmill_tests::Sandbox;
use wasmill_tests::services::{Kudu, unique};

/// A flinkStreamSQL table of Kudu.
fn dt(kudu: &Kudu, name: &str, columns: &str, table: &str, options: &str) -> String {
    format!(
        "CREATE TABLE {name}({columns})WITH(type='kudu', kuduMasters='{}', tableName='{table}'{options});\n",
        kudu.master
    )
}

/// A Flink table of Kudu.
fn flink(kudu: &Kudu, name: &str, columns: &str, table: &str, options: &str) -> String {
    format!(
        "CREATE TABLE {name} ({columns}) WITH ('connector' = 'kudu', 'kudu.masters' = '{}', 'kudu.table' = '{table}'{options});\n",
        kudu.master
    )
}

fn file(name: &str, columns: &str, path: &str) -> String {
    format!(
        "CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');\n"
    )
}

const ALL_COLUMNS: &str = "id BIGINT, b BOOLEAN, i8 TINYINT, i16 SMALLINT, i32 INT, f FLOAT, d DOUBLE, n DECIMAL(20, 4), \
                           s STRING, v VARCHAR(5), x BYTES, day DATE, at TIMESTAMP(6), ltz TIMESTAMP_LTZ(6)";
const ALL_KUDU: &[&str] = &[
    "id INT64",
    "b BOOL?",
    "i8 INT8?",
    "i16 INT16?",
    "i32 INT32?",
    "f FLOAT?",
    "d DOUBLE?",
    "n DECIMAL(20,4)?",
    "s STRING?",
    "v VARCHAR(5)?",
    "x BINARY?",
    "day DATE?",
    "at UNIXTIME_MICROS?",
    "ltz UNIXTIME_MICROS?",
];
const ALL_ROWS: &str = r#"{"id":1,"b":true,"i8":-128,"i16":32767,"i32":-2147483648,"f":1.5,"d":0.1,"n":-1234567890123456.7891,"s":"ü","v":"fünf!","x":"AAE=","day":"2026-12-01","at":"2026-06-30 23:59:59.123456","ltz":"2026-06-30 23:59:59.123456Z"}
{"id":2,"b":null,"i8":null,"i16":null,"i32":null,"f":null,"d":null,"n":null,"s":null,"v":null,"x":null,"day":null,"at":null,"ltz":null}
{"id":-9223372036854775808,"b":false,"i8":0,"i16":0,"i32":0,"f":0.0,"d":-1e+300,"n":0.0000,"s":"","v":"","x":"","day":"0001-01-01","at":"1969-12-31 23:59:59.999999","ltz":"1969-12-31 23:59:59.999999Z"}
"#;

#[test]
fn every_type_comes_back_as_it_was_written() {
    let kudu = Kudu::shared();
    let table = kudu.table("types", ALL_KUDU, 1);
    let s = Sandbox::new();
    s.write("in.jsonl", ALL_ROWS);
    let zone = "SET 'table.local-time-zone' = 'Asia/Shanghai';\n";
    s.write(
        "write.sql",
        zone.to_string()
            + &file("f", ALL_COLUMNS, "in.jsonl")
            + &flink(&kudu, "k", ALL_COLUMNS, &table, "")
            + "INSERT INTO k SELECT * FROM f;",
    );
    s.wasmill(&["run", "write.sql"]).expect_code(0).expect_balanced();
    let rows = kudu.rows(&table);
    assert_eq!(rows.len(), 3, "{rows:?}");
    // The wall clock of Shanghai is eight hours ahead.
    assert!(
        rows[1].contains("2026-06-30T15:59:59.123456Z") && rows[1].contains("2026-06-30T23:59:59.123456Z"),
        "{rows:?}"
    );
    s.write(
        "read.sql",
        zone.to_string()
            + &flink(&kudu, "k", ALL_COLUMNS, &table, "")
            + &format!(
                "CREATE TABLE out ({ALL_COLUMNS}) WITH ('connector' = 'print');\nINSERT INTO out SELECT * FROM k;"
            ),
    );
    let mut out: Vec<String> =
        s.wasmill(&["run", "read.sql"]).expect_code(0).stdout.lines().map(str::to_string).collect();
    let mut expected: Vec<&str> = ALL_ROWS.lines().collect();
    out.sort();
    expected.sort_unstable();
    assert_eq!(out, expected);
}

#[test]
fn insert_update_and_upsert_do_what_they_say_and_one_bad_row_harms_no_other() {
    let kudu = Kudu::shared();
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1,\"v\":\"a\"}\n{\"id\":2,\"v\":\"b\"}\n{\"id\":1,\"v\":null}\n{\"id\":null,\"v\":\"n\"}\n{\"id\":3000000000,\"v\":\"x\"}\n");
    let run = |mode: &str, table: &str| {
        s.write(
            "job.sql",
            file("f", "id BIGINT, v STRING", "in.jsonl")
                + &dt(&kudu, "k", "id bigint, v varchar", table, &format!("{mode}, errorLimit='10'"))
                + "INSERT INTO k SELECT id, v FROM f;",
        );
        s.wasmill(&["run", "job.sql"]).expect_code(0)
    };
    let columns = &["id INT32", "v STRING?"];
    let table = kudu.table("insert", columns, 1);
    let done = run(", writeMode='INSERT'", &table);
    assert_eq!((done.operator("Sink: k").count("written"), done.operator("Sink: k").count("dead")), (2, 3));
    assert_eq!(kudu.rows(&table), ["int32 id=1, string v=\"a\"", "int32 id=2, string v=\"b\""]);
    done.expect_stderr("in.jsonl line 3")
        .expect_stderr("a row with this key is there already")
        .expect_stderr("line 4")
        .expect_stderr("is NULL, but part of the key")
        .expect_stderr("line 5")
        .expect_stderr("3000000000 does not fit");

    let table = kudu.table("update", columns, 1);
    let done = run(", writeMode='update'", &table);
    done.expect_stderr("no row with this key is there to be updated");
    assert!(kudu.rows(&table).is_empty());

    let table = kudu.table("upsert", columns, 1);
    run("", &table);
    // NULL overwrites.
    assert_eq!(kudu.rows(&table), ["int32 id=1, string v=NULL", "int32 id=2, string v=\"b\""]);
}

#[test]
fn a_change_stream_updates_deletes_and_moves_keys() {
    let kudu = Kudu::shared();
    let table = kudu.table("changes", &["id INT32", "v STRING?"], 1);
    let s = Sandbox::new();
    let change =
        |op: &str, before: &str, after: &str| format!("{{\"before\":{before},\"after\":{after},\"op\":\"{op}\"}}\n");
    let row = |id: i32, v: &str| format!("{{\"id\":{id},\"v\":\"{v}\"}}");
    s.write(
        "in.jsonl",
        [
            change("c", "null", &row(1, "a")),
            change("c", "null", &row(2, "b")),
            change("c", "null", &row(3, "c")),
            change("u", &row(1, "a"), &row(1, "a2")),
            change("d", &row(2, "b"), "null"),
            change("d", &row(9, "never there"), "null"),
            change("u", &row(3, "c"), &row(4, "c")),
        ]
        .concat(),
    );
    s.write(
        "job.sql",
        "CREATE TABLE f (id INT, v STRING) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'debezium-json');\n"
            .to_string()
            + &flink(&kudu, "k", "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED", &table, "")
            + "INSERT INTO k SELECT id, v FROM f;",
    );
    s.wasmill(&["run", "job.sql"]).expect_code(0).expect_balanced();
    assert_eq!(kudu.rows(&table), ["int32 id=1, string v=\"a2\"", "int32 id=4, string v=\"c\""]);
    // Without a key the job could only add rows.
    s.write("job.sql", s.read("job.sql").replace(", PRIMARY KEY (id) NOT ENFORCED", ""));
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("doesn't support consuming update");
}

#[test]
fn bahirs_tables_are_made_on_first_use() {
    let kudu = Kudu::shared();
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":\"x\",\"n\":1,\"d\":1.50}\n");
    let made = unique("made");
    let new = flink(
        &kudu,
        "k",
        "d DECIMAL(8, 2), n INT, a STRING",
        &made,
        ", 'kudu.primary-key-columns' = 'a,n', 'kudu.hash-columns' = 'a', 'kudu.hash-partition-nums' = '2'",
    );
    let job = file("f", "a STRING, n INT, d DECIMAL(8, 2)", "in.jsonl") + &new + "INSERT INTO k SELECT d, n, a FROM f;";
    s.write("job.sql", job);
    s.wasmill(&["check", "--connect", "job.sql"]).expect_code(0);
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(kudu.rows(&made), ["string a=\"x\", int32 n=1, decimal d=150_D32"]);
    let described = kudu.tool("table", "describe", &[&made]);
    assert!(described.contains("HASH (a) PARTITIONS 2"), "{described}");

    let legacy = unique("legacy");
    s.write(
        "job.sql",
        file("f", "a STRING, n INT, d DECIMAL(8, 2)", "in.jsonl")
            + &format!(
                "CREATE TABLE k (a STRING, n INT) WITH ('connector.type' = 'kudu', 'kudu.masters' = '{}', \
                 'kudu.table' = '{legacy}', 'kudu.hash-columns' = 'a', 'kudu.primary-key-columns' = 'a');\n",
                kudu.master
            )
            + "INSERT INTO k SELECT a, n FROM f;",
    );
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(kudu.rows(&legacy), ["string a=\"x\", int32 n=1"]);
}

#[test]
fn what_does_not_fit_is_found_at_submit() {
    let kudu = Kudu::shared();
    let table = kudu.table("fit", &["id INT32", "v STRING", "w STRING?"], 1);
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1}\n");
    let check = |columns: &str, table: &str, expected: &str| {
        s.write(
            "job.sql",
            file("f", columns, "in.jsonl") + &dt(&kudu, "k", columns, table, "") + "INSERT INTO k SELECT * FROM f;",
        );
        for args in [&["check", "--connect", "job.sql"][..], &["run", "job.sql"]] {
            s.wasmill(args).expect_code(2).expect_stderr(expected);
        }
    };
    check("id INT, v STRING", &unique("nowhere"), "Kudu has no table nowhere");
    check("id INT, v STRING, z STRING", &table, "has no column z");
    check("id INT, v DOUBLE", &table, "column v: DOUBLE does not go into STRING");
    check("v STRING, w STRING", &table, "has the key column id, which is not written");
    check("id INT, w STRING", &table, "has the column v, which is not nullable, has no default and is not written");
    // flinkStreamSQL knows columns in lower case.
    s.write("in.jsonl", "{\"ID\":7,\"V\":\"x\"}\n");
    s.write(
        "job.sql",
        file("f", "ID INT, V STRING", "in.jsonl")
            + &dt(&kudu, "k", "ID int, V varchar", &table, "")
            + "INSERT INTO k SELECT ID, V FROM f;",
    );
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(kudu.rows(&table), ["int32 id=7, string v=\"x\", string w=NULL"]);
}

/// A dimension of two key columns: (n, k) for n in 0..20 and k in "a", "b", each with a value.
fn dimension(kudu: &Kudu) -> String {
    let table = kudu.table("dim", &["n INT32", "k STRING", "v STRING?"], 2);
    let s = Sandbox::new();
    let rows = (0..20).flat_map(|n| ["a", "b"].map(|k| format!("{{\"n\":{n},\"k\":\"{k}\",\"v\":\"{k}{n}\"}}\n")));
    s.write("in.jsonl", rows.collect::<String>());
    s.write(
        "job.sql",
        file("f", "n INT, k STRING, v STRING", "in.jsonl")
            + &dt(kudu, "t", "n int, k varchar, v varchar", &table, "")
            + "INSERT INTO t SELECT n, k, v FROM f;",
    );
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    table
}

const STREAM: &str = "{\"id\":1,\"n\":3,\"k\":\"a\"}\n{\"id\":2,\"n\":3,\"k\":\"zz\"}\n{\"id\":3,\"n\":null,\"k\":\"a\"}\n\
                      {\"id\":4,\"n\":4000000000,\"k\":\"b\"}\n{\"id\":5,\"n\":19,\"k\":\"b\"}\n{\"id\":6,\"n\":3,\"k\":\"a\"}\n";

fn joined(kudu: &Kudu, table: &str, options: &str, on: &str, more: &[&str]) -> (Vec<String>, wasmill_tests::Run) {
    let s = Sandbox::new();
    s.write("in.jsonl", STREAM);
    s.write(
        "job.sql",
        "CREATE TABLE f(id int, n bigint, k varchar)WITH(type='file', fileName='in.jsonl', format='json');\n"
            .to_string()
            + &dt(kudu, "d", "n int, k varchar, v varchar, PRIMARY KEY(n, k), PERIOD FOR SYSTEM_TIME", table, options)
            + "CREATE TABLE o(id int, v varchar)WITH(type='console');\n"
            + &format!("INSERT INTO o SELECT f.id, d.v FROM f LEFT JOIN d ON {on};"),
    );
    let mut args = vec!["run", "job.sql", "--stand-in", "o=-"];
    args.extend(more);
    let run = s.wasmill(&args).expect_code(0);
    let mut rows: Vec<String> = run.stdout.lines().map(str::to_string).collect();
    rows.sort();
    (rows, run)
}

fn row(id: i32, v: &str) -> String {
    if v.is_empty() { format!("{{\"id\":{id},\"v\":null}}") } else { format!("{{\"id\":{id},\"v\":\"{v}\"}}") }
}

#[test]
fn a_side_table_answers_by_key_with_every_cache() {
    let kudu = Kudu::shared();
    let table = dimension(&kudu);
    let expected: Vec<String> =
        [(1, "a3"), (2, ""), (3, ""), (4, ""), (5, "b19"), (6, "a3")].map(|(id, v)| row(id, v)).into();
    for cache in ["NONE", "LRU", "ALL"] {
        for more in [&[][..], &["--set", "parallelism.default=2"]] {
            let options = format!(", cache='{cache}', partitionedJoin='true'");
            let (rows, _) = joined(&kudu, &table, &options, "f.n = d.n AND f.k = d.k", more);
            assert_eq!(rows, expected, "{cache}");
        }
    }
    // A part of the key, and a condition that Kudu applies.
    let (rows, _) = joined(&kudu, &table, ", cache='LRU'", "f.n = d.n AND d.k = 'b'", &[]);
    assert_eq!(rows, [row(1, "b3"), row(2, "b3"), row(3, ""), row(4, ""), row(5, "b19"), row(6, "b3")]);
    // By a column that is not of the key; with a limit each key has at most that many rows.
    let (rows, _) = joined(&kudu, &table, ", cache='LRU', limitNum='1'", "f.n = d.n", &[]);
    assert_eq!(rows.len(), 6);
}

#[test]
fn a_whole_load_keeps_to_its_bounds_and_limit() {
    let kudu = Kudu::shared();
    let table = dimension(&kudu);
    let read = |options: &str| {
        let (_, run) = joined(&kudu, &table, &format!(", cache='ALL'{options}"), "f.n = d.n AND f.k = d.k", &[]);
        run.operator("LookupJoin: d (side table)").count("read")
    };
    assert_eq!(read(""), 40);
    // From the first key on, up to but without the last one; the comma may be a wide one.
    assert_eq!(read(", primaryKey='n，k', lowerBoundPrimaryKey='3,b', upperBoundPrimaryKey='5,b'"), 4);
    assert_eq!(read(", primaryKey='n', lowerBoundPrimaryKey='18', upperBoundPrimaryKey='100'"), 4);
    assert_eq!(read(", limitNum='7'"), 7);
    assert_eq!(read(", limitNum='0', isFaultTolerant='true', batchSizeBytes='1000'"), 40);
    let s = Sandbox::new();
    s.write("in.jsonl", STREAM);
    s.write(
        "job.sql",
        file("f", "id INT, n BIGINT, k STRING", "in.jsonl")
            + &dt(
                &kudu,
                "d",
                "n int, k varchar, v varchar, PRIMARY KEY(n, k), PERIOD FOR SYSTEM_TIME",
                &table,
                ", cache='ALL', primaryKey='n', lowerBoundPrimaryKey='x', upperBoundPrimaryKey='5'",
            )
            + "CREATE TABLE o(id int, v varchar)WITH(type='console');\nINSERT INTO o SELECT f.id, d.v FROM f JOIN d ON f.n = d.n;",
    );
    s.wasmill(&["check", "--connect", "job.sql"]).expect_code(2).expect_stderr("the bound 'x' of n is no INT32");
}

#[test]
fn a_table_is_scanned_in_parallel_with_the_conditions_of_the_query() {
    let kudu = Kudu::shared();
    let table = dimension(&kudu);
    let s = Sandbox::new();
    s.write(
        "job.sql",
        flink(&kudu, "k", "n BIGINT, k STRING, v STRING", &table, ", 'scan.parallelism' = '3'")
            + "CREATE TABLE o (n BIGINT, v STRING) WITH ('connector' = 'print');\n\
               INSERT INTO o SELECT n, v FROM k WHERE n >= 18 AND k IN ('b', 'c') AND v IS NOT NULL;",
    );
    let explained = s.wasmill(&["explain", "job.sql"]).expect_code(0).stdout;
    assert!(explained.contains("pushed down: n >= 18 AND k IN ('b', 'c') AND v IS NOT NULL"), "{explained}");
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    let mut rows: Vec<&str> = run.stdout.lines().collect();
    rows.sort_unstable();
    assert_eq!(rows, ["{\"n\":18,\"v\":\"b18\"}", "{\"n\":19,\"v\":\"b19\"}"]);
    assert_eq!(run.operator("Source: k").count("read"), 2, "Kudu applies the conditions");
}

#[test]
fn a_value_of_a_wider_column_that_does_not_fit_is_refused_by_itself() {
    let kudu = Kudu::shared();
    let table = kudu.table("wide", &["id INT64", "v INT64?"], 1);
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1,\"v\":5}\n{\"id\":2,\"v\":3000000000}\n{\"id\":3,\"v\":null}\n");
    s.write(
        "write.sql",
        file("f", "id BIGINT, v BIGINT", "in.jsonl")
            + &flink(&kudu, "k", "id BIGINT, v BIGINT", &table, "")
            + "INSERT INTO k SELECT * FROM f;",
    );
    s.wasmill(&["run", "write.sql"]).expect_code(0);
    s.write(
        "read.sql",
        dt(&kudu, "k", "id int, v int", &table, "")
            + "CREATE TABLE o (id INT, v INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM k;",
    );
    let run = s.wasmill(&["run", "read.sql"]).expect_code(0);
    let mut rows: Vec<&str> = run.stdout.lines().collect();
    rows.sort_unstable();
    assert_eq!(rows, ["{\"id\":1,\"v\":5}", "{\"id\":3,\"v\":null}"]);
    run.expect_stderr("column v").expect_stderr("3000000000");
}

#[test]
fn a_cluster_with_kerberos_is_used_with_a_keytab_and_says_what_is_wrong_without() {
    let kdc = wasmill_tests::services::service("WASMILL_KDC");
    let cluster = wasmill_tests::services::KuduCluster::start(&[("KUDU_KDC", &kdc)]);
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1,\"v\":\"a\"}\n");
    let table = unique("secret");
    let job = |login: &str| {
        file("f", "id INT, v STRING", "in.jsonl")
            + &format!(
                "CREATE TABLE k (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kudu', \
                 'kudu.masters' = '{}', 'kudu.table' = '{table}', 'kudu.operation-timeout' = '10 s'{login});\n",
                cluster.master()
            )
            + "INSERT INTO k SELECT id, v FROM f;"
    };
    let login = |user: &str| {
        format!(
            ", 'kudu.principal' = '{user}@WASMILL.TEST', 'kudu.keytab' = '{kdc}/{user}.keytab', \
             'kudu.krb5conf' = '{kdc}/krb5.conf'"
        )
    };
    s.write("job.sql", job(&login("alice")));
    s.wasmill(&["run", "job.sql"]).expect_code(0).expect_balanced();
    s.wasmill(&["check", "--connect", "job.sql"]).expect_code(0);
    s.write("job.sql", job(&login("mallory")));
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("mallory@WASMILL.TEST");
    s.write("job.sql", job(""));
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("principal, keytab and krb5conf");
    s.write("job.sql", job(&login("alice")).replace(&format!(", 'kudu.krb5conf' = '{kdc}/krb5.conf'"), ""));
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("krb5conf is missing");
}

/// Three tablet servers, each row on all of them; one is killed while rows are written, and comes back.
#[test]
fn a_tablet_server_that_dies_under_load_costs_no_row() {
    let cluster = wasmill_tests::services::KuduCluster::start(&[("KUDU_TSERVERS", "3")]);
    let kudu = Kudu { master: cluster.master() };
    let (s, rows) = (Sandbox::new(), 300_000);
    let table = unique("failover");
    s.write("in.jsonl", (0..rows).map(|n| format!("{{\"id\":{n},\"v\":{}}}\n", n % 1000)).collect::<String>());
    s.write(
        "job.sql",
        file("f", "id INT, v INT", "in.jsonl")
            + &flink(
                &kudu,
                "k",
                "id INT, v INT, PRIMARY KEY (id) NOT ENFORCED",
                &table,
                ", 'kudu.replicas' = '3', 'kudu.hash-partition-nums' = '4', 'kudu.max-buffer-size' = '200'",
            )
            + "INSERT INTO k SELECT id, v FROM f;",
    );
    let args = ["run", "job.sql"];
    let mut command = s.command(&args);
    let child = command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let child = child.stderr(std::process::Stdio::piped()).spawn().expect("wasmill starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    cluster.tell(&["kill-tserver", "1"]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    cluster.tell(&["restart-tserver", "1"]);
    let run = wasmill_tests::finish(child, &args).expect_code(0);
    run.expect_balanced();
    assert_eq!(run.operator("Sink: k").count("written"), rows);
    // The one that came back may be behind for a while: its leader is asked.
    let asked = [table.as_str(), "-row_count_only=true", "-report_scanner_stats=false", "-replica_selection=LEADER"];
    let counted = kudu.tool("table", "scan", &asked);
    assert!(counted.contains(&format!("Total count {rows} ")), "{counted}");
}
