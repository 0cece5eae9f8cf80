//! Jobs that are started anew after a failure.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use wasmill_tests::{Run, Sandbox};

const DEADLINE: Duration = Duration::from_secs(60);
const RECORDS: usize = 400_000;

/// A job over a large file and a small one that is read after it.
fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE src(a INT) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
         CREATE TABLE dst(a INT) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
         INSERT INTO dst SELECT a FROM src;\n",
    );
    s.write("in/a.jsonl", (0..RECORDS).map(|a| format!("{{\"a\":{a}}}\n")).collect::<String>());
    s.write("in/b.jsonl", format!("{{\"a\":{RECORDS}}}\n"));
    s
}

/// Runs the job; the small file is away while the large one is read, and comes back at the first restart if `returns`.
fn run_without_a_file(s: &Sandbox, args: &[&str], returns: bool) -> Run {
    let mut child =
        s.command(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("wasmill");
    let err = BufReader::new(child.stderr.take().expect("piped"));
    let (lines, seen) = mpsc::channel();
    std::thread::spawn(move || err.lines().map_while(Result::ok).for_each(|line| drop(lines.send(line))));
    // With the first part the list of files is made.
    let end = Instant::now() + DEADLINE;
    while !std::fs::read_dir(s.path("out")).is_ok_and(|d| d.count() > 0) {
        assert!(Instant::now() < end, "the job writes nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::rename(s.path("in/b.jsonl"), s.path("away")).expect("rename");
    let mut stderr = String::new();
    while let Ok(line) = seen.recv_timeout(DEADLINE) {
        if returns && line.contains("restart 1 in") {
            std::fs::rename(s.path("away"), s.path("in/b.jsonl")).expect("rename");
        }
        stderr += &(line + "\n");
    }
    let code = child.wait().expect("wait").code().unwrap_or(-1);
    Run { code, stdout: String::new(), stderr }
}

/// Each record is in one visible file, once.
fn expect_complete(s: &Sandbox) {
    let mut all: Vec<String> = vec![];
    for entry in std::fs::read_dir(s.path("out")).expect("out").flatten() {
        assert!(!entry.file_name().to_string_lossy().starts_with('.'), "{entry:?} is left");
        all.extend(std::fs::read_to_string(entry.path()).expect("part").lines().map(str::to_string));
    }
    all.sort_unstable();
    let mut expected: Vec<String> = (0..=RECORDS).map(|a| format!("{{\"a\":{a}}}")).collect();
    expected.sort_unstable();
    assert!(all == expected, "{} records of {}", all.len(), expected.len());
}

#[test]
fn with_a_checkpoint_folder_a_failure_of_the_outside_is_waited_for() {
    let s = sandbox();
    let args = ["run", "job.sql", "--checkpoint-dir", "ck", "--checkpoint-interval", "20ms"];
    let run = run_without_a_file(&s, &args, true).expect_code(0).expect_stderr("from checkpoint");
    assert!(run.stderr.contains("b.jsonl"), "the cause is named:\n{}", run.stderr);
    assert!(run.stderr.contains("Restarts     1\n"), "{}", run.stderr);
    expect_complete(&s);
}

#[test]
fn without_checkpoints_a_restart_begins_from_the_start() {
    let s = sandbox();
    let args = [
        "run",
        "job.sql",
        "--set",
        "restart-strategy.type=fixed-delay",
        "--set",
        "restart-strategy.fixed-delay.delay=10ms",
    ];
    run_without_a_file(&s, &args, true).expect_code(0).expect_stderr("restart 1 in 10.0ms, from the start");
    expect_complete(&s);
}

#[test]
fn without_a_setting_and_a_folder_the_job_fails_at_once() {
    let s = sandbox();
    let run = run_without_a_file(&s, &["run", "job.sql"], false).expect_code(3).expect_stderr("b.jsonl");
    assert!(!run.stderr.contains("restart"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(s.path("out")).expect("out").count(), 0);
}

#[test]
fn after_its_attempts_the_job_fails_and_can_be_resumed() {
    let s = sandbox();
    let set = |k: &str, v: &str| format!("restart-strategy.{k}={v}");
    let (kind, attempts, delay) =
        (set("type", "fixed-delay"), set("fixed-delay.attempts", "2"), set("fixed-delay.delay", "10ms"));
    let args = ["run", "job.sql", "--checkpoint-dir", "ck", "--set", &kind, "--set", &attempts, "--set", &delay];
    let run = run_without_a_file(&s, &args, false).expect_code(3).expect_stderr("restart 2 in 10.0ms, from checkpoint");
    assert!(!run.stderr.contains("restart 3"), "{}", run.stderr);
    std::fs::rename(s.path("away"), s.path("in/b.jsonl")).expect("rename");
    s.wasmill(&["run", "job.sql", "--checkpoint-dir", "ck", "--from-checkpoint"]).expect_code(0);
    expect_complete(&s);
}

#[test]
fn a_row_that_fails_the_job_is_not_tried_again() {
    let s = sandbox();
    s.write("in/b.jsonl", "no json\n");
    let run = s.wasmill(&["run", "job.sql", "--checkpoint-dir", "ck"]).expect_code(3).expect_stderr("b.jsonl line 1");
    assert!(!run.stderr.contains("restart"), "{}", run.stderr);
}
