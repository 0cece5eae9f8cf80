//! Checkpoints of real processes: killed, drained, resumed; folders that do not fit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wasmill_tests::{Run, Sandbox, finish, sqlite_query};

const JOB: &str = "CREATE TABLE src(a INT) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
                   CREATE TABLE dst(a INT) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
                   INSERT INTO dst SELECT a FROM src;\n";
/// As many records keep a job busy for several checkpoints, also an optimised one on a fast machine.
const LONG: usize = 3_000_000;
const DEADLINE: Duration = Duration::from_secs(60);
const RUN: [&str; 4] = ["run", "job.sql", "--checkpoint-dir", "ck"];

/// A job over four files with the numbers below `records`.
fn sandbox(records: usize) -> Sandbox {
    let s = Sandbox::new();
    s.write("job.sql", JOB);
    for file in 0..4 {
        let lines: String = (file..records).step_by(4).map(|a| format!("{{\"a\":{a}}}\n")).collect();
        s.write(&format!("in/{file}.jsonl"), lines);
    }
    s
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

fn start(s: &Sandbox, args: &[&str]) -> Child {
    s.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("wasmill starts")
}

fn kill(mut child: Child) {
    child.kill().expect("kill");
    child.wait().expect("wait");
}

fn drain(child: Child, args: &[&str]) -> Run {
    let sent = Command::new("kill").arg("-TERM").arg(child.id().to_string()).status().expect("kill");
    assert!(sent.success());
    finish(child, args)
}

fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let named = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix));
    entries.flatten().map(|e| e.path()).filter(named).collect()
}

/// The numbers in visible part files, ascending.
fn visible(s: &Sandbox) -> Vec<usize> {
    let mut all: Vec<usize> = vec![];
    for part in files(&s.path("out"), "part-") {
        for line in std::fs::read_to_string(&part).expect("part").lines() {
            let number = line.strip_prefix("{\"a\":").and_then(|l| l.strip_suffix('}')).and_then(|n| n.parse().ok());
            all.push(number.unwrap_or_else(|| panic!("{}: {line:?}", part.display())));
        }
    }
    all.sort_unstable();
    all
}

#[track_caller]
fn expect_each_once(s: &Sandbox, records: usize) {
    let seen = visible(s);
    let distinct: BTreeSet<usize> = seen.iter().copied().collect();
    assert_eq!((seen.len(), distinct.len()), (records, records), "lines and distinct records");
    assert!(files(&s.path("out"), ".part-").is_empty(), "hidden parts are left");
}

fn epochs(s: &Sandbox) -> Vec<u64> {
    let number = |p: &PathBuf| p.file_name()?.to_str()?.strip_prefix("chk-")?.parse().ok();
    let mut all: Vec<u64> = files(&s.path("ck"), "chk-").iter().filter_map(number).collect();
    all.sort_unstable();
    all
}

#[track_caller]
fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is() {
        assert!(Instant::now() < end, "{what} did not come about");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// SplitMix64 from a printed seed.
struct Rng(u64);

impl Rng {
    fn new() -> Self {
        let seed = std::env::var("WASMILL_KILL_SEED").ok().and_then(|s| s.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_nanos();
        let seed = seed.unwrap_or(now as u64);
        println!("WASMILL_KILL_SEED={seed}");
        Self(seed)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

#[test]
fn a_job_killed_at_random_moments_writes_each_record_once() {
    let mut rng = Rng::new();
    for settings in [&["parallelism.default=1"][..], &["parallelism.default=2", "pipeline.operator-chaining=false"]] {
        let records = 200_000;
        let s = sandbox(records);
        let mut more = vec!["--checkpoint-interval", "20ms"];
        settings.iter().for_each(|setting| more.extend(["--set", setting]));
        for kills in 0.. {
            let mut args = with(&more);
            if !epochs(&s).is_empty() {
                args.push("--from-checkpoint");
            }
            let mut child = start(&s, &args);
            std::thread::sleep(Duration::from_millis(rng.below(400)));
            if child.try_wait().expect("wait").is_some() || kills >= 20 {
                finish(child, &args).expect_code(0);
                break;
            }
            kill(child);
        }
        expect_each_once(&s, records);
    }
}

/// Two sinks on one source, one of them below a union of two branches of it.
const FORKED: &str = "CREATE TABLE src(a INT) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
    CREATE TABLE dst(a INT) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
    CREATE TABLE even(a INT) WITH ('connector'='filesystem', 'path'='even', 'format'='json');\n\
    INSERT INTO dst SELECT a FROM src WHERE MOD(a, 3) = 0 UNION ALL SELECT a FROM src WHERE MOD(a, 3) <> 0;\n\
    INSERT INTO even SELECT a FROM src WHERE MOD(a, 2) = 0;\n";

#[test]
fn a_job_that_forks_and_joins_writes_each_record_once_to_each_sink_over_kills() {
    let mut rng = Rng::new();
    for settings in [&["parallelism.default=1"][..], &["parallelism.default=2", "pipeline.operator-chaining=false"]] {
        let records = 100_000;
        let s = sandbox(records);
        s.write("job.sql", FORKED);
        let mut more = vec!["--checkpoint-interval", "20ms"];
        settings.iter().for_each(|setting| more.extend(["--set", setting]));
        for kills in 0.. {
            let mut args = with(&more);
            if !epochs(&s).is_empty() {
                args.push("--from-checkpoint");
            }
            let mut child = start(&s, &args);
            std::thread::sleep(Duration::from_millis(rng.below(400)));
            if child.try_wait().expect("wait").is_some() || kills >= 15 {
                finish(child, &args).expect_code(0);
                break;
            }
            kill(child);
        }
        expect_each_once(&s, records);
        let even: usize = files(&s.path("even"), "part-")
            .iter()
            .map(|part| std::fs::read_to_string(part).expect("part").lines().count())
            .sum();
        assert_eq!(even, records / 2);
    }
}

#[test]
fn a_sink_with_a_primary_key_has_each_record_once_over_kills() {
    let mut rng = Rng::new();
    let records = 20_000;
    let s = sandbox(records);
    let sink = "'sqlite', 'path'='out.db', 'table-name'='dst'";
    s.write(
        "job.sql",
        JOB.replace("dst(a INT)", "dst(a INT, PRIMARY KEY (a) NOT ENFORCED)")
            .replace("'filesystem', 'path'='out', 'format'='json'", sink),
    );
    for kills in 0.. {
        let mut args = with(&["--checkpoint-interval", "20ms"]);
        if !epochs(&s).is_empty() {
            args.push("--from-checkpoint");
        }
        let mut child = start(&s, &args);
        std::thread::sleep(Duration::from_millis(rng.below(400)));
        if child.try_wait().expect("wait").is_some() || kills >= 20 {
            finish(child, &args).expect_code(0);
            break;
        }
        kill(child);
    }
    let seen = sqlite_query(&s.path("out.db"), "SELECT COUNT(*), COUNT(DISTINCT a), MIN(a), MAX(a) FROM dst");
    assert_eq!(seen.trim(), format!("{records} {records} 0 {}", records - 1));
}

#[test]
fn a_finished_job_that_is_resumed_reads_nothing_and_ends() {
    let s = sandbox(100);
    s.wasmill(&RUN).expect_code(0);
    expect_each_once(&s, 100);
    let run = s.wasmill(&with(&["--from-checkpoint=latest"])).expect_code(0).expect_stderr("going on from checkpoint");
    assert_eq!(run.operator("Source: src").count("read"), 0);
    expect_each_once(&s, 100);
}

/// B44: what a start mode means is settled once.
#[test]
fn the_first_checkpoint_is_published_before_anything_is_read() {
    let records = 400_000;
    let s = sandbox(records);
    let child = start(&s, &with(&["--checkpoint-interval", "1h"]));
    wait_for("a part", || !files(&s.path("out"), ".part-").is_empty());
    kill(child);
    assert_eq!(epochs(&s), [1]);
    let text = s.read("ck/chk-1/manifest.json");
    let manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let source = &manifest["checkpoint"]["operators"][0];
    let unassigned = source["unassigned"].as_array().unwrap_or_else(|| panic!("{text}"));
    assert_eq!(unassigned.len(), 4, "{text}");
    assert!(unassigned.iter().all(|split| split["position"] == 0), "{text}");
    s.wasmill(&with(&["--from-checkpoint"])).expect_code(0);
    expect_each_once(&s, records);
}

#[test]
fn a_drained_job_goes_on_where_it_was_with_its_dead_letters() {
    let records = 400_000;
    let s = sandbox(records);
    for (file, line) in [("in/0.jsonl", "no json"), ("in/3.jsonl", "[")] {
        let text = s.read(file);
        s.write(file, format!("{line}\n{text}{line}\n"));
    }
    let args = with(&["--checkpoint-interval", "1h", "--dead-letters", "dead.jsonl"]);
    let child = start(&s, &args);
    wait_for("a part", || !files(&s.path("out"), ".part-").is_empty());
    let run = drain(child, &args).expect_code(0).expect_stderr("draining");
    let first = run.operator("Sink: dst").count("written");
    assert_eq!(visible(&s).len() as u64, first, "a drain publishes what was written");
    let mut args = args;
    args.push("--from-checkpoint");
    let run = s.wasmill(&args).expect_code(0);
    assert_eq!(run.operator("Sink: dst").count("written") + first, records as u64);
    expect_each_once(&s, records);
    let mut dead: Vec<String> = s.json_lines("dead.jsonl").iter().map(|d| d["origin"]["split"].to_string()).collect();
    dead.sort_unstable();
    assert_eq!(dead, ["\"in/0.jsonl\"", "\"in/0.jsonl\"", "\"in/3.jsonl\"", "\"in/3.jsonl\""]);
}

#[test]
fn a_folder_that_does_not_fit_is_refused_and_nothing_is_touched() {
    let s = sandbox(10);
    let empty = s.wasmill(&with(&["--from-checkpoint"])).expect_code(2);
    empty.expect_stderr("there is no checkpoint in ck").expect_stderr("without the flag the job starts anew");
    s.wasmill(&["run", "job.sql", "--from-checkpoint"]).expect_code(2).expect_stderr("there is no checkpoint folder");
    s.wasmill(&with(&["--from-checkpoint=new"])).expect_code(2).expect_stderr("expected latest or the number");
    s.wasmill(&with(&["--checkpoint-interval", "soon"])).expect_code(2).expect_stderr("expected a duration");
    assert!(!s.path("out").exists());
    s.write("dead.jsonl", "kept\n");
    s.wasmill(&RUN).expect_code(0);
    let filled = s.wasmill(&with(&["--dead-letters", "dead.jsonl"])).expect_code(2);
    filled.expect_stderr("ck holds checkpoints").expect_stderr("--from-checkpoint goes on from there");
    assert_eq!(s.read("dead.jsonl"), "kept\n");
    s.wasmill(&with(&["--from-checkpoint=99"])).expect_code(2).expect_stderr("there is no checkpoint 99");
    expect_each_once(&s, 10);
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_said() {
    let records = LONG;
    let s = sandbox(records);
    let child = start(&s, &with(&["--checkpoint-interval", "20ms"]));
    wait_for("three checkpoints", || epochs(&s).len() >= 3);
    kill(child);
    let newest = *epochs(&s).last().expect("a checkpoint");
    let manifest = format!("ck/chk-{newest}/manifest.json");
    let damaged = s.read(&manifest).replace("position", "positiom");
    s.write(&manifest, damaged);
    let asked = format!("--from-checkpoint={newest}");
    s.wasmill(&with(&[&asked])).expect_code(2).expect_stderr("its checksum does not fit");
    let run = s.wasmill(&with(&["--from-checkpoint"])).expect_code(0).expect_stderr("its checksum does not fit");
    run.expect_stderr(&format!("going on from checkpoint {}", newest - 1));
    // The parts of the damaged one may be visible already: each record at least once.
    assert_eq!(visible(&s).into_iter().collect::<BTreeSet<_>>().len(), records);
}

#[test]
fn old_checkpoints_are_removed() {
    let s = sandbox(LONG);
    s.wasmill(&with(&["--checkpoint-interval", "10ms", "--set", "state.checkpoints.num-retained=2"])).expect_code(0);
    let epochs = epochs(&s);
    assert!(epochs.len() == 2 && epochs[0] > 2, "{epochs:?}");
    let names: BTreeSet<String> = std::fs::read_dir(s.path("ck"))
        .expect("ck")
        .map(|e| e.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn two_jobs_do_not_share_a_folder() {
    let s = sandbox(1000);
    let args = with(&["--stand-in", "src=-"]);
    let mut first = s
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("wasmill starts");
    let stdin = first.stdin.take();
    wait_for("the first checkpoint", || !epochs(&s).is_empty());
    let second = s.wasmill(&with(&["--from-checkpoint"])).expect_code(2);
    second.expect_stderr("another running job uses the checkpoint folder ck");
    // Whatever ends the process lets go of the folder.
    kill(first);
    drop(stdin);
    let other = s.wasmill(&with(&["--from-checkpoint"])).expect_code(2);
    other.expect_stderr("Source: src: checkpoint 1 was taken with stand-in, now it is file");
    let again = s.wasmill(&with(&["--from-checkpoint", "--stand-in", "src=-"])).expect_code(2);
    again.expect_stderr("standard input cannot be read again");
}

#[test]
fn state_of_a_table_that_is_gone_is_dropped_only_if_told_and_a_new_table_starts_anew() {
    let s = sandbox(100_000);
    let child = start(&s, &with(&["--checkpoint-interval", "1h"]));
    wait_for("a part", || !files(&s.path("out"), ".part-").is_empty());
    kill(child);
    s.write("job.sql", JOB.replace("src", "renamed"));
    let refused = s.wasmill(&with(&["--from-checkpoint"])).expect_code(2);
    refused.expect_stderr("Source: src").expect_stderr("--allow-non-restored-state drops it");
    s.wasmill(&with(&["--from-checkpoint", "--allow-non-restored-state"])).expect_code(0);
    expect_each_once(&s, 100_000);
}

#[test]
fn settings_of_the_job_file_say_where_and_how_often() {
    let s = sandbox(LONG);
    let set = |dir: &str| {
        format!("SET 'state.checkpoints.dir' = '{dir}';\nSET 'execution.checkpointing.interval' = '20ms';\n")
    };
    // Paths in SQL start at the folder of the job file.
    s.write("jobs/job.sql", set("file:ck") + &JOB.replace("'in'", "'../in'").replace("'out'", "'../out'"));
    let run = s.wasmill(&["run", "jobs/job.sql"]).expect_code(0).expect_stderr("Checkpoints");
    assert!(run.operator("Checkpoints").count("completed") > 2, "{}", run.stderr);
    assert!(s.path("jobs/ck/lock").exists());
    expect_each_once(&s, LONG);
    s.write("job.sql", set("hdfs://nn/ck") + JOB);
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("not in hdfs://").expect_stderr("--checkpoint-dir");
    s.wasmill(&with(&[])).expect_code(0);
    s.wasmill(&with(&["--set", "state.checkpoints.num-retained=none"])).expect_code(2).expect_stderr("from 1 to 1000");
}

#[test]
fn a_blocked_sink_lets_a_checkpoint_time_out_and_the_next_one_succeeds() {
    let s = sandbox(100_000);
    s.write("job.sql", JOB.replace("'filesystem', 'path'='out', 'format'='json'", "'print'"));
    let more = ["--checkpoint-interval", "100ms", "--set", "execution.checkpointing.timeout=300ms"];
    let mut child = start(&s, &with(&more));
    let (mut out, err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let (lines, timed_out) = std::sync::mpsc::channel();
    let errors = std::thread::spawn(move || {
        use std::io::BufRead;
        let mut all = String::new();
        for line in std::io::BufReader::new(err).lines().map_while(Result::ok) {
            if line.contains("tasks did not take part within 300ms") {
                let _ = lines.send(());
            }
            all += &(line + "\n");
        }
        all
    });
    // Nobody reads the output: the pipe fills, and the sink waits.
    timed_out.recv_timeout(DEADLINE).expect("a checkpoint times out");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut out, &mut text).expect("output");
    assert!(child.wait().expect("wait").success());
    let stderr = errors.join().expect("stderr");
    let run = Run { code: 0, stdout: text, stderr };
    let count = |what| run.operator("Checkpoints").count(what);
    // The first, the last, and none of the failed ones in between.
    assert!(count("failed") >= 1 && count("completed") >= 2, "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 100_000);
}

#[test]
fn a_row_is_flushed_in_time_though_nothing_follows() {
    for chaining in ["true", "false"] {
        let s = Sandbox::new();
        s.write(
            "job.sql",
            "CREATE TABLE src(a INT) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
             CREATE TABLE dst(a INT) WITH ('connector'='sqlite', 'path'='out.db', 'table-name'='dst', \
             'sink.buffer-flush.interval'='100ms');\nINSERT INTO dst SELECT a FROM src;\n",
        );
        let chaining = format!("pipeline.operator-chaining={chaining}");
        let args = ["run", "job.sql", "--stand-in", "src=-", "--set", &chaining];
        let mut child = s
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wasmill starts");
        let mut stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut stdin, b"{\"a\":7}\n").expect("the job reads");
        wait_for("the table", || s.path("out.db").exists());
        wait_for("the row", || {
            let script =
                "import sqlite3,sys\nprint(sqlite3.connect(sys.argv[1]).execute('SELECT a FROM dst').fetchall())";
            let out = Command::new("python3").arg("-c").arg(script).arg(s.path("out.db")).output().expect("python3");
            String::from_utf8_lossy(&out.stdout).trim() == "[(7,)]"
        });
        drop(stdin);
        finish(child, &args).expect_code(0);
    }
}
