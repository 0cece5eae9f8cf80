//! Memory stays bounded whatever the input looks like.

use std::time::Duration;
use wasmill_tests::{Run, Sandbox, finish};

/// Runs the job and gives the peak of its resident memory in MB as well.
fn run_measured(s: &Sandbox, args: &[&str]) -> (Run, u64) {
    use std::process::Stdio;
    let child = s
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wasmill starts");
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        // The file is gone, or without the line, once the process has ended.
        while let Some(kb) = std::fs::read_to_string(&status).ok().and_then(|t| peak_kb(&t)) {
            peak = kb;
            std::thread::sleep(Duration::from_millis(2));
        }
        peak / 1024
    });
    let run = finish(child, args);
    (run, watch.join().unwrap_or(u64::MAX))
}

fn peak_kb(status: &str) -> Option<u64> {
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?.trim().parse().ok()
}

const JOB: &str = "CREATE TABLE src(a INT, b STRING) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
                   CREATE TABLE sink(a INT) WITH ('connector'='print');\nINSERT INTO sink SELECT a FROM src;\n";

#[test]
fn a_line_of_100_mb_is_one_dead_letter_and_needs_no_100_mb() {
    for format in ["'json'", "'csv'", "'csv', 'csv.header'='true'"] {
        let s = Sandbox::new();
        let mut input = if format.contains("header") { b"a,b\n".to_vec() } else { vec![] };
        let record: &[u8] = if format == "'json'" { b"{\"a\":1}\n" } else { b"1,x\n" };
        input.extend_from_slice(record);
        input.resize(input.len() + 100_000_000, b'x');
        input.extend_from_slice(b"\n");
        input.extend_from_slice(record);
        s.write("in", input);
        s.write("job.sql", JOB.replace("'json'", format));
        for parallelism in ["parallelism.default=1", "parallelism.default=2"] {
            let args = ["run", "job.sql", "--dead-letters", "dead.jsonl", "--set", parallelism];
            let (run, peak) = run_measured(&s, &args);
            let run = run.expect_code(0);
            assert_eq!(run.stdout, "{\"a\":1}\n{\"a\":1}\n", "{format} {parallelism}");
            let source = run.operator("Source: src");
            assert_eq!((source.count("read"), source.count("dead")), (3, 1), "{format} {parallelism}");
            assert!(peak < 100, "{format} {parallelism}: {peak} MB");
            let dead = s.json_lines("dead.jsonl");
            assert!(dead[0]["message"].as_str().is_some_and(|m| m.contains("16")), "{}", dead[0]["message"]);
        }
    }
}

#[test]
fn a_big_file_flows_through_in_little_memory() {
    let s = Sandbox::new();
    let record = format!("{{\"a\":1,\"b\":\"{}\"}}\n", "y".repeat(1000));
    s.write("in", record.repeat(100_000));
    s.write("job.sql", JOB.replace("SELECT a FROM src", "SELECT a FROM src WHERE b <> 'y'"));
    for settings in ["parallelism.default=1", "pipeline.operator-chaining.enabled=false"] {
        let (run, peak) = run_measured(&s, &["run", "job.sql", "--set", settings]);
        assert_eq!(run.expect_code(0).operator("Sink: sink").count("written"), 100_000);
        assert!(peak < 150, "{settings}: {peak} MB");
    }
}

#[test]
fn records_up_to_the_limit_are_read_and_the_limit_can_be_set() {
    let s = Sandbox::new();
    let long = |n: usize| format!("{{\"a\":1,\"b\":\"{}\"}}\n", "z".repeat(n));
    s.write("in", long(10_000_000) + &long(10) + &long(2000));
    s.write("job.sql", JOB);
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(run.operator("Source: src").count("decoded"), 3);
    let run = s.wasmill(&["run", "job.sql", "--set", "job.max-record-size=1kb", "--dead-letters", "/dev/null"]);
    let source = run.expect_code(0).operator("Source: src");
    assert_eq!((source.count("decoded"), source.count("dead")), (1, 2));
}
