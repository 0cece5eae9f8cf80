//! The command line: what check and run say before anything runs, and exit codes.

use wasmill_tests::Sandbox;

const KAFKA_TO_JDBC: &str = r#"
CREATE TABLE src(id BIGINT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='host:9092',
  'format'='json', 'properties.sasl.jaas.config'='org.x required username="u" password="hush1";',
  'properties.ssl.key.password'='hush2');
CREATE TABLE sink(id BIGINT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://u:hush3@host/d?password=hush4&a=b',
  'table-name'='x', 'username'='me', 'password'='hush5');
CREATE TABLE old(id bigint) WITH (type='mysql', url='jdbc:mysql://ip:3306/d?user=u&password=hush6', userName='u',
  password='hush7', tableName='t');
CREATE TABLE legacy(id BIGINT) WITH ('connector.type'='jdbc', 'connector.url'='jdbc:mysql://host/d',
  'connector.table'='t', 'connector.username'='u', 'connector.password'='hush8');
"#;

#[test]
fn check_shows_no_secret_in_any_form_and_makes_no_connection() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        KAFKA_TO_JDBC.to_string() + "CREATE TABLE k(a INT) WITH ('connector'='jdbc', 'old.password'='hush9');",
    );
    let run = s.wasmill(&["check", "job.sql"]).expect_code(2);
    assert!(run.stdout.contains("username = me") && run.stdout.contains("password = ******"), "{}", run.stdout);
    assert!(run.stdout.contains("jdbc:mysql://u:******@host/d?password=******&a=b"), "{}", run.stdout);
    for n in 1..=9 {
        let secret = format!("hush{n}");
        assert!(
            !run.stdout.contains(&secret) && !run.stderr.contains(&secret),
            "{secret}:\n{}{}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn check_accepts_a_script_without_insert_and_with_placeholder_hosts() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE k(id int)WITH(type='kafka10', bootstrapServers='ip1:port,ip2:port', topic='topicName');\n\
         CREATE TABLE d(id int, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)WITH(type='kudu', kuduMasters='ip1,ip2,ip3', \
         tableName='impala::default.t', cache='LRU');",
    );
    let run = s.wasmill(&["check", "job.sql"]).expect_code(0);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("table k\n") && run.stdout.contains("table d\n"), "{}", run.stdout);
    s.wasmill(&["explain", "job.sql"]).expect_code(0);
}

#[test]
fn run_without_insert_is_the_users_error() {
    let s = Sandbox::new();
    s.write("job.sql", "CREATE TABLE t(a INT) WITH ('connector'='print');");
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("no INSERT, so there is nothing to run");
    for (name, text) in [("empty.sql", ""), ("comment.sql", "-- nothing\n/* at all */ ;;\n")] {
        s.write(name, text);
        s.wasmill(&["check", name]).expect_code(0);
        s.wasmill(&["run", name]).expect_code(2).expect_stderr("no INSERT");
    }
}

#[test]
fn wrong_arguments_exit_2_and_are_named() {
    let s = Sandbox::new();
    s.write("job.sql", KAFKA_TO_JDBC);
    for (args, text) in [
        (&["run", "job.sql", "--bogus"][..], "unexpected argument '--bogus'"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["check"], "<JOB>"),
        (&["check", "job.sql", "--set", "parallelism.default"], "expected the form KEY=VALUE"),
        (&["check", "job.sql", "--set", "=1"], "expected the form KEY=VALUE"),
        (&["check", "job.sql", "--set", "paralelism.default=2"], "did you mean 'parallelism.default'?"),
        (&["check", "job.sql", "--set", "parallelism.default=0"], "expected a number from 1 to 1024"),
        (&["check", "job.sql", "--set", "parallelism.default=two"], "expected a number from 1 to 1024"),
        (&["check", "job.sql", "--set", "table.local-time-zone=Mars/Base"], "expected a zone"),
        (&["check", "job.sql", "--stand-in", "src"], "there is no '='"),
        (&["check", "job.sql", "--stand-in", "=x.jsonl"], "there is no table"),
        (&["check", "job.sql", "--stand-in", "src="], "there is no path"),
        (&["check", "job.sql", "--stand-in", "Src=x.jsonl"], "--stand-in Src: the job declares no such table"),
        (&["check", "job.sql", "--plugins", "missing.toml"], "missing.toml"),
        (&["check", "nowhere.sql"], "cannot read job file nowhere.sql"),
        (&["check", "."], "cannot read job file ."),
    ] {
        s.wasmill(args).expect_code(2).expect_stderr(text);
    }
}

#[test]
fn the_same_stand_in_twice_is_refused() {
    let s = Sandbox::new();
    s.write("job.sql", KAFKA_TO_JDBC);
    let run = s.wasmill(&["check", "job.sql", "--stand-in", "src=a.jsonl", "--stand-in", "src=b.jsonl"]);
    run.expect_code(2).expect_stderr("src");
}

#[test]
fn flags_win_over_set_in_the_file_and_both_names_of_a_setting_work() {
    let s = Sandbox::new();
    s.write("job.sql", "SET 'parallelism.default' = '2';\nSET table.local-time-zone = 'Asia/Shanghai';");
    let first = |args: &[&str]| s.wasmill(args).expect_code(0).stdout.lines().next().unwrap_or_default().to_string();
    assert_eq!(first(&["check", "job.sql"]), "job job: parallelism 2, time zone Asia/Shanghai");
    assert_eq!(
        first(&["check", "job.sql", "--set", "sql.env.parallelism=3", "--set", "table.local-time-zone=UTC"]),
        "job job: parallelism 3, time zone UTC"
    );
}

#[test]
fn what_check_refuses_run_refuses_with_the_same_messages() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE t(a INT, b NOPE) WITH ('connector'='print');\n\
         CREATE TABLE u(a INT) WITH ('connector'='filesystem', 'path'='x', 'format'='json', 'nope'='1');\n\
         CREATE TABLE v(a INT) WITH ('connector'='print');\n\
         INSERT INTO v SELECT FROB(a) FROM u;\nINSERT INTO v SELECT c FROM v;\nINSERT INTO v SELECT 1 +;\n",
    );
    let check = s.wasmill(&["check", "job.sql"]).expect_code(2);
    let run = s.wasmill(&["run", "job.sql"]).expect_code(2);
    let explain = s.wasmill(&["explain", "job.sql"]).expect_code(2);
    assert_eq!(check.stderr, run.stderr);
    assert_eq!(check.stderr, explain.stderr);
    assert_eq!(run.stdout, "");
    for place in ["job.sql:1:25: error", "job.sql:2:84: error", "job.sql:6:25: error"] {
        assert!(check.stderr.contains(place), "{place}:\n{}", check.stderr);
    }
}

#[test]
fn a_table_of_a_connector_that_is_not_here_needs_a_stand_in_and_is_named() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE src(id BIGINT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', \
         'format'='json');\nCREATE TABLE sink(id BIGINT) WITH ('connector'='redis', 'host'='h');\n\
         INSERT INTO sink SELECT id FROM src;",
    );
    s.write("in.jsonl", "{\"id\":1}\n");
    let run = s.wasmill(&["run", "job.sql", "--stand-in", "src=in.jsonl"]).expect_code(2);
    let run = run.expect_stderr("error[E0210]: table sink is of connector redis").expect_stderr("--stand-in sink=PATH");
    assert!(!run.stderr.contains("src (kafka)"), "{}", run.stderr);
    s.wasmill(&["run", "--quiet", "job.sql", "--stand-in", "src=in.jsonl", "--stand-in", "sink=-"]).expect_code(0);
}

#[test]
fn a_job_file_that_is_no_text_is_refused_and_a_byte_order_mark_and_crlf_are_not() {
    let s = Sandbox::new();
    s.write("bad.sql", b"-- fine\nCREATE TABLE \xff\xfe".as_slice());
    s.wasmill(&["run", "bad.sql"]).expect_code(2).expect_stderr("line 2 is not UTF-8");
    s.write("nul.sql", "CREATE TABLE t\0(a INT) WITH ('connector'='print');");
    s.wasmill(&["check", "nul.sql"]).expect_code(2).expect_stderr("nul.sql:1:15: error");
    s.write("in.jsonl", "{\"a\":1}\n");
    s.write(
        "bom.sql",
        "\u{feff}CREATE TABLE i(a INT)\r\nWITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\r\n\
         CREATE TABLE o(a INT) WITH ('connector'='print'); -- end\r\nINSERT INTO o\r\nSELECT a FROM i;\r\n",
    );
    assert_eq!(s.wasmill(&["run", "bom.sql"]).expect_code(0).stdout, "{\"a\":1}\n");
    s.write("places.sql", "\u{feff}CREATE TABLE o(a INTT)\r\nWITH ('connector'='prnt');");
    let run = s.wasmill(&["check", "places.sql"]).expect_code(2);
    run.expect_stderr("places.sql:1:18: error[E0601]");
}

#[test]
fn quiet_prints_errors_only() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n");
    s.write(
        "job.sql",
        "CREATE TABLE i(a int)WITH(type='file', fileName='in.jsonl', format='json', unknownThing='1');\n\
         CREATE TABLE o(a int)WITH(type='console');\nINSERT INTO o SELECT a FROM i;",
    );
    let run = s.wasmill(&["run", "job.sql", "--quiet"]).expect_code(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{\"a\":1}\n", ""));
    s.write("bad.sql", "CREATE TABLE i(a NOPE)WITH('connector'='print');");
    s.wasmill(&["run", "bad.sql", "--quiet"]).expect_code(2).expect_stderr("unknown type NOPE");
}

#[test]
fn with_log_json_every_line_on_stderr_is_an_object() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\nno json\n");
    let job = |select: &str| {
        format!(
            "CREATE TABLE src(a int)WITH(type='file', fileName='in.jsonl', format='json', nothing='x');\n\
             CREATE TABLE o(a int)WITH(type='console');\nINSERT INTO o SELECT {select} FROM src;\n"
        )
    };
    let lines = |run: &wasmill_tests::Run| -> Vec<serde_json::Value> {
        let object = |l: &str| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}\n{}", run.stderr));
        run.stderr.lines().map(object).collect()
    };
    s.write("job.sql", job("a"));
    let run = s.wasmill(&["run", "job.sql", "--log", "json"]).expect_code(0);
    let all = lines(&run);
    assert!(all.iter().all(|l| l["timestamp"].is_string() && l["level"].is_string() && l["message"].is_string()));
    let warning = all.iter().find(|l| l["code"] == "W0301").expect("the unknown option");
    assert_eq!((&warning["file"], &warning["line"]), (&"job.sql".into(), &1.into()));
    assert!(
        all.iter().any(|l| l["level"] == "WARN" && l["message"].as_str().is_some_and(|m| m.contains("dead letter")))
    );
    let end = all.last().expect("the summary");
    assert_eq!((&end["message"], &end["rows_in"], &end["dead"]), (&"finished".into(), &2.into(), &1.into()));
    assert_eq!((&end["operators"][0]["name"], &end["operators"][0]["decoded"]), (&"Source: src".into(), &1.into()));
    s.write("job.sql", job("b"));
    let all = lines(&s.wasmill(&["run", "job.sql", "--log", "json"]).expect_code(2));
    assert!(all.iter().any(|l| l["code"] == "E0403" && l["line"] == 3 && l["column"].is_u64()), "{all:?}");
    let all = lines(&s.wasmill(&["run", "nowhere.sql", "--log", "json"]).expect_code(2));
    assert_eq!(all.len(), 1);
    assert_eq!(all[0]["level"], "ERROR");
}
