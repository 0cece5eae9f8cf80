//! What the Kafka tests share: tables around the test's own topics, and jobs that run until they have done enough.

use std::process::{Child, Stdio};
use std::time::Duration;
use wasmill_tests::services::{Kafka, wait_until};
use wasmill_tests::{Run, Sandbox, finish};

/// `CREATE TABLE` in Flink's dialect. `options` are more lines of the WITH clause, `'k' = 'v'`.
pub fn flink_table(kafka: &Kafka, name: &str, columns: &str, topic: &str, options: &str) -> String {
    let comma = if options.is_empty() { "" } else { ", " };
    format!(
        "CREATE TABLE {name} ({columns}) WITH ('connector' = 'kafka', 'topic' = '{topic}', \
         'properties.bootstrap.servers' = '{}'{comma}{options});\n",
        kafka.brokers
    )
}

/// As `flink_table`, in flinkStreamSQL's dialect: `k = 'v'`.
pub fn dt_table(kafka: &Kafka, name: &str, columns: &str, topic: &str, options: &str) -> String {
    let comma = if options.is_empty() { "" } else { ", " };
    format!(
        "CREATE TABLE {name} ({columns}) WITH (type = 'kafka11', bootstrapServers = '{}', topic = '{topic}', \
         zookeeperQuorum = 'z:2181'{comma}{options});\n",
        kafka.brokers
    )
}

pub const EARLIEST: &str = "'scan.startup.mode' = 'earliest-offset'";
pub const TO_LATEST: &str =
    "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'";

/// Runs a job that ends by itself.
#[track_caller]
pub fn run(sql: &str) -> Run {
    let s = Sandbox::new();
    s.write("job.sql", sql);
    s.wasmill(&["run", "job.sql"])
}

/// The rows that a bounded source gives, sorted.
#[track_caller]
pub fn rows_of(source: &str, columns: &str) -> Vec<String> {
    let sql =
        format!("{source}CREATE TABLE o ({columns}) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;");
    let run = run(&sql).expect_code(0);
    run.expect_balanced();
    wasmill_tests::sorted_lines(&run.stdout)
}

/// A job that goes on until it is told to end.
pub struct Running {
    child: Option<Child>,
    _sandbox: Sandbox,
}

impl Running {
    pub fn start(sql: &str) -> Self {
        Self::start_with(sql, &[], &[])
    }
    pub fn start_with(sql: &str, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("job.sql", sql);
        let args: Vec<&str> = ["run", "job.sql"].iter().chain(args).copied().collect();
        let mut command = sandbox.command(&args);
        let child = command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Self { child: Some(child.expect("wasmill starts")), _sandbox: sandbox }
    }
    pub fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|c| c.try_wait().expect("a child").is_none())
    }
    /// SIGINT: the job takes in no more, finishes what it has, and ends.
    pub fn end(mut self) -> Run {
        let child = self.child.take().expect("still there");
        let pid = child.id().to_string();
        wasmill_tests::services::client("kill", &["-INT", &pid], b"");
        finish(child, &["run"])
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits for something; a test that waits for longer than a minute fails.
#[track_caller]
pub fn until(what: &str, mut is: impl FnMut() -> bool) {
    wait_until(Duration::from_secs(60), || is().then_some(()))
        .unwrap_or_else(|| panic!("a minute over, and not: {what}"));
}
