//! The Kafka and MySQL jobs of the documents that flinkStreamSQL's and DLI's users start from, as printed but for the
//! hosts, on real servers.

use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wasmill_tests::services::{Kafka, Kudu, MySql, wait_until};
use wasmill_tests::{Sandbox, root};

fn seed(name: &str) -> String {
    let path = root().join("tests/sql/seeds").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A job that reads from the latest offsets: it is started, and known to have resolved them, before anything is sent.
struct Job<'a> {
    sandbox: &'a Sandbox,
    child: Child,
}

impl<'a> Job<'a> {
    #[track_caller]
    fn start(sandbox: &'a Sandbox, sql: String, more: &[&str]) -> Self {
        sandbox.write("job.sql", sql);
        let _ = std::fs::remove_dir_all(sandbox.path("checkpoints"));
        let mut args = vec!["run", "job.sql", "--checkpoint-dir", "checkpoints", "--checkpoint-interval", "200ms"];
        args.extend(more);
        let log = std::fs::File::create(sandbox.path("log")).expect("log");
        let out = std::fs::File::create(sandbox.path("stdout")).expect("stdout");
        let child =
            sandbox.command(&args).stdin(Stdio::null()).stdout(out).stderr(log).spawn().expect("wasmill starts");
        let mut job = Self { sandbox, child };
        let started = wait_until(Duration::from_secs(30), || {
            let entries = std::fs::read_dir(sandbox.path("checkpoints")).ok()?;
            let ended = job.child.try_wait().expect("wait");
            assert!(ended.is_none(), "{ended:?}\n{}", sandbox.read("log"));
            entries.flatten().find(|e| e.file_name().to_string_lossy().starts_with("chk-"))
        });
        assert!(started.is_some(), "no first checkpoint\n{}", sandbox.read("log"));
        job
    }

    /// Waits for an answer, then ends the job as its operator would.
    #[track_caller]
    fn wait<T>(mut self, ask: impl FnMut() -> Option<T>) -> T {
        let answer = wait_until(Duration::from_secs(60), ask);
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        let status = self.child.wait().expect("wait");
        let log = self.sandbox.read("log");
        assert!(status.success(), "{status}\n{log}");
        answer.unwrap_or_else(|| panic!("nothing came\n{log}"))
    }
}

#[test]
fn seeds_000_and_002_run_as_printed() {
    let (kafka, mysql, kudu) = (Kafka::shared(), MySql::shared(), Kudu::shared());
    kafka.create("es_test", 1);
    mysql.query(
        "CREATE USER IF NOT EXISTS dtstack@'%' IDENTIFIED BY 'abc123'; GRANT ALL ON test.* TO dtstack@'%';
         DROP TABLE IF EXISTS myresult; CREATE TABLE myresult (channel varchar(255), pv varchar(11))",
    );
    let here =
        |sql: String| sql.replace("172.16.8.107:9092", &kafka.brokers).replace("172.16.10.134:3306", &mysql.address);
    let sandbox = Sandbox::new();
    let job = Job::start(&sandbox, here(seed("002_mysql_sink.sql")), &[]);
    kafka.produce(
        "es_test",
        0,
        "{\"id\":1,\"channel\":\"aa\",\"pv\":\"mq6\",\"xctime\":\"x\",\"name\":\"n\"}\nno json\n",
    );
    let rows = job.wait(|| {
        let rows = mysql.query("SELECT channel, pv FROM myresult");
        (!rows.is_empty()).then_some(rows)
    });
    assert_eq!(rows, ["aa\tmq6"]);
    assert!(sandbox.read("log").contains("2 read, 1 decoded, 1 dead"), "{}", sandbox.read("log"));

    for (table, columns, keys) in [
        ("sidetest4", &["c STRING", "d STRING?"][..], 1),
        ("myresult", &["a STRING", "b STRING?", "c STRING?", "d STRING?"], 1),
    ] {
        kudu.create(table, columns, keys);
    }
    let here = |sql: String| here(sql).replace("cdh03.cdhsite:7051", &kudu.master);
    sandbox.write("side.jsonl", "{\"c\":\"2\",\"d\":\"2\"}\n{\"c\":\"3\",\"d\":\"2\"}\n");
    sandbox.write(
        "fill.sql",
        format!(
            "CREATE TABLE f (c STRING, d STRING) WITH ('connector' = 'filesystem', 'path' = 'side.jsonl', 'format' = 'json');\n\
             CREATE TABLE k (c STRING, d STRING) WITH ('connector' = 'kudu', 'kudu.masters' = '{}', 'kudu.table' = 'sidetest4');\n\
             INSERT INTO k SELECT c, d FROM f;",
            kudu.master
        ),
    );
    sandbox.wasmill(&["run", "fill.sql"]).expect_code(0);
    let job = Job::start(&sandbox, here(seed("000_kudu_sink.sql")), &[]);
    kafka.produce(
        "es_test",
        0,
        "{\"channel\":\"c\",\"a\":\"2\",\"b\":\"2\"}\n{\"a\":\"1\",\"b\":\"1\"}\n{\"a\":\"3\",\"b\":\"1\"}\n",
    );
    let rows = job.wait(|| Some(kudu.rows("myresult")).filter(|rows| !rows.is_empty()));
    assert_eq!(rows, [r#"string a="2", string b="2", string c="2", string d="2""#]);
}

#[test]
fn seed_001_runs_as_printed() {
    let kafka = Kafka::shared();
    kafka.create("tiezhu_test_in2", 1);
    let (sandbox, kudu) = (Sandbox::new(), Kudu::shared());
    kudu.create("impala::default.testSide", &["id INT32", "message STRING?"], 1);
    sandbox.write("side.jsonl", "{\"id\":1,\"message\":\"one\"}\n");
    sandbox.write(
        "fill.sql",
        format!(
            "CREATE TABLE f (id INT, message STRING) WITH ('connector' = 'filesystem', 'path' = 'side.jsonl', 'format' = 'json');\n\
             CREATE TABLE k (id INT, message STRING) WITH ('connector' = 'kudu', 'kudu.masters' = '{}', 'kudu.table' = 'impala::default.testSide');\n\
             INSERT INTO k SELECT id, message FROM f;",
            kudu.master
        ),
    );
    sandbox.wasmill(&["run", "fill.sql"]).expect_code(0);
    let sql =
        seed("001_kudu_join.sql").replace("172.16.101.224:9092", &kafka.brokers).replace("ip1,ip2,ip3", &kudu.master);
    let job = Job::start(&sandbox, sql, &[]);
    kafka.produce(
        "tiezhu_test_in2",
        0,
        "{\"id\":1,\"name\":\"n\",\"address\":\"a\"}\n{\"id\":4000000000,\"name\":\"n\"}\n",
    );
    let out = job.wait(|| Some(sandbox.read("stdout")).filter(|t| !t.is_empty()));
    assert!(out.contains("one") && !out.contains("4000000000"), "{out}");
}

#[test]
fn the_tables_of_seed_004_read_as_printed() {
    let kafka = Kafka::shared();
    kafka.create("test-topic", 1);
    let sandbox = Sandbox::new();
    let run = |file: &str, query: &str, columns: &str, records: &str| {
        let sql = seed(file).replace("xx.xx.xx.xx:9092", &kafka.brokers);
        let sink =
            format!("\nCREATE TABLE result ({columns}) WITH ('connector' = 'print');\nINSERT INTO result {query};\n");
        let job = Job::start(&sandbox, sql.trim_end().trim_end_matches(';').to_string() + ";" + &sink, &[]);
        kafka.produce("test-topic", 0, records);
        job.wait(|| Some(sandbox.read("stdout")).filter(|t| !t.is_empty()))
    };
    let csv = run(
        "004_dli_csv.sql",
        "SELECT * FROM kafkaSource",
        "a STRING, b STRING, c STRING, d INT",
        "312,wang,tang,80\n",
    );
    assert_eq!(csv, "{\"a\":\"312\",\"b\":\"wang\",\"c\":\"tang\",\"d\":80}\n");
    let json = run(
        "004_dli_json.sql",
        "SELECT * FROM kafkaSource",
        "a STRING, b STRING, c STRING",
        "{\"car_id\": 312, \"car_owner\": \"wang\", \"car_brand\": \"tang\"}\n",
    );
    assert_eq!(json, "{\"a\":\"312\",\"b\":\"wang\",\"c\":\"tang\"}\n");
    let nested = run(
        "004_dli_nested.sql",
        "SELECT id, type, data.patient_id, data.name FROM kafkaSource",
        "a STRING, b STRING, c STRING, d STRING",
        "{ \"id\":\"1\", \"type\":\"online\", \"data\":{ \"patient_id\":1234, \"name\":\"bob1234\", \"age\":\"Bob\", \
         \"gmt_create\":\"Bob\", \"gmt_modify\":\"Bob\" } }\n",
    );
    assert_eq!(nested, "{\"a\":\"1\",\"b\":\"online\",\"c\":\"1234\",\"d\":\"bob1234\"}\n");
}
