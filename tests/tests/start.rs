//! Jobs whose servers are not there, or not as the job says, when they start.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use wasmill_tests::services::{Kafka, MySql, Proxy, unique};
use wasmill_tests::{Run, Sandbox};

fn write_to(s: &Sandbox, address: &str, table: &str, password: &str) {
    s.write("in.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE sink(id INT) WITH ('connector'='jdbc', 'url'='jdbc:mysql://{address}/test', \
             'username'='wasmill', 'password'='{password}', 'table-name'='{table}');\n\
             INSERT INTO sink SELECT * FROM src;"
        ),
    );
}

const RESTARTS: &[&str] = &[
    "run",
    "job.sql",
    "--set",
    "restart-strategy.type=fixed-delay",
    "--set",
    "restart-strategy.fixed-delay.attempts=20",
    "--set",
    "restart-strategy.fixed-delay.delay=200ms",
];

/// Runs the job and does something once its first start has failed.
fn run_and_after_the_first_failure(s: &Sandbox, then: impl FnOnce()) -> Run {
    let mut child = s.command(RESTARTS).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("wasmill");
    let mut then = Some(then);
    let mut stderr = String::new();
    for line in BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok) {
        if line.contains("restart 1 in")
            && let Some(then) = then.take()
        {
            then();
        }
        stderr += &(line + "\n");
    }
    Run { code: child.wait().expect("wait").code().unwrap_or(-1), stdout: String::new(), stderr }
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let (proxy, name) = (Proxy::to(&db.address), unique("start"));
    db.query(&format!("CREATE TABLE {name} (id int)"));
    write_to(&s, &proxy.address, &name, "wasmill-secret");
    proxy.refuse(true);
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("job failed to start").expect_stderr(&proxy.address);
    let run = run_and_after_the_first_failure(&s, || proxy.refuse(false)).expect_code(0);
    assert!(run.stderr.contains("from the start, after: ") && run.stderr.contains(&proxy.address), "{}", run.stderr);
    assert_eq!(db.query(&format!("SELECT id FROM {name} ORDER BY id")), ["1", "2"]);
}

#[test]
fn what_no_waiting_mends_ends_the_start_at_once_with_2() {
    let (s, db, kafka) = (Sandbox::new(), MySql::shared(), Kafka::shared());
    let name = unique("start");
    let refused = |part: &str| {
        let run = s.wasmill(RESTARTS).expect_code(2).expect_stderr(part);
        assert!(!run.stderr.contains("restart 1"), "{}", run.stderr);
        assert!(!run.stderr.contains("wrong-secret"), "{}", run.stderr);
    };
    write_to(&s, &db.address, &name, "wasmill-secret");
    refused(&format!("there is no table {name}"));
    db.query(&format!("CREATE TABLE {name} (id2 int)"));
    refused("it has no column id");
    write_to(&s, &db.address, &name, "wrong-secret");
    refused("Access denied");
    let topic = unique("no_topic");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT) WITH ('connector'='kafka', 'topic'='{topic}', 'format'='json', \
             'properties.bootstrap.servers'='{}', 'scan.startup.mode'='earliest-offset');\n\
             CREATE TABLE o(id INT) WITH ('connector'='print');\nINSERT INTO o SELECT * FROM src;",
            kafka.brokers
        ),
    );
    refused(&topic);
}
