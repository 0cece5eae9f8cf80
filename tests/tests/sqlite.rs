//! SQLite: what the job writes, another reader (Python's) finds; and the reverse.

use std::process::{Command, Stdio};
use wasmill_tests::{Sandbox, sqlite_query};

pub fn python(s: &Sandbox, script: &str) {
    let out = Command::new("python3").arg("-c").arg(script).current_dir(s.dir.path()).output().expect("python3");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

const SOURCE: &str =
    "CREATE TABLE src(a INT, b STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n";

#[test]
fn the_file_and_the_table_are_made_on_first_use_and_rows_are_appended() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":1,\"b\":null}\n");
    s.write(
        "job.sql",
        SOURCE.to_string()
            + "CREATE TABLE sink(a INT, b STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t');\n\
               INSERT INTO sink SELECT a, b FROM src;",
    );
    for n in 1..=2 {
        s.wasmill(&["run", "job.sql"]).expect_code(0).expect_balanced();
        assert_eq!(
            sqlite_query(&s.path("db.sqlite"), "SELECT COUNT(*), COUNT(b), SUM(a) FROM t"),
            format!("{} {n} {}\n", 2 * n, 2 * n)
        );
    }
}

#[test]
fn a_primary_key_makes_the_sink_an_upsert() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n{\"a\":1,\"b\":\"z\"}\n");
    s.write(
        "job.sql",
        SOURCE.to_string()
            + "CREATE TABLE sink(a INT, b STRING, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector'='sqlite', \
               'path'='db.sqlite', 'table'='t');\nINSERT INTO sink SELECT a, b FROM src;",
    );
    for _ in 0..2 {
        s.wasmill(&["run", "job.sql"]).expect_code(0);
        assert_eq!(sqlite_query(&s.path("db.sqlite"), "SELECT a, b FROM t ORDER BY a"), "1 'z'\n2 'y'\n");
    }
}

const TYPES: &str = "bo BOOLEAN, ti TINYINT, sm SMALLINT, i INT, l BIGINT, d DECIMAL(38,10), x DOUBLE, s STRING, \
                     y BYTES, da DATE, ts TIMESTAMP(3), t6 TIMESTAMP(6)";

#[test]
fn every_type_comes_back_as_it_was_written() {
    let s = Sandbox::new();
    let rows = "{\"bo\":true,\"ti\":-128,\"sm\":32767,\"i\":-2147483648,\"l\":9223372036854775807,\
                \"d\":1234567890123456789012345678.0123456789,\"x\":0.1,\"s\":\"é'\\\"\",\"y\":\"AAH/\",\
                \"da\":\"1969-12-31\",\"ts\":\"2024-02-29 23:59:59.999\",\"t6\":\"0001-01-01 00:00:00.000001\"}\n\
                {\"bo\":null,\"ti\":null,\"sm\":null,\"i\":null,\"l\":null,\"d\":null,\"x\":null,\"s\":null,\"y\":null,\
                \"da\":null,\"ts\":null,\"t6\":null}\n";
    s.write("in.jsonl", rows);
    let db = format!("CREATE TABLE db({TYPES}) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t');\n");
    s.write(
        "to.sql",
        format!(
            "CREATE TABLE src({TYPES}) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n{db}\
                 INSERT INTO db SELECT * FROM src;"
        ),
    );
    s.write(
        "back.sql",
        format!("{db}CREATE TABLE o({TYPES}) WITH ('connector'='print');\nINSERT INTO o SELECT * FROM db;"),
    );
    s.wasmill(&["run", "to.sql"]).expect_code(0);
    let run = s.wasmill(&["run", "back.sql"]).expect_code(0);
    // JSON leaves out zeros that a decimal of this scale has.
    assert_eq!(run.stdout, rows);
    let seen = sqlite_query(&s.path("db.sqlite"), "SELECT l, i, x, y, typeof(s) FROM t WHERE l IS NOT NULL");
    assert_eq!(seen, "9223372036854775807 -2147483648 0.1 b'\\x00\\x01\\xff' 'text'\n");
}

#[test]
fn a_table_that_others_made_is_read_as_source_and_as_side_table() {
    let s = Sandbox::new();
    python(
        &s,
        "import sqlite3\nc=sqlite3.connect('db.sqlite')\nc.execute('CREATE TABLE dim(id INTEGER PRIMARY KEY, name TEXT, extra BLOB)')\n\
         c.executemany('INSERT INTO dim VALUES(?,?,NULL)', [(i, 'n%d' % i) for i in range(5)])\nc.commit()",
    );
    s.write("in.jsonl", "{\"a\":1}\n{\"a\":9}\n{\"a\":null}\n");
    s.write(
        "job.sql",
        SOURCE.replace("b STRING)", "b STRING, p AS PROCTIME())")
            + "CREATE TABLE dim(id INT, name STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='dim');\n\
               CREATE TABLE sink(a INT, name STRING) WITH ('connector'='print');\n\
               INSERT INTO sink SELECT src.a, d.name FROM src LEFT JOIN dim FOR SYSTEM_TIME AS OF src.p AS d ON src.a = d.id;\n\
               INSERT INTO sink SELECT id, name FROM dim WHERE id > 3;",
    );
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    let lines = wasmill_tests::sorted_lines(&run.stdout);
    assert_eq!(
        lines,
        [r#"{"a":1,"name":"n1"}"#, r#"{"a":4,"name":"n4"}"#, r#"{"a":9,"name":null}"#, r#"{"a":null,"name":null}"#]
    );
}

#[test]
fn rows_are_looked_up_by_key_where_the_table_has_a_cache_of_keys() {
    let s = Sandbox::new();
    python(
        &s,
        "import sqlite3\nc=sqlite3.connect('db.sqlite')\nc.execute('CREATE TABLE dim(id INTEGER, d TEXT, name TEXT)')\n\
         c.executemany('INSERT INTO dim VALUES(?,?,?)', [(1,'1.5','x'),(1,'1.50','y'),(2,'2','z'),(3,'1e1','bad')])\nc.commit()",
    );
    s.write("in.jsonl", "{\"a\":1,\"d\":1.5}\n{\"a\":2,\"d\":2}\n{\"a\":9,\"d\":1.5}\n{\"a\":null,\"d\":1.5}\n");
    for cache in ["NONE", "PARTIAL", "FULL"] {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(a INT, d DECIMAL(5,1), p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', \
                 'format'='json');\n\
                 CREATE TABLE dim(id INT, d DECIMAL(5,2), name STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', \
                 'table'='dim', 'lookup.cache'='{cache}');\n\
                 CREATE TABLE sink(a INT, name STRING) WITH ('connector'='print');\n\
                 INSERT INTO sink SELECT src.a, t.name FROM src LEFT JOIN dim FOR SYSTEM_TIME AS OF src.p AS t \
                 ON src.a = t.id AND src.d = t.d;"
            ),
        );
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        assert_eq!(
            wasmill_tests::sorted_lines(&run.stdout),
            [
                r#"{"a":1,"name":"x"}"#,
                r#"{"a":1,"name":"y"}"#,
                r#"{"a":2,"name":"z"}"#,
                r#"{"a":9,"name":null}"#,
                r#"{"a":null,"name":null}"#
            ],
            "{cache}"
        );
    }
}

#[test]
fn a_missing_file_or_table_on_read_is_named_and_no_file_is_made() {
    let s = Sandbox::new();
    let job = "CREATE TABLE db(id INT) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='gone');\n\
               CREATE TABLE sink(a INT) WITH ('connector'='print');\nINSERT INTO sink SELECT id FROM db;";
    s.write("job.sql", job);
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("db.sqlite");
    assert!(!s.path("db.sqlite").exists(), "reading made a file");
    python(&s, "import sqlite3\nc=sqlite3.connect('db.sqlite')\nc.execute('CREATE TABLE other(id INT)')");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("gone");
    s.write("job.sql", job.replace("gone", "other").replace("id", "nope"));
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("nope");
    s.write(
        "db.sqlite",
        "this is no database, only text that is long enough to look at as a header of one, really. ".repeat(20),
    );
    s.write("job.sql", job);
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("db.sqlite");
}

#[test]
fn a_row_that_the_database_refuses_is_a_dead_letter_among_good_ones() {
    let s = Sandbox::new();
    python(
        &s,
        "import sqlite3\nc=sqlite3.connect('db.sqlite')\nc.execute('CREATE TABLE t(a INTEGER UNIQUE CHECK (a < 100), b TEXT NOT NULL)')",
    );
    s.write(
        "in.jsonl",
        "{\"a\":1,\"b\":\"x\"}\n{\"a\":200,\"b\":\"check\"}\n{\"a\":2,\"b\":\"y\"}\n{\"a\":1,\"b\":\"twice\"}\n{\"a\":3,\"b\":null}\n{\"a\":4,\"b\":\"z\"}\n",
    );
    let job = SOURCE.to_string()
        + "CREATE TABLE sink(a INT, b STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t');\n\
           INSERT INTO sink SELECT a, b FROM src;";
    s.write("job.sql", &job);
    let run = s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(sqlite_query(&s.path("db.sqlite"), "SELECT a, b FROM t ORDER BY a"), "1 'x'\n2 'y'\n4 'z'\n");
    let sink = run.expect_balanced().operator("Sink: sink");
    assert_eq!((sink.count("received"), sink.count("written"), sink.count("dead")), (6, 3, 3));
    let dead = s.json_lines("dead.jsonl");
    let lines: Vec<_> = dead.iter().map(|d| d["origin"]["line"].as_u64()).collect();
    assert_eq!(lines, [Some(2), Some(4), Some(5)], "{dead:?}");
    // As Flink: without an output for dead letters the job fails, and says on which record.
    let run = s.wasmill(&["run", "job.sql"]).expect_code(3);
    run.expect_stderr("in.jsonl line 1");
}

#[test]
fn two_inserts_into_one_database_do_not_lock_each_other_out() {
    let s = Sandbox::new();
    s.write("in.jsonl", (0..20_000).map(|i| format!("{{\"a\":{i},\"b\":\"x\"}}\n")).collect::<String>());
    s.write(
        "job.sql",
        SOURCE.to_string()
            + "CREATE TABLE s1(a INT, b STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t1');\n\
               CREATE TABLE s2(a INT, b STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t2');\n\
               INSERT INTO s1 SELECT a, b FROM src;\nINSERT INTO s2 SELECT a, b FROM src;\nINSERT INTO s2 SELECT -a, b FROM src;",
    );
    s.wasmill(&["run", "job.sql", "--set", "parallelism.default=2"]).expect_code(0).expect_balanced();
    let counts = sqlite_query(
        &s.path("db.sqlite"),
        "SELECT (SELECT COUNT(*) FROM t1), (SELECT COUNT(*) FROM t2), (SELECT SUM(a) FROM t2)",
    );
    assert_eq!(counts, "20000 40000 0\n");
}

#[test]
fn a_locked_database_is_waited_for_and_then_named() {
    let s = Sandbox::new();
    python(&s, "import sqlite3\nsqlite3.connect('db.sqlite').execute('CREATE TABLE t(a INT, b TEXT)')");
    s.write("in.jsonl", "{\"a\":1,\"b\":\"x\"}\n");
    s.write(
        "job.sql",
        SOURCE.to_string()
            + "CREATE TABLE sink(a INT, b STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t');\n\
               INSERT INTO sink SELECT a, b FROM src;",
    );
    // Holds the write lock until its standard input closes.
    let holder = "import sqlite3,sys\nc=sqlite3.connect('db.sqlite',isolation_level=None)\nc.execute('BEGIN EXCLUSIVE')\n\
                  print('held',flush=True)\nsys.stdin.read()\nc.execute('ROLLBACK')";
    let mut lock = Command::new("python3")
        .arg("-c")
        .arg(holder)
        .current_dir(s.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut line = String::new();
    let mut out = std::io::BufReader::new(lock.stdout.take().expect("piped"));
    std::io::BufRead::read_line(&mut out, &mut line).expect("held");
    let stdin = lock.stdin.take();
    let release = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        drop(stdin);
    });
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    release.join().expect("release");
    lock.wait().expect("python3");
    assert_eq!(sqlite_query(&s.path("db.sqlite"), "SELECT a, b FROM t"), "1 'x'\n");
}
