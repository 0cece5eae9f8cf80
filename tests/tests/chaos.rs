//! Jobs killed with SIGKILL at random points under load, and resumed: no record is missing, upserted rows are right.
//! `WASMILL_CHAOS_SEED` repeats a run, `WASMILL_CHAOS=long` is 30 kills instead of 3.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use wasmill_tests::Sandbox;
use wasmill_tests::services::{Kafka, Kudu, MySql, unique};

const RECORDS: u64 = 1_000_000;
const KILLS_SHORT: u32 = 3;
const KILLS_LONG: u32 = 30;

/// xorshift: a run is repeated by its seed.
struct Random(u64);

impl Random {
    fn new(test: &str) -> Self {
        let clock = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("clock");
            now.as_nanos() as u64 | 1
        };
        let seed = std::env::var("WASMILL_CHAOS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(clock);
        println!("{test}: WASMILL_CHAOS_SEED={seed}");
        Self(seed)
    }
    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + self.0 % (high - low)
    }
}

fn kills() -> u32 {
    if std::env::var("WASMILL_CHAOS").is_ok_and(|v| v == "long") { KILLS_LONG } else { KILLS_SHORT }
}

/// Writes the numbers 0..records into the topic, over some time, so that the job is under load while it is killed.
fn load(kafka: &Kafka, topic: &str, records: u64, over: Duration) -> std::thread::JoinHandle<()> {
    let (brokers, topic) = (kafka.brokers.clone(), topic.to_string());
    std::thread::spawn(move || {
        let mut kcat = Command::new("kcat")
            .args(["-P", "-b", &brokers, "-t", &topic, "-X", "linger.ms=20", "-X", "acks=all"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("kcat");
        let mut input = kcat.stdin.take().expect("piped");
        let start = Instant::now();
        let pieces = 100;
        for piece in 0..pieces {
            let numbers = (records * piece / pieces)..(records * (piece + 1) / pieces);
            let lines: String = numbers.map(|n| format!("{{\"id\":{n},\"v\":{}}}\n", n % 1000)).collect();
            input.write_all(lines.as_bytes()).expect("kcat reads");
            let due = start + over * (piece as u32 + 1) / pieces as u32;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        drop(input);
        assert!(kcat.wait().expect("kcat ends").success());
    })
}

fn run(sandbox: &Sandbox) -> Child {
    let checkpoints = sandbox.path("checkpoints");
    let mut args =
        vec!["run", "job.sql", "--quiet", "--checkpoint-dir", "checkpoints", "--checkpoint-interval", "300ms"];
    if has_checkpoint(&checkpoints) {
        args.push("--from-checkpoint");
    }
    let log = std::fs::OpenOptions::new().create(true).append(true).open(sandbox.path("log")).expect("log");
    sandbox.command(&args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("wasmill starts")
}

fn has_checkpoint(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).map(|d| d.flatten().collect::<Vec<_>>()).unwrap_or_default();
    entries
        .iter()
        .any(|e| e.file_name().to_string_lossy().starts_with("chk-") && e.path().join("manifest.json").exists())
}

/// Kills the job so often while `load` goes on, then lets it run until `done`.
fn torment(sandbox: &Sandbox, random: &mut Random, done: impl Fn() -> bool) {
    let kills = kills();
    for n in 0..kills {
        let mut child = run(sandbox);
        std::thread::sleep(Duration::from_millis(random.between(100, 2500)));
        let early = child.try_wait().expect("wait");
        assert!(early.is_none(), "ended by itself before kill {n}: {early:?}\n{}", sandbox.read("log"));
        child.kill().expect("SIGKILL");
        child.wait().expect("wait");
    }
    let mut child = run(sandbox);
    let end = Instant::now() + Duration::from_secs(180);
    while !done() {
        let early = child.try_wait().expect("wait");
        assert!(early.is_none(), "ended by itself: {early:?}\n{}", sandbox.read("log"));
        assert!(Instant::now() < end, "not done after 3 minutes\n{}", sandbox.read("log"));
        std::thread::sleep(Duration::from_millis(200));
    }
    terminate(&mut child);
    assert!(child.wait().expect("wait").success(), "{}", sandbox.read("log"));
}

fn terminate(child: &mut Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
}

/// How long the load lasts: about as long as the kills.
fn load_time() -> Duration {
    Duration::from_millis(1500) * kills()
}

fn source(kafka: &Kafka, topic: &str) -> String {
    format!(
        "CREATE TABLE src (id BIGINT, v INT) WITH ('connector' = 'kafka', 'topic' = '{topic}',
           'properties.bootstrap.servers' = '{}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');\n",
        kafka.brokers
    )
}

#[test]
fn kafka_to_kafka_loses_nothing_however_often_it_is_killed() {
    let kafka = Kafka::shared();
    let (input, output) = (kafka.topic("chaos_in", 3), kafka.topic("chaos_out", 2));
    let sandbox = Sandbox::new();
    let sink = format!(
        "CREATE TABLE dst (id BIGINT, w INT) WITH ('connector' = 'kafka', 'topic' = '{output}',
           'properties.bootstrap.servers' = '{}', 'format' = 'json');
         INSERT INTO dst SELECT id, v + 1 FROM src;",
        kafka.brokers
    );
    sandbox.write("job.sql", source(&kafka, &input) + &sink);
    let mut random = Random::new("kafka to kafka");
    let load = load(&kafka, &input, RECORDS, load_time());
    let lag = || {
        // Every input record was there before this is asked for the last time.
        let seen = distinct(&kafka, &output);
        seen == RECORDS
    };
    let finished = std::cell::Cell::new(false);
    torment(&sandbox, &mut random, || {
        if !finished.get() && load.is_finished() {
            finished.set(true);
        }
        finished.get() && lag()
    });
    load.join().expect("the load");
    assert_eq!(distinct(&kafka, &output), RECORDS);
}

/// Different ids in the topic; every row must be what the job makes of its id.
fn distinct(kafka: &Kafka, topic: &str) -> u64 {
    let mut ids: HashSet<u64> = HashSet::with_capacity(RECORDS as usize);
    for line in kafka.consume(topic, "%s\n").lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let id = row["id"].as_u64().expect("id");
        assert_eq!(row["w"].as_u64(), Some(id % 1000 + 1), "{line}");
        ids.insert(id);
    }
    ids.len() as u64
}

#[test]
fn kafka_to_mysql_has_every_row_right_however_often_it_is_killed() {
    let (kafka, mysql) = (Kafka::shared(), MySql::shared());
    let input = kafka.topic("chaos_my", 3);
    let table = unique("chaos");
    mysql.query(&format!("CREATE TABLE {table} (id BIGINT PRIMARY KEY, w INT NOT NULL)"));
    let sandbox = Sandbox::new();
    let sink = format!(
        "CREATE TABLE dst (id BIGINT, w INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc',
           'url' = '{}', 'table-name' = '{table}', 'username' = 'wasmill', 'password' = 'wasmill-secret',
           'sink.buffer-flush.max-rows' = '1000');
         INSERT INTO dst SELECT id, v + 1 FROM src;",
        mysql.jdbc_url()
    );
    sandbox.write("job.sql", source(&kafka, &input) + &sink);
    let mut random = Random::new("kafka to mysql");
    let load = load(&kafka, &input, RECORDS, load_time());
    let count = || mysql.query(&format!("SELECT COUNT(*) FROM {table}"))[0].parse::<u64>().expect("a count");
    torment(&sandbox, &mut random, || count() == RECORDS);
    load.join().expect("the load");
    let wrong = mysql.query(&format!(
        "SELECT COUNT(*) FROM {table} WHERE w <> id % 1000 + 1 OR id NOT BETWEEN 0 AND {}",
        RECORDS - 1
    ));
    assert_eq!((count(), wrong[0].as_str()), (RECORDS, "0"));
    mysql.query(&format!("DROP TABLE {table}"));
}

#[test]
fn kafka_to_kudu_has_every_key_once_with_its_last_value_however_often_it_is_killed() {
    let (kafka, kudu) = (Kafka::shared(), Kudu::shared());
    let input = kafka.topic("chaos_ku", 3);
    let table = kudu.table("chaos", &["id INT64", "w INT32"], 1);
    let sandbox = Sandbox::new();
    let sink = format!(
        "CREATE TABLE dst (id BIGINT, w INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'kudu',
           'kudu.masters' = '{}', 'kudu.table' = '{table}');
         INSERT INTO dst SELECT id, v + 1 FROM src;",
        kudu.master
    );
    sandbox.write("job.sql", source(&kafka, &input) + &sink);
    let mut random = Random::new("kafka to kudu");
    let load = load(&kafka, &input, RECORDS, load_time());
    let count = |condition: &str| {
        let predicates = format!("-predicates={condition}");
        let mut args = vec![table.as_str(), "-nofill_cache", "-row_count_only=true", "-report_scanner_stats=false"];
        if !condition.is_empty() {
            args.push(&predicates);
        }
        let out = kudu.tool("table", "scan", &args);
        let total = out.lines().find_map(|l| l.strip_prefix("Total count ")).unwrap_or_else(|| panic!("{out}"));
        total.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a count")
    };
    torment(&sandbox, &mut random, || count("") == RECORDS);
    load.join().expect("the load");
    assert_eq!(count(""), RECORDS);
    // Every value from 1 to 1000 as often as its ids.
    for w in [1, 500, 1000] {
        assert_eq!(count(&format!("[\"AND\",[\"=\",\"w\",{w}]]")), RECORDS / 1000);
    }
    kudu.tool("table", "delete", &[&table]);
}
