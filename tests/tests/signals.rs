//! SIGINT and SIGTERM: what was read is written, counted and committed; a second signal ends at once.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wasmill_tests::{Sandbox, finish};

const JOB: &str = "CREATE TABLE src(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h', \
                   'format'='json');\n\
                   CREATE TABLE sink(a INT) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
                   CREATE TABLE seen(a INT) WITH ('connector'='print');\n";

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().expect("kill");
    assert!(sent.success());
}

fn start(s: &Sandbox, args: &[&str]) -> Child {
    s.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("wasmill starts")
}

/// Waits until the job has written something for `sink`.
fn wait_for_output(s: &Sandbox) {
    let started = Instant::now();
    while std::fs::read_dir(s.path("out")).map_or(0, |d| d.count()) == 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "the job writes nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_signal_while_stdin_stays_open_drains_commits_and_exits_0() {
    for name in ["INT", "TERM"] {
        let s = Sandbox::new();
        s.write("job.sql", JOB.to_string() + "INSERT INTO sink SELECT a FROM src;");
        let args = ["run", "job.sql", "--stand-in", "src=-"];
        let mut child = start(&s, &args);
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n").expect("the job reads");
        stdin.flush().expect("the job reads");
        wait_for_output(&s);
        let signalled = Instant::now();
        signal(&child, name);
        let run = finish(child, &args).expect_code(0);
        assert!(signalled.elapsed() < Duration::from_secs(5), "SIG{name} took {:?}", signalled.elapsed());
        drop(stdin);
        assert!(run.stderr.contains("draining"), "{}", run.stderr);
        assert_eq!(s.read("out/part-0-0"), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        assert_eq!(run.expect_balanced().operator("Sink: sink").count("written"), 3);
    }
}

#[test]
fn a_signal_before_any_input_ends_the_job() {
    let s = Sandbox::new();
    s.write("job.sql", JOB.to_string() + "INSERT INTO sink SELECT a FROM src;");
    let args = ["run", "job.sql", "--stand-in", "src=-"];
    let mut child = start(&s, &args);
    let stdin = child.stdin.take().expect("piped");
    let started = Instant::now();
    // The folder is made when the job is ready to be told.
    while !s.path("out").exists() {
        assert!(started.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    signal(&child, "TERM");
    finish(child, &args).expect_code(0);
    drop(stdin);
}

#[test]
fn a_signal_in_the_middle_of_a_big_file_writes_what_was_read() {
    for setting in ["parallelism.default=1", "parallelism.default=2", "pipeline.operator-chaining.enabled=false"] {
        let s = Sandbox::new();
        let many: String = (0..2_000_000).map(|i| format!("{{\"a\":{i}}}\n")).collect();
        s.write("in.jsonl", many);
        s.write(
            "job.sql",
            JOB.replace("'kafka', 'topic'='t', 'properties.bootstrap.servers'='h'", "'filesystem', 'path'='in.jsonl'")
                + "INSERT INTO sink SELECT a FROM src;",
        );
        let args = ["run", "job.sql", "--set", setting];
        let child = start(&s, &args);
        wait_for_output(&s);
        signal(&child, "INT");
        let run = finish(child, &args).expect_code(0);
        run.expect_balanced();
        let written = run.operator("Sink: sink").count("written");
        assert_eq!(run.operator("Source: src").count("read"), written, "{setting}:\n{}", run.stderr);
        let mut lines = 0;
        for entry in std::fs::read_dir(s.path("out")).expect("out").flatten() {
            let text = std::fs::read_to_string(entry.path()).expect("part");
            assert!(!entry.file_name().to_string_lossy().starts_with('.'));
            assert!(text.ends_with("}\n"));
            lines += text.lines().count() as u64;
        }
        assert_eq!(lines, written, "{setting}");
    }
}

#[test]
fn a_second_signal_ends_at_once_and_commits_nothing() {
    let s = Sandbox::new();
    // Draining has to wait: nobody reads this job's output, and the pipe is full.
    let many: String = (0..500_000).map(|i| format!("{{\"a\":{i}}}\n")).collect();
    s.write("in.jsonl", many);
    s.write(
        "job.sql",
        JOB.replace("'kafka', 'topic'='t', 'properties.bootstrap.servers'='h'", "'filesystem', 'path'='in.jsonl'")
            + "INSERT INTO seen SELECT a FROM src;",
    );
    let mut child = start(&s, &["run", "job.sql"]);
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().expect("wait").is_none(), "the job ended although its output is stuck");
    signal(&child, "INT");
    let signalled = Instant::now();
    while child.try_wait().expect("wait").is_none() {
        if signalled.elapsed() > Duration::from_secs(5) {
            child.kill().expect("kill");
            panic!("the second signal did not end the job");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
