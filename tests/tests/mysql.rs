//! Jobs against a real MariaDB: what they write and read, its own client sees, too.

use std::process::Stdio;
use std::time::{Duration, Instant};
use wasmill_tests::services::{MySql, PrivateService, Proxy, service, unique, wait_until};
use wasmill_tests::{Run, Sandbox, finish};

const WHO: &str = "'username'='wasmill', 'password'='wasmill-secret'";

/// A file of rows and a sink of flinkStreamSQL; `options` go into the sink.
fn dtstack(s: &Sandbox, columns: &str, url: &str, table: &str, options: &str) {
    let plain = columns.split(", primary key").next().expect("columns");
    let names: Vec<&str> = plain.split(", ").filter_map(|c| c.split(' ').next()).collect();
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src({plain}) WITH (type='file', path='in.jsonl', format='json');\n\
             CREATE TABLE sink({columns}) WITH (type='mysql', url='{url}', userName='wasmill', \
             password='wasmill-secret', tableName='{table}'{options});\nINSERT INTO sink SELECT {} FROM src;",
            names.join(", ")
        ),
    );
}

fn flink(s: &Sandbox, columns: &str, sink_columns: &str, db: &MySql, table: &str, options: &str) {
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src({columns}) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE sink({sink_columns}) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{table}'{options});\n\
             INSERT INTO sink SELECT * FROM src;",
            db.jdbc_url()
        ),
    );
}

pub fn table(db: &MySql, prefix: &str, columns: &str) -> String {
    let name = unique(prefix);
    db.query(&format!("CREATE TABLE {name} ({columns})"));
    name
}

fn run(s: &Sandbox) -> Run {
    s.wasmill(&["run", "job.sql"])
}

/// A running job whose input stays open (standard input).
pub struct Fed {
    child: std::process::Child,
    input: std::process::ChildStdin,
}

impl Fed {
    pub fn start(s: &Sandbox, args: &[&str]) -> Self {
        let mut child = s
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wasmill starts");
        let input = child.stdin.take().expect("piped");
        Self { child, input }
    }
    pub fn line(&mut self, line: &str) {
        use std::io::Write;
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).expect("the job reads");
    }
    pub fn end(self) -> Run {
        drop(self.input);
        finish(self.child, &["run"])
    }
}

#[track_caller]
pub fn wait_for_rows(db: &MySql, sql: &str, expected: &[&str]) {
    let found = wait_until(Duration::from_secs(30), || {
        let rows = db.query(sql);
        (rows == expected).then_some(())
    });
    assert!(found.is_some(), "{sql}: {:?}, not {expected:?}", db.query(sql));
}

#[test]
fn b17_the_sample_of_the_mysql_page_runs_into_the_table_that_it_prints() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "myresult", "channel varchar(255), pv varchar(11)");
    let job = std::fs::read_to_string(wasmill_tests::root().join("jobs/dtstack/mysql_sink.sql")).expect("the job");
    let job = job
        .replace("jdbc:mysql://172.16.10.134:3306/test", &db.jdbc_url())
        .replace("userName ='dtstack'", "userName ='wasmill'")
        .replace("password ='abc123'", "password ='wasmill-secret'")
        .replace("tableName ='myresult'", &format!("tableName ='{name}'"));
    s.write("job.sql", job);
    s.write("in.jsonl", r#"{"id":1,"channel":"aa","pv":"mq6","xctime":"0","name":"n"}"#);
    s.wasmill(&["run", "job.sql", "--stand-in", "MyTable=in.jsonl"]).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT channel, pv FROM {name}")), ["aa\tmq6"]);
}

#[test]
fn b89_a_later_row_of_the_same_key_wins_whatever_all_replace_says() {
    for all_replace in ["true", "false"] {
        let (s, db) = (Sandbox::new(), MySql::shared());
        let name = table(&db, "b89", "id int primary key, v varchar(20)");
        s.write("in.jsonl", "{\"id\":1,\"v\":\"a\"}\n{\"id\":1,\"v\":\"b\"}\n");
        let options = format!(", allReplace='{all_replace}'");
        dtstack(&s, "id int, v varchar, primary key (id)", &db.jdbc_url(), &name, &options);
        let run = run(&s).expect_code(0);
        assert_eq!(run.operator("Sink: sink").count("written"), 2);
        assert_eq!(db.query(&format!("SELECT * FROM {name}")), ["1\tb"]);
    }
}

#[test]
fn b90_null_keeps_the_old_value_unless_all_replace_is_set() {
    for (options, expected) in [
        ("", "1\ta\ty\tkept"),
        (", allReplace='true'", "1\tNULL\ty\tkept"),
        (", nullPolicy='overwrite'", "1\tNULL\ty\tkept"),
        (", allReplace='true', nullPolicy='keep'", "1\ta\ty\tkept"),
    ] {
        let (s, db) = (Sandbox::new(), MySql::shared());
        let name = table(&db, "b90", "id int primary key, a varchar(20), b varchar(20), other varchar(20)");
        db.query(&format!("INSERT INTO {name} VALUES (1, 'a', 'x', 'kept')"));
        s.write("in.jsonl", "{\"id\":1,\"a\":null,\"b\":\"y\"}\n");
        dtstack(&s, "id int, a varchar, b varchar, primary key (id)", &db.jdbc_url(), &name, options);
        run(&s).expect_code(0);
        assert_eq!(db.query(&format!("SELECT * FROM {name}")), [expected], "{options}");
    }
}

#[test]
fn where_null_keeps_the_rows_of_one_flush_are_put_together() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "keep", "id int primary key, a varchar(20), b varchar(20)");
    s.write("in.jsonl", "{\"id\":1,\"a\":\"x\",\"b\":null}\n{\"id\":1,\"a\":null,\"b\":\"y\"}\n");
    dtstack(&s, "id int, a varchar, b varchar, primary key (id)", &db.jdbc_url(), &name, "");
    run(&s).expect_code(0);
    assert_eq!(db.query(&format!("SELECT * FROM {name}")), ["1\tx\ty"]);
}

#[test]
fn b93_one_long_value_is_dirty_and_the_rows_beside_it_are_stored() {
    let db = MySql::shared();
    for (options, code, stored, dead) in [
        (", errorLimit='1'", 0, vec!["a\tshort", "c\tshort"], 1),
        (", errorLimit='0'", 3, vec![], 0),
        // A database has this limit if nobody says anything.
        ("", 3, vec![], 0),
        (", errorLimit='-1'", 0, vec!["a\tshort", "c\tshort"], 1),
    ] {
        let s = Sandbox::new();
        let name = table(&db, "b93", "channel varchar(255), pv varchar(11)");
        let lines = ["short", "much too long a value", "short"].iter().zip(["a", "b", "c"]);
        s.write(
            "in.jsonl",
            lines.map(|(pv, c)| format!("{{\"channel\":\"{c}\",\"pv\":\"{pv}\"}}\n")).collect::<String>(),
        );
        dtstack(&s, "channel varchar, pv varchar", &db.jdbc_url(), &name, options);
        let run =
            run(&s).expect_code(code).expect_stderr("Data too long for column 'pv'").expect_stderr("in.jsonl line 2");
        let rows = db.query(&format!("SELECT * FROM {name} ORDER BY channel"));
        match code {
            0 => assert_eq!(
                (rows, run.expect_balanced().operator("Sink: sink").count("dead")),
                (stored.iter().map(|r| r.to_string()).collect(), dead)
            ),
            // The rows before the bad one are there.
            _ => assert_eq!(rows.first().map(String::as_str), Some("a\tshort")),
        }
    }
}

#[test]
fn bad_rows_in_a_large_batch_are_found_without_writing_any_row_twice() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "bisect", "id int, v varchar(5)");
    let bad = [0, 17, 18, 999, 2999];
    let lines =
        (0..3000).map(|i| format!("{{\"id\":{i},\"v\":\"{}\"}}\n", if bad.contains(&i) { "too long" } else { "v" }));
    s.write("in.jsonl", lines.collect::<String>());
    flink(&s, "id INT, v STRING", "id INT, v STRING", &db, &name, ", 'sink.buffer-flush.max-rows'='1000'");
    s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT COUNT(*), COUNT(DISTINCT id) FROM {name}")), ["2995\t2995"]);
    let lines: Vec<u64> = s.json_lines("dead.jsonl").iter().filter_map(|d| d["origin"]["line"].as_u64()).collect();
    assert_eq!(lines, bad.map(|i| i as u64 + 1));
}

#[test]
fn values_out_of_range_are_refused_never_cut() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "range", "i int, t tinyint unsigned, d decimal(5,2), e enum('a','b')");
    let rows = [
        "{\"i\":1,\"t\":255,\"d\":999.99,\"e\":\"a\"}",
        "{\"i\":3000000000,\"t\":1,\"d\":1,\"e\":\"a\"}",
        "{\"i\":1,\"t\":-1,\"d\":1,\"e\":\"a\"}",
        "{\"i\":1,\"t\":1,\"d\":1000,\"e\":\"a\"}",
        "{\"i\":1,\"t\":1,\"d\":1,\"e\":\"c\"}",
    ];
    s.write("in.jsonl", rows.join("\n"));
    let columns = "i BIGINT, t INT, d DECIMAL(20,2), e STRING";
    flink(&s, columns, columns, &db, &name, "");
    s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT * FROM {name}")), ["1\t255\t999.99\ta"]);
    let columns: Vec<String> = s.json_lines("dead.jsonl").iter().map(|d| d["column"].to_string()).collect();
    assert_eq!(columns, ["\"i\"", "\"t\"", "\"d\"", "\"e\""]);
}

#[test]
fn b94_a_connection_that_the_server_closed_while_idle_loses_no_row() {
    let db = MySql::shared();
    let s = Sandbox::new();
    let name = table(&db, "b94", "id int, v varchar(20)");
    let proxy = Proxy::to(&db.address);
    // Not a single retry: the connection is asked before it is used.
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT, v STRING) WITH ('connector'='kafka', 'topic'='t', \
             'properties.bootstrap.servers'='h:1', 'format'='json');\n\
             CREATE TABLE sink(id INT, v STRING) WITH ('connector'='jdbc', 'url'='jdbc:mysql://{}/test', {WHO}, \
             'table-name'='{name}', 'sink.buffer-flush.max-rows'='1', 'sink.max-retries'='0');\n\
             INSERT INTO sink SELECT id, v FROM src;",
            proxy.address
        ),
    );
    let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    job.line("{\"id\":1,\"v\":\"a\"}");
    wait_for_rows(&db, &format!("SELECT id FROM {name}"), &["1"]);
    // The connection counts as idle after a second.
    std::thread::sleep(Duration::from_millis(1200));
    proxy.cut();
    job.line("{\"id\":2,\"v\":\"b\"}");
    wait_for_rows(&db, &format!("SELECT id FROM {name} ORDER BY id"), &["1", "2"]);
    let run = job.end().expect_code(0);
    assert_eq!(run.operator("Sink: sink").count("retries"), 0);
}

#[test]
fn b95_max_retries_0_is_one_attempt_and_batch_size_0_is_one_row() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b95", "id int");
    s.write("in.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    dtstack(&s, "id int", &db.jdbc_url(), &name, ", batchSize='0'");
    assert_eq!(run(&s).expect_code(0).operator("Sink: sink").count("written"), 3);
    assert!(run(&s).stderr.contains("3 flushes"));
    flink(
        &s,
        "id INT",
        "id INT",
        &db,
        &name,
        ", 'sink.max-retries'='0', 'sink.buffer-flush.interval'='0', 'sink.buffer-flush.max-rows'='0'",
    );
    assert!(run(&s).expect_code(0).stderr.contains("1 flushes"));
    let gone = "jdbc:mysql://127.0.0.1:1/test";
    flink(&s, "id INT", "id INT", &db, &name, ", 'sink.max-retries'='0'");
    s.write("job.sql", s.read("job.sql").replace(&db.jdbc_url(), gone));
    let started = Instant::now();
    let run = run(&s).expect_code(3).expect_stderr("127.0.0.1:1");
    assert!(!run.stderr.contains("tried again"), "{}", run.stderr);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn b96_unsigned_integers_come_exactly() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b96", "id int primary key, b bigint unsigned, i int unsigned");
    db.query(&format!("INSERT INTO {name} VALUES (1, 18446744073709551615, 4294967295)"));
    s.write("in.jsonl", "{\"id\":1}\n");
    for cache in ["NONE", "LRU", "ALL"] {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id int) WITH (type='file', path='in.jsonl', format='json');\n\
                 CREATE TABLE dim(id int, b decimal(20,0), i bigint, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME) WITH \
                 (type='mysql', url='{}', userName='wasmill', password='wasmill-secret', tableName='{name}', cache='{cache}');\n\
                 CREATE TABLE o(b decimal(20,0), i bigint) WITH (type='console');\n\
                 INSERT INTO o SELECT d.b, d.i FROM src s JOIN dim d ON s.id = d.id;",
                db.jdbc_url()
            ),
        );
        let run = run(&s).expect_code(0);
        assert_eq!(run.stdout, "{\"b\":18446744073709551615,\"i\":4294967295}\n", "{cache}");
    }
}

#[test]
fn b97_wrong_declarations_are_refused_without_a_secret() {
    let s = Sandbox::new();
    let job = |columns: &str, options: &str| {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id int) WITH (type='file', path='in.jsonl', format='json');\nCREATE TABLE sink({columns}) \
                 WITH (type='mysql', url='jdbc:mysql://h/d?password=hush1', userName='u', tableName='t'{options});\n\
                 INSERT INTO sink SELECT id FROM src;"
            ),
        );
        let run = s.wasmill(&["check", "job.sql"]).expect_code(2);
        assert!(!run.stderr.contains("hush"), "{}", run.stderr);
        run
    };
    let password = ", password='hush2'";
    job("id int", &format!("{password}, updateMode='upsert'")).expect_stderr("UPSERT needs a PRIMARY KEY");
    job("id int, primary key (x)", password).expect_stderr("key column x");
    job("id int", &format!("{password}, batchSize='10001'")).expect_stderr("from 0 to 10000");
    job("id int", "").expect_stderr("password");
}

#[test]
fn b109_a_bad_row_is_told_by_the_timed_flush_and_the_timer_goes_on() {
    let db = MySql::shared();
    for (limit, fails) in [("0", true), ("5", false)] {
        let s = Sandbox::new();
        let name = table(&db, "b109", "id int, v varchar(5)");
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id int, v varchar) WITH (type='kafka', bootstrapServers='h:1', topic='t');\n\
                 CREATE TABLE sink(id int, v varchar) WITH (type='mysql', url='{}', userName='wasmill', \
                 password='wasmill-secret', tableName='{name}', batchSize='100', batchWaitInterval='1000', errorLimit='{limit}');\n\
                 INSERT INTO sink SELECT id, v FROM src;",
                db.jdbc_url()
            ),
        );
        let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
        job.line("{\"id\":1,\"v\":\"too long\"}");
        if fails {
            // The input stays open: only the timer can end the job.
            let Fed { child, input } = job;
            finish(child, &["run"]).expect_code(3).expect_stderr("Data too long");
            drop(input);
            continue;
        }
        job.line("{\"id\":2,\"v\":\"ok\"}");
        wait_for_rows(&db, &format!("SELECT id FROM {name}"), &["2"]);
        job.line("{\"id\":3,\"v\":\"ok\"}");
        wait_for_rows(&db, &format!("SELECT id FROM {name} ORDER BY id"), &["2", "3"]);
        assert_eq!(job.end().expect_code(0).operator("Sink: sink").count("dead"), 1);
    }
}

#[test]
fn a_server_that_is_killed_during_the_job_is_waited_for() {
    let private = PrivateService::start("mariadb");
    let db = MySql { address: private.get("WASMILL_MYSQL") };
    let s = Sandbox::new();
    db.query("CREATE TABLE t (id int primary key)");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id int) WITH (type='kafka', bootstrapServers='h:1', topic='t');\n\
             CREATE TABLE sink(id int, primary key (id)) WITH (type='mysql', url='{}', userName='wasmill', \
             password='wasmill-secret', tableName='t', batchSize='1', connectRetryMaxNum='20');\n\
             INSERT INTO sink SELECT id FROM src;",
            db.jdbc_url()
        ),
    );
    let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    job.line("{\"id\":1}");
    wait_for_rows(&db, "SELECT id FROM t", &["1"]);
    private.kill();
    job.line("{\"id\":2}");
    private.restart();
    wait_for_rows(&db, "SELECT id FROM t ORDER BY id", &["1", "2"]);
    let run = job.end().expect_code(0);
    assert!(run.operator("Sink: sink").count("written") == 2, "{}", run.stderr);
}

#[test]
fn connections_that_break_in_the_middle_of_flushes_lose_no_row() {
    let db = MySql::shared();
    let (s, proxy) = (Sandbox::new(), Proxy::to(&db.address));
    let name = table(&db, "cuts", "id int primary key, v varchar(200)");
    let value = "x".repeat(150);
    s.write("in.jsonl", (0..60_000).map(|i| format!("{{\"id\":{i},\"v\":\"{value}\"}}\n")).collect::<String>());
    let url = format!("jdbc:mysql://{}/test", proxy.address);
    dtstack(&s, "id int, v varchar, primary key (id)", &url, &name, ", batchSize='500', connectRetryMaxNum='10'");
    let child = s
        .command(&["run", "job.sql"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wasmill starts");
    // A flush is under way nearly all the time.
    for rows in [2_000, 20_000] {
        let count = format!("SELECT COUNT(*) > {rows} FROM {name}");
        wait_until(Duration::from_secs(60), || (db.query(&count) == ["1"]).then_some(())).expect("rows come");
        proxy.cut();
    }
    let run = finish(child, &["run"]).expect_code(0);
    run.expect_balanced();
    assert!(run.operator("Sink: sink").count("retries") > 0, "{}", run.stderr);
    assert_eq!(db.query(&format!("SELECT COUNT(*) FROM {name}")), ["60000"]);
}

#[test]
fn a_job_ends_when_the_server_stays_away() {
    let db = MySql::shared();
    let (s, proxy) = (Sandbox::new(), Proxy::to(&db.address));
    let name = table(&db, "away", "id int");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', \
             'format'='json');\nCREATE TABLE sink(id INT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://{}/test', {WHO}, \
             'table-name'='{name}', 'sink.buffer-flush.max-rows'='1', 'sink.max-retries'='1');\n\
             INSERT INTO sink SELECT id FROM src;",
            proxy.address
        ),
    );
    let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    job.line("{\"id\":1}");
    wait_for_rows(&db, &format!("SELECT id FROM {name}"), &["1"]);
    proxy.refuse(true);
    job.line("{\"id\":2}");
    let Fed { child, input } = job;
    finish(child, &["run"]).expect_code(3).expect_stderr("after 2 attempts").expect_stderr(&name);
    drop(input);
}

#[test]
fn a_table_that_is_dropped_while_the_job_runs_is_named() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "dropped", "id int");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', \
             'format'='json');\nCREATE TABLE sink(id INT) WITH ('connector'='jdbc', 'url'='{}', {WHO}, \
             'table-name'='{name}', 'sink.buffer-flush.max-rows'='1');\nINSERT INTO sink SELECT id FROM src;",
            db.jdbc_url()
        ),
    );
    let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    job.line("{\"id\":1}");
    wait_for_rows(&db, &format!("SELECT id FROM {name}"), &["1"]);
    db.query(&format!("DROP TABLE {name}"));
    job.line("{\"id\":2}");
    let Fed { child, input } = job;
    finish(child, &["run"]).expect_code(3).expect_stderr("doesn't exist").expect_stderr(&name);
    drop(input);
}

#[test]
fn what_does_not_fit_is_told_before_the_first_row_with_both_schemas() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "fit", "id int, d datetime, n int not null");
    s.write("in.jsonl", "");
    flink(&s, "id INT, d DOUBLE, x STRING", "id INT, d DOUBLE, x STRING", &db, &name, "");
    for command in [&["run", "job.sql"][..], &["check", "job.sql", "--connect"]] {
        s.wasmill(command)
            .expect_code(2)
            .expect_stderr("it has no column x")
            .expect_stderr("column d is DOUBLE in the job and datetime in the database")
            .expect_stderr("its column n is NOT NULL")
            .expect_stderr("job: (id INT, d DOUBLE, x STRING); database: (id int(11), d datetime, n int(11))");
    }
    flink(&s, "id INT", "id INT", &db, "no_such_table", "");
    run(&s).expect_code(2).expect_stderr("there is no table no_such_table in");
    s.write("job.sql", s.read("job.sql").replace("/test'", "/no_such_db'"));
    run(&s).expect_code(2).expect_stderr("no_such_db");
    flink(&s, "id INT", "id INT", &db, &name, "");
    s.write("job.sql", s.read("job.sql").replace("wasmill-secret", "hush"));
    let run = run(&s).expect_code(2).expect_stderr("Access denied").expect_stderr("password is wrong");
    assert!(!run.stderr.contains("hush"), "{}", run.stderr);
}

const TYPES: &str = "bo BOOLEAN, ti TINYINT, sm SMALLINT, i INT, l BIGINT, u DECIMAL(20,0), d DECIMAL(38,10), f FLOAT, \
                     x DOUBLE, s STRING, y BYTES, da DATE, t TIME(3), ts TIMESTAMP(6), lt TIMESTAMP_LTZ(3), js STRING, ye INT";
const THEIRS: &str = "bo tinyint(1), ti tinyint, sm smallint, i int, l bigint, u bigint unsigned, d decimal(38,10), \
                      f float, x double, s text, y blob, da date, t time(3), ts datetime(6), lt timestamp(3) null, \
                      js json, ye year";

#[test]
fn every_type_comes_back_as_it_was_written() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "types", &format!("id int primary key, {THEIRS}"));
    let rows = "{\"id\":1,\"bo\":true,\"ti\":-128,\"sm\":32767,\"i\":-2147483648,\"l\":9223372036854775807,\
                \"u\":18446744073709551615,\"d\":1234567890123456789012345678.0123456789,\"f\":0.1,\"x\":0.1,\
                \"s\":\"é'\\\"😀\",\"y\":\"AAH/\",\"da\":\"1969-12-31\",\"t\":\"23:59:59.5\",\
                \"ts\":\"2024-02-29 23:59:59.999999\",\"lt\":\"2024-07-01 12:00:00.5Z\",\"js\":\"{\\\"a\\\": 1}\",\"ye\":2024}\n\
                {\"id\":2,\"bo\":null,\"ti\":null,\"sm\":null,\"i\":null,\"l\":null,\"u\":null,\"d\":null,\"f\":null,\"x\":null,\
                \"s\":null,\"y\":null,\"da\":null,\"t\":null,\"ts\":null,\"lt\":null,\"js\":null,\"ye\":null}\n";
    s.write("in.jsonl", rows);
    let columns = format!("id INT, {TYPES}");
    flink(&s, &columns, &columns, &db, &name, "");
    run(&s).expect_code(0);
    let seen = db.query(&format!("SET time_zone='+00:00'; SELECT u, d, f, ts, lt, HEX(y) FROM {name} WHERE id = 1"));
    assert_eq!(
        seen,
        [
            "18446744073709551615\t1234567890123456789012345678.0123456789\t0.1\t2024-02-29 23:59:59.999999\t2024-07-01 12:00:00.500\t0001FF"
        ]
    );
    let db_table = |more: &str| {
        format!(
            "CREATE TABLE db({columns}, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='jdbc', 'url'='{}', {WHO}, \
             'table-name'='{name}'{more});\nCREATE TABLE o({columns}) WITH ('connector'='print');\n",
            db.jdbc_url()
        )
    };
    s.write("job.sql", db_table("") + "INSERT INTO o SELECT * FROM db;");
    assert_eq!(run(&s).expect_code(0).stdout, rows);
    // The same through a look-up by key.
    s.write("keys.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n");
    s.write(
        "job.sql",
        db_table("")
            + "CREATE TABLE k(id INT, p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='keys.jsonl', 'format'='json');\n\
               INSERT INTO o SELECT d.* FROM k JOIN db FOR SYSTEM_TIME AS OF k.p AS d ON k.id = d.id;",
    );
    assert_eq!(run(&s).expect_code(0).stdout, rows);
}

#[test]
fn instants_and_wall_clocks_meet_in_the_zone_of_the_url() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "zones", "id int primary key, wall datetime, instant timestamp null");
    s.write("in.jsonl", "{\"id\":1,\"wall\":\"2024-07-01 00:00:00Z\",\"instant\":\"2024-07-01 08:00:00\"}\n");
    // The other way round: the job's instant is in a wall clock's column, and the reverse.
    let columns = "id INT, wall TIMESTAMP_LTZ(0), instant TIMESTAMP(0)";
    flink(&s, columns, columns, &db, &name, "");
    let zoned = format!("{}?serverTimezone=Asia/Shanghai", db.jdbc_url());
    s.write("job.sql", s.read("job.sql").replace(&db.jdbc_url(), &zoned));
    run(&s).expect_code(0);
    let seen = db.query(&format!("SET time_zone='+00:00'; SELECT wall, instant FROM {name}"));
    assert_eq!(seen, ["2024-07-01 08:00:00\t2024-07-01 00:00:00"]);
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE db({columns}) WITH ('connector'='jdbc', 'url'='{zoned}', {WHO}, 'table-name'='{name}');\n\
             CREATE TABLE o({columns}) WITH ('connector'='print');\nINSERT INTO o SELECT * FROM db;"
        ),
    );
    assert_eq!(run(&s).expect_code(0).stdout, s.read("in.jsonl"));
}

#[test]
fn zero_dates_are_refused_or_null_or_rounded_as_the_url_says() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "zero", "id int primary key, d date, t datetime");
    db.query(&format!("SET sql_mode=''; INSERT INTO {name} VALUES (1, '0000-00-00', '0000-00-00 00:00:00'), (2, '2024-01-02', '2024-01-02 00:00:00')"));
    let job = |query: &str| {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE db(id INT, d DATE, t TIMESTAMP(0)) WITH ('connector'='jdbc', 'url'='{}{query}', {WHO}, \
                 'table-name'='{name}');\nCREATE TABLE o(id INT, d DATE, t TIMESTAMP(0)) WITH ('connector'='print');\n\
                 INSERT INTO o SELECT * FROM db;",
                db.jdbc_url()
            ),
        );
        s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0).expect_balanced().stdout.clone()
    };
    let second = "{\"id\":2,\"d\":\"2024-01-02\",\"t\":\"2024-01-02 00:00:00\"}\n";
    assert_eq!(job(""), second);
    assert!(s.json_lines("dead.jsonl")[0]["message"].to_string().contains("0000-00-00 is no date"));
    assert_eq!(job("?zeroDateTimeBehavior=convertToNull"), format!("{{\"id\":1,\"d\":null,\"t\":null}}\n{second}"));
    let rounded = "{\"id\":1,\"d\":\"0001-01-01\",\"t\":\"0001-01-01 00:00:00\"}\n";
    assert_eq!(job("?zeroDateTimeBehavior=round"), format!("{rounded}{second}"));
}

#[test]
fn a_scan_reads_every_row_once_also_in_partitions() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "scan", "id int primary key, v varchar(100)");
    db.query(&format!("INSERT INTO {name} SELECT seq, CONCAT('v', seq) FROM seq_1_to_50000"));
    let options = ", 'scan.partition.column'='id', 'scan.partition.num'='7', 'scan.partition.lower-bound'='1', \
                   'scan.partition.upper-bound'='50000'";
    for (folder, options) in [("whole", ""), ("parts", options)] {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE db(id INT, v STRING) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{name}'{options});\n\
                 CREATE TABLE o(id INT) WITH ('connector'='filesystem', 'path'='{folder}', 'format'='json');\n\
                 INSERT INTO o SELECT id FROM db;",
                db.jdbc_url()
            ),
        );
        let run = s.wasmill(&["run", "job.sql", "--set", "parallelism.default=3"]).expect_code(0);
        let source = run.operators().into_iter().find(|o| o.name.starts_with("Source")).expect("a source");
        assert_eq!(source.count("decoded"), 50_000);
        let mut ids: Vec<u64> = std::fs::read_dir(s.path(folder))
            .expect("out")
            .flatten()
            .flat_map(|f| wasmill_tests::json_lines(&std::fs::read_to_string(f.path()).expect("text")))
            .filter_map(|r| r["id"].as_u64())
            .collect();
        ids.sort_unstable();
        assert!(ids.iter().copied().eq(1..=50_000), "{} ids", ids.len());
    }
}

#[test]
fn a_lookup_asks_by_composite_key_and_matches_by_value() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "side", "a varchar(20), b decimal(10,2), v varchar(20), key (a, b)");
    db.query(&format!(
        "INSERT INTO {name} VALUES ('x', 1.50, 'one'), ('x', 1.50, 'two'), ('X', 1.5, 'other'), ('y', 2, 'y')"
    ));
    s.write(
        "in.jsonl",
        "{\"a\":\"x\",\"b\":1.5}\n{\"a\":\"y\",\"b\":2}\n{\"a\":\"z\",\"b\":2}\n{\"a\":null,\"b\":2}\n",
    );
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(a STRING, b DECIMAL(10,1), p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE dim(a STRING, b DECIMAL(10,2), v STRING) WITH ('connector'='jdbc', 'url'='{}', {WHO}, 'table-name'='{name}');\n\
             CREATE TABLE o(a STRING, v STRING) WITH ('connector'='print');\n\
             INSERT INTO o SELECT src.a, d.v FROM src LEFT JOIN dim FOR SYSTEM_TIME AS OF src.p AS d ON src.a = d.a AND src.b = d.b;",
            db.jdbc_url()
        ),
    );
    let run = run(&s).expect_code(0);
    assert_eq!(
        wasmill_tests::sorted_lines(&run.stdout),
        [
            r#"{"a":"x","v":"one"}"#,
            r#"{"a":"x","v":"two"}"#,
            r#"{"a":"y","v":"y"}"#,
            r#"{"a":"z","v":null}"#,
            r#"{"a":null,"v":null}"#
        ]
    );
}

/// A proxy stands before the server, so that the database can be away for a while.
#[test]
fn b110_a_failed_reload_of_a_whole_side_table_keeps_its_rows_and_the_next_one_brings_new_ones() {
    let db = MySql::shared();
    let (s, proxy) = (Sandbox::new(), Proxy::to(&db.address));
    let name = table(&db, "b110", "id int primary key, v varchar(20)");
    let out = table(&db, "b110_out", "n int, v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (1, 'old')"));
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id int, n int) WITH (type='kafka', bootstrapServers='h:1', topic='t');\n\
             CREATE TABLE dim(id int, v varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME) WITH (type='mysql', \
             url='jdbc:mysql://{}/test', userName='wasmill', password='wasmill-secret', tableName='{name}', cache='ALL', \
             cacheTTLMs='1000');\n\
             CREATE TABLE o(n int, v varchar) WITH (type='mysql', url='{}', userName='wasmill', password='wasmill-secret', \
             tableName='{out}', batchSize='1');\nINSERT INTO o SELECT s.n, d.v FROM src s JOIN dim d ON s.id = d.id;",
            proxy.address,
            db.jdbc_url()
        ),
    );
    let mut job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    let rows = format!("SELECT v FROM {out} ORDER BY n");
    job.line("{\"id\":1,\"n\":1}");
    wait_for_rows(&db, &rows, &["old"]);
    proxy.refuse(true);
    db.query(&format!("UPDATE {name} SET v = 'new'"));
    // Long enough that the rows are to be loaded again.
    std::thread::sleep(Duration::from_millis(1200));
    job.line("{\"id\":1,\"n\":2}");
    wait_for_rows(&db, &rows, &["old", "old"]);
    proxy.refuse(false);
    let mut n = 2;
    let seen = wait_until(Duration::from_secs(20), || {
        n += 1;
        job.line(&format!("{{\"id\":1,\"n\":{n}}}"));
        std::thread::sleep(Duration::from_millis(300));
        db.query(&rows).contains(&"new".to_string()).then_some(())
    });
    assert!(seen.is_some(), "{:?}", db.query(&rows));
    job.end().expect_code(0).expect_stderr("reload failed");
}

#[test]
fn the_legacy_dialect_appends_without_a_key_and_upserts_with_one() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "legacy", "id int primary key, v varchar(20)");
    s.write("in.jsonl", "{\"id\":1,\"v\":\"a\"}\n{\"id\":1,\"v\":null}\n");
    let job = |key: &str, more: &str| {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id INT, v STRING) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
                 CREATE TABLE sink(id INT, v STRING{key}) WITH ('connector.type'='jdbc', 'connector.url'='{}', \
                 'connector.username'='wasmill', 'connector.password'='wasmill-secret', 'connector.table'='{name}', \
                 'connector.driver'='com.mysql.jdbc.Driver', 'connector.write.flush.max-rows'='10'{more});\n\
                 INSERT INTO sink SELECT id, v FROM src;",
                db.jdbc_url()
            ),
        );
        run(&s)
    };
    job(", PRIMARY KEY (id) NOT ENFORCED", "").expect_code(0);
    assert_eq!(db.query(&format!("SELECT * FROM {name}")), ["1\tNULL"]);
    job(", PRIMARY KEY (id) NOT ENFORCED", ", 'update-mode'='append', 'on-error'='fail'")
        .expect_code(3)
        .expect_stderr("Duplicate entry '1'");
}

#[test]
fn a_key_that_the_server_does_not_know_is_warned_of() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "nokey", "id int, v varchar(20), unique key (v)");
    s.write("in.jsonl", "{\"id\":1,\"v\":\"a\"}\n");
    dtstack(&s, "id int, v varchar, primary key (id)", &db.jdbc_url(), &name, "");
    run(&s).expect_code(0).expect_stderr("PRIMARY KEY (id) is no unique key").expect_stderr("are: (v)");
}

#[test]
fn a_table_without_transactions_holds_each_good_row_once() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = unique("aria");
    db.query(&format!("CREATE TABLE {name} (id int, v varchar(3)) ENGINE=Aria"));
    let lines = (0..20).map(|i| format!("{{\"id\":{i},\"v\":\"{}\"}}\n", if i == 13 { "long" } else { "v" }));
    s.write("in.jsonl", lines.collect::<String>());
    dtstack(&s, "id int, v varchar", &db.jdbc_url(), &name, ", errorLimit='1'");
    run(&s).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT COUNT(*), COUNT(DISTINCT id) FROM {name}")), ["19\t19"]);
}

#[test]
fn two_jobs_that_lock_each_others_rows_both_finish() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "locks", "id int primary key, v int");
    let lines =
        |order: &mut dyn Iterator<Item = u32>| order.map(|i| format!("{{\"id\":{i},\"v\":{i}}}\n")).collect::<String>();
    s.write("up.jsonl", lines(&mut (0..10_000).map(|i| i % 500)));
    s.write("down.jsonl", lines(&mut (0..10_000).map(|i| 499 - i % 500)));
    let tables: String = ["up", "down"]
        .iter()
        .map(|t| {
            format!(
                "CREATE TABLE {t}(id int, v int) WITH (type='file', path='{t}.jsonl', format='json');\n\
                 CREATE TABLE {t}_sink(id int, v int, primary key (id)) WITH (type='mysql', url='{}', userName='wasmill', \
                 password='wasmill-secret', tableName='{name}');\nINSERT INTO {t}_sink SELECT id, v FROM {t};\n",
                db.jdbc_url()
            )
        })
        .collect();
    s.write("job.sql", tables);
    run(&s).expect_code(0).expect_balanced();
    assert_eq!(db.query(&format!("SELECT COUNT(*), SUM(v) FROM {name}")), ["500\t124750"]);
}

#[test]
fn tls_is_used_and_verified_as_the_url_says() {
    let db = MySql::shared();
    let ca = std::path::Path::new(&service("WASMILL_MYSQL_TLS")).join("ca.pem");
    let s = Sandbox::new();
    let name = table(&db, "tls", "v varchar(200)");
    s.write("in.jsonl", "{\"v\":\"x\"}\n");
    let job = |query: &str| {
        let url = format!("{}?{query}", db.jdbc_url());
        dtstack(&s, "v varchar", &url, &name, "");
        run(&s)
    };
    job(&format!("sslMode=VERIFY_IDENTITY&sslCa={}", ca.display())).expect_code(0);
    job(&format!("sslMode=VERIFY_CA&serverSslCert={}", ca.display())).expect_code(0);
    job("sslMode=REQUIRED").expect_code(0);
    job("useSSL=false").expect_code(0);
    // A certificate of nobody that is trusted.
    job("sslMode=VERIFY_CA").expect_code(2).expect_stderr("TLS");
}

#[test]
fn the_second_host_is_taken_where_the_first_is_away() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "hosts", "id int");
    s.write("in.jsonl", "{\"id\":1}\n");
    dtstack(&s, "id int", &format!("jdbc:mysql://127.0.0.1:1,{}/test", db.address), &name, "");
    run(&s).expect_code(0);
    assert_eq!(db.query(&format!("SELECT id FROM {name}")), ["1"]);
}
