//! Kafka while a job runs: new partitions and topics, transactions that are aborted, a crash right after the start; and
//! keys and values by a registry's schemas, changes that are held back.

use crate::kafka_support::{EARLIEST, Running, TO_LATEST, flink_table, rows_of, until};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;
use wasmill_tests::Sandbox;
use wasmill_tests::services::{Kafka, client, service, unique, wait_until};

fn numbers(from: u32, to: u32) -> String {
    (from..to).map(|n| format!("{{\"n\":{n}}}\n")).collect()
}

#[test]
fn new_partitions_and_new_topics_of_a_pattern_are_read_while_the_job_runs() {
    let kafka = Kafka::shared();
    let (stem, out) = (unique("grow"), kafka.topic("grow_out", 1));
    let (a, b) = (format!("{stem}-a"), format!("{stem}-b"));
    kafka.create(&a, 1);
    kafka.produce(&a, 0, &numbers(0, 1));
    let source = format!(
        "CREATE TABLE src (n INT) WITH ('connector' = 'kafka', 'topic-pattern' = '{stem}-.*', 'format' = 'json', \
         'properties.bootstrap.servers' = '{}', {EARLIEST}, 'scan.topic-partition-discovery.interval' = '1 s');\n",
        kafka.brokers
    );
    let sink = flink_table(&kafka, "o", "n INT", &out, "'format' = 'json'");
    let job = Running::start(&format!("{source}{sink}INSERT INTO o SELECT * FROM src;"));
    kafka.wait_for(&out, 1);
    kafka.create(&b, 1);
    kafka.produce(&b, 0, &numbers(1, 2));
    kafka.tool("TopicCommand", &["--alter", "--topic", &a, "--partitions", "2"]);
    kafka.produce(&a, 1, &numbers(2, 3));
    let mut values = kafka.wait_for(&out, 3);
    values.sort();
    assert_eq!(values, [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#]);
    job.end().expect_code(0);
}

#[test]
fn an_aborted_transaction_is_not_read_where_only_committed_ones_are() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("abort", 1);
    let config = format!("transactional.id={}", unique("txn"));
    kafka.produce_with(&topic, &["-p", "0", "-X", &config], numbers(0, 2).as_bytes());
    // A producer that dies in the middle; the next one of its id aborts what it left.
    let mut dying = Command::new("kcat")
        .args(["-P", "-b", &kafka.brokers, "-t", &topic, "-p", "0", "-X", &config, "-X", "linger.ms=0"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("kcat");
    let mut input = dying.stdin.take().expect("piped");
    // More than it reads ahead.
    input.write_all(numbers(2, 9000).as_bytes()).and_then(|()| input.flush()).expect("kcat reads");
    let read = |isolation: &str| {
        let isolation = format!("isolation.level={isolation}");
        client(
            "kcat",
            &["-C", "-e", "-q", "-b", &kafka.brokers, "-t", &topic, "-o", "beginning", "-X", &isolation],
            b"",
        )
    };
    let arrived = wait_until(Duration::from_secs(60), || (read("read_uncommitted").lines().count() > 2).then_some(()));
    dying.kill().and_then(|()| dying.wait()).expect("killed");
    assert!(arrived.is_some(), "{}", read("read_uncommitted"));
    kafka.produce_with(&topic, &["-p", "0", "-X", &config], numbers(9999, 10_000).as_bytes());
    let rows = |isolation: &str| {
        let options = format!("{TO_LATEST}, 'properties.isolation.level' = '{isolation}'");
        rows_of(&flink_table(&kafka, "src", "n INT", &topic, &options), "n INT")
    };
    assert_eq!(rows("read_committed"), [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":9999}"#]);
    assert!(rows("read_uncommitted").len() > 3);
}

#[test]
fn keys_and_values_by_schemas_of_the_registry_come_back() {
    let (kafka, registry) = (Kafka::shared(), service("WASMILL_REGISTRY"));
    let topic = kafka.topic("confluent", 1);
    let options = format!(
        "'key.format' = 'avro-confluent', 'key.avro-confluent.url' = '{registry}', 'key.fields' = 'k_id', \
         'key.fields-prefix' = 'k_', 'value.fields-include' = 'EXCEPT_KEY', 'value.format' = 'avro-confluent', \
         'value.avro-confluent.url' = '{registry}'"
    );
    let columns = "k_id INT, name STRING, d DECIMAL(10,2), ts TIMESTAMP(3)";
    let s = Sandbox::new();
    s.write(
        "in.jsonl",
        "{\"k_id\":1,\"name\":\"ü\",\"d\":1.25,\"ts\":\"2024-01-02 03:04:05.678\"}\n{\"k_id\":2,\"name\":null}\n",
    );
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE f ({columns}) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n\
             {}INSERT INTO o SELECT * FROM f;",
            flink_table(&kafka, "o", columns, &topic, &options)
        ),
    );
    s.wasmill(&["run", "job.sql"]).expect_code(0).expect_balanced();
    // Confluent's framing: a zero, then the schema's number in four bytes.
    for part in ["%k", "%s"] {
        let bytes = kafka.consume(&topic, part);
        assert!(bytes.starts_with("\0"), "{bytes:?}");
    }
    let bounded = format!("{options}, {}", TO_LATEST.replace(", 'format' = 'json'", ""));
    assert_eq!(
        rows_of(&flink_table(&kafka, "src", columns, &topic, &bounded), columns),
        [
            r#"{"k_id":1,"name":"ü","d":1.25,"ts":"2024-01-02 03:04:05.678"}"#,
            r#"{"k_id":2,"name":null,"d":null,"ts":null}"#
        ]
    );
}

#[test]
fn b44_latest_means_the_first_start_also_after_a_crash_before_the_next_checkpoint() {
    let kafka = Kafka::shared();
    let (topic, out) = (kafka.topic("b44", 1), kafka.topic("b44_out", 1));
    kafka.produce(&topic, 0, &numbers(100, 103));
    let s = Sandbox::new();
    let source =
        flink_table(&kafka, "src", "n INT", &topic, "'format' = 'json', 'scan.startup.mode' = 'latest-offset'");
    let sink = flink_table(&kafka, "o", "n INT", &out, "'format' = 'json'");
    s.write("job.sql", format!("{source}{sink}INSERT INTO o SELECT * FROM src;"));
    let args = ["run", "job.sql", "--checkpoint-dir", "ck", "--checkpoint-interval", "1h"];
    let start = |more: &[&str]| {
        let mut command = s.command(&[&args[..], more].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("wasmill starts")
    };
    let mut job = start(&[]);
    until("the first checkpoint", || s.path("ck/chk-1/manifest.json").exists());
    job.kill().and_then(|()| job.wait()).expect("killed");
    kafka.produce(&topic, 0, &numbers(1, 4));
    let mut job = start(&["--from-checkpoint"]);
    let values = kafka.wait_for(&out, 3);
    job.kill().and_then(|()| job.wait()).expect("killed");
    assert_eq!(values, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
}

#[test]
fn b36_offset_lists_are_checked_before_a_connection_is_made() {
    let s = Sandbox::new();
    for (topic, list, part) in [
        ("t", "partition:0,offset:42;partition:1", "must look like partition:0,offset:42;partition:1,offset:300"),
        ("t", "partition:0,offset:x", "must look like partition:0,offset:42;partition:1,offset:300"),
        ("t;u", "partition:0,offset:42", "topic"),
        ("t", "", "specific-offsets"),
    ] {
        let list =
            if list.is_empty() { String::new() } else { format!(", 'scan.startup.specific-offsets' = '{list}'") };
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src (n INT) WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', \
                 'properties.bootstrap.servers' = '127.0.0.1:1', 'scan.startup.mode' = 'specific-offsets'{list});\n\
                 CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;"
            ),
        );
        s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr(part);
    }
    for (more, part) in [("'topic' = 't', 'topic-pattern' = 'p'", "exclude each other"), ("", "is needed")] {
        let comma = if more.is_empty() { "" } else { ", " };
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src (n INT) WITH ('connector' = 'kafka', 'format' = 'json', {EARLIEST}, \
                 'properties.bootstrap.servers' = '127.0.0.1:1'{comma}{more});\n\
                 CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;"
            ),
        );
        s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr(part);
    }
}

/// A sink of upsert-kafka that is fed by a file.
fn upsert(kafka: &Kafka, topic: &str, lines: &str, options: &str) -> wasmill_tests::Run {
    let s = Sandbox::new();
    s.write("in.jsonl", lines);
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE f (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n\
             CREATE TABLE o (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', \
             'topic' = '{topic}', 'properties.bootstrap.servers' = '{}', 'key.format' = 'raw', \
             'value.format' = 'json'{options});\nINSERT INTO o SELECT * FROM f;",
            kafka.brokers
        ),
    );
    s.wasmill(&["run", "job.sql"])
}

#[test]
fn upsert_kafka_holds_changes_back_and_sends_the_last_of_each_key() {
    let kafka = Kafka::shared();
    let lines: String = (0..30).map(|i| format!("{{\"k\":\"{}\",\"v\":{i}}}\n", ["a", "b", "c"][i % 3])).collect();
    let held = ", 'sink.buffer-flush.max-rows' = '1000', 'sink.buffer-flush.interval' = '1 h'";
    for (options, records) in [("", 30), (held, 3)] {
        let topic = kafka.topic("hold", 1);
        let done = upsert(&kafka, &topic, &lines, options).expect_code(0);
        done.expect_balanced();
        assert_eq!(done.operator("Sink: o").count("written"), 30);
        let all = kafka.consume(&topic, "%k=%s\n");
        assert_eq!(all.lines().count(), records, "{all}");
        let last: Vec<&str> = all.lines().skip(records - 3).collect();
        assert_eq!(last, [r#"a={"k":"a","v":27}"#, r#"b={"k":"b","v":28}"#, r#"c={"k":"c","v":29}"#]);
    }
    // A full buffer is sent at once.
    let topic = kafka.topic("hold", 1);
    let few = ", 'sink.buffer-flush.max-rows' = '2', 'sink.buffer-flush.interval' = '1 h'";
    upsert(&kafka, &topic, &lines, few).expect_code(0);
    assert!((3..30).contains(&kafka.values(&topic).len()));
    upsert(&kafka, &topic, &lines, ", 'sink.buffer-flush.max-rows' = '2'")
        .expect_code(2)
        .expect_stderr("only together");
}

#[test]
fn a_keyed_sink_with_a_parallelism_of_its_own_keeps_the_changes_of_a_key_in_order() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("par", 4);
    let lines: String = (0..30_000).map(|i| format!("{{\"k\":\"k{}\",\"v\":{i}}}\n", i % 50)).collect();
    let done = upsert(&kafka, &topic, &lines, ", 'sink.parallelism' = '3'").expect_code(0);
    done.expect_balanced();
    assert_eq!(done.operator("Sink: o").count("written"), 30_000);
    let mut newest = std::collections::HashMap::new();
    for line in kafka.consume(&topic, "%k %s\n").lines() {
        let (key, value) = line.split_once(' ').unwrap();
        let v: i64 = value.rsplit(':').next().unwrap().trim_end_matches('}').parse().unwrap();
        let before = newest.insert(key.to_string(), v);
        assert!(before.is_none_or(|b| b < v), "{key}: {v} after {before:?}");
    }
    assert_eq!(newest.len(), 50);
    assert!(newest.values().all(|v| *v >= 30_000 - 50));
    let topic = kafka.topic("par", 4);
    let s = Sandbox::new();
    s.write("in.jsonl", numbers(0, 1000));
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE f (n INT) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n\
             {}INSERT INTO o SELECT * FROM f;",
            flink_table(&kafka, "o", "n INT", &topic, "'format' = 'json', 'sink.parallelism' = '3'")
        ),
    );
    assert!(s.wasmill(&["explain", "job.sql"]).expect_code(0).stdout.contains("Sink: o (parallelism 3)"));
    s.wasmill(&["run", "job.sql"]).expect_code(0).expect_balanced();
    assert_eq!(kafka.values(&topic).len(), 1000);
}
