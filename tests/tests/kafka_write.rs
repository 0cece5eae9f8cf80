//! Writing Kafka: keys, changes, partitions, compression, metadata, records that brokers refuse, dead letters.

use crate::kafka_support::{Running, TO_LATEST, dt_table, flink_table, rows_of, run, until};
use wasmill_tests::Sandbox;
use wasmill_tests::services::{Kafka, PrivateService, unique};

const JSON: &str = "'format' = 'json'";

/// Three rows, from a file.
fn from_file(s: &Sandbox, lines: &str, columns: &str) -> String {
    s.write("in.jsonl", lines);
    format!("CREATE TABLE src ({columns}) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n")
}

#[track_caller]
fn write(lines: &str, columns: &str, sink: &str, select: &str) -> wasmill_tests::Run {
    let s = Sandbox::new();
    let sql = from_file(&s, lines, columns) + sink + &format!("INSERT INTO o {select};");
    s.write("job.sql", sql);
    s.wasmill(&["run", "job.sql"])
}

#[test]
fn seed_002_runs_from_kafka_to_kafka() {
    let kafka = Kafka::shared();
    let (from, to) = (kafka.topic("seed", 1), kafka.topic("seed_out", 1));
    let source = dt_table(
        &kafka,
        "MyTable",
        "id int, channel varchar, pv varchar, xctime varchar, name varchar",
        &from,
        "offsetReset ='earliest', timezone='Asia/Shanghai', topicIsPattern ='false', parallelism ='1'",
    );
    let sink = dt_table(&kafka, "MyResult", "pv VARCHAR, channel VARCHAR", &to, "parallelism ='1'");
    let mut job = Running::start(&format!("{source}{sink}insert into MyResult select channel, pv from MyTable"));
    kafka.produce(&from, 0, "{\"id\":1,\"channel\":\"aa\",\"pv\":\"mq6\"}\n");
    assert_eq!(kafka.wait_for(&to, 1), [r#"{"pv":"mq6","channel":"aa"}"#]);
    // What comes while the job runs comes through, too.
    kafka.produce(&from, 0, "{\"id\":2,\"channel\":\"bb\",\"pv\":\"mq7\"}\n");
    assert_eq!(kafka.wait_for(&to, 2)[1], r#"{"pv":"mq7","channel":"bb"}"#);
    assert!(job.is_running());
    let done = job.end().expect_code(0);
    assert_eq!(done.operator("Sink: MyResult").count("written"), 2);
}

#[test]
fn b38_partition_keys_make_the_key_and_so_the_partition() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("keys", 4);
    let sink = dt_table(&kafka, "o", "channel VARCHAR, pv VARCHAR, n INT", &topic, "partitionKeys = 'channel, pv'");
    let lines: String = (0..40).map(|n| format!("{{\"channel\":\"c{}\",\"pv\":null,\"n\":{n}}}\n", n % 5)).collect();
    write(&lines, "channel STRING, pv STRING, n INT", &sink, "SELECT * FROM src").expect_code(0);
    let mut found: Vec<String> = kafka.consume(&topic, "%k %p\n").lines().map(str::to_string).collect();
    assert_eq!(found.len(), 40);
    found.sort();
    found.dedup();
    // Every key is in one partition.
    assert_eq!(found.len(), 5, "{found:?}");
    assert!(found[0].starts_with(r#"{"channel":"c0","pv":null} "#), "{found:?}");
}

#[test]
fn b40_csv_upserts_have_one_more_field() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("csv", 1);
    let sink = dt_table(&kafka, "o", "name VARCHAR, n INT", &topic, "sinkdatatype = 'csv', updateMode = 'upsert'");
    let lines = "{\"name\":\"zs\",\"n\":330}\n{\"name\":\"ls\",\"n\":5}\n";
    write(lines, "name STRING, n INT", &sink, "SELECT * FROM src").expect_code(0);
    assert_eq!(kafka.values(&topic), ["zs,330,true", "ls,5,true"]);
}

#[test]
fn keys_by_format_with_a_prefix_and_out_of_the_value() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("keyed", 1);
    let options = "'key.format' = 'json', 'key.fields' = 'k_a;k_b', 'key.fields-prefix' = 'k_', \
                   'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY'";
    let sink = flink_table(&kafka, "o", "k_b STRING, v INT, k_a INT", &topic, options);
    let done = write("{\"a\":1,\"b\":\"x\",\"v\":2}\n", "a INT, b STRING, v INT", &sink, "SELECT b, v, a FROM src");
    done.expect_code(0);
    assert_eq!(kafka.consume(&topic, "%k|%s\n"), "{\"a\":1,\"b\":\"x\"}|{\"v\":2}\n");
}

#[test]
fn upsert_kafka_deletes_with_tombstones_and_reads_them_back() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("upsert", 1);
    kafka.produce_with(
        &topic,
        &["-p", "0", "-K", "|", "-Z"],
        b"{\"id\":1}|{\"id\":1,\"v\":\"a\"}\n{\"id\":2}|{\"id\":2,\"v\":\"b\"}\n{\"id\":1}|{\"id\":1,\"v\":\"c\"}\n{\"id\":2}|\n",
    );
    let copy = kafka.topic("upsert_out", 1);
    let table = |name: &str, topic: &str, more: &str| {
        format!(
            "CREATE TABLE {name} (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', \
             'topic' = '{topic}', 'properties.bootstrap.servers' = '{}', 'key.format' = 'json', \
             'value.format' = 'json'{more});\n",
            kafka.brokers
        )
    };
    let sql = table("src", &topic, ", 'scan.bounded.mode' = 'latest-offset'")
        + &table("o", &copy, "")
        + "INSERT INTO o SELECT id, v FROM src;";
    let done = run(&sql).expect_code(0);
    assert_eq!(done.operator("Sink: o").count("written"), 4);
    assert_eq!(
        kafka.consume(&copy, "%k|%s|%S\n"),
        "{\"id\":1}|{\"id\":1,\"v\":\"a\"}|16\n{\"id\":2}|{\"id\":2,\"v\":\"b\"}|16\n\
         {\"id\":1}|{\"id\":1,\"v\":\"c\"}|16\n{\"id\":2}||-1\n"
    );
}

#[test]
fn metadata_columns_are_written() {
    let kafka = Kafka::shared();
    let (from, one, two) = (kafka.topic("m0", 1), kafka.topic("m1", 1), kafka.topic("m2", 1));
    let lines = format!("{{\"v\":1,\"t\":\"{two}\"}}\n{{\"v\":2,\"t\":null}}\n");
    kafka.produce_with(&from, &["-p", "0", "-H", "a=x", "-H", "b=y"], lines.as_bytes());
    let time = kafka.consume(&from, "%T\n").lines().next().unwrap_or_default().to_string();
    let headers = "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', h MAP<STRING, BYTES> METADATA FROM 'headers'";
    let source = flink_table(&kafka, "src", &format!("v INT, t STRING, {headers}"), &from, TO_LATEST);
    let sink = flink_table(&kafka, "o", &format!("v INT, t STRING METADATA FROM 'topic', {headers}"), &one, JSON);
    // The clock has moved on when the job writes.
    std::thread::sleep(std::time::Duration::from_millis(20));
    run(&format!("{source}{sink}INSERT INTO o SELECT v, t, ts, h FROM src;")).expect_code(0);
    assert_eq!(kafka.consume(&two, "%s %T %h\n"), format!("{{\"v\":1}} {time} a=x,b=y\n"));
    assert!(kafka.consume(&one, "%s %h\n").starts_with("{\"v\":2} a=x,b=y"));
}

#[test]
fn every_compression_is_written_and_read() {
    let broker = PrivateService::start_with("kafka", &[("KAFKA_HEAP_MB", "256")]);
    let kafka = Kafka { brokers: broker.get("WASMILL_KAFKA") };
    for codec in ["gzip", "snappy", "lz4", "zstd", "none"] {
        let topic = kafka.topic(&format!("c_{codec}"), 1);
        let sink =
            flink_table(&kafka, "o", "n INT", &topic, &format!("{JSON}, 'properties.compression.type' = '{codec}'"));
        let lines: String = (0..500).map(|n| format!("{{\"n\":{n}}}\n")).collect();
        write(&lines, "n INT", &sink, "SELECT n FROM src").expect_code(0);
        assert_eq!(rows_of(&flink_table(&kafka, "src", "n INT", &topic, TO_LATEST), "n INT").len(), 500, "{codec}");
    }
}

#[test]
fn partitions_are_chosen_in_turn_or_fixed() {
    let kafka = Kafka::shared();
    let lines: String = (0..9).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    for (partitioner, counts) in [("round-robin", [3, 3, 3]), ("fixed", [9, 0, 0])] {
        let topic = kafka.topic("part", 3);
        let sink = flink_table(&kafka, "o", "n INT", &topic, &format!("{JSON}, 'sink.partitioner' = '{partitioner}'"));
        write(&lines, "n INT", &sink, "SELECT n FROM src").expect_code(0);
        let found = kafka.consume(&topic, "%p\n");
        let count = |p: &str| found.lines().filter(|l| *l == p).count();
        assert_eq!([count("0"), count("1"), count("2")], counts, "{partitioner}");
    }
}

#[test]
fn a_record_that_the_broker_finds_too_long_is_refused_alone() {
    let kafka = Kafka::shared();
    let topic = unique("small");
    let limit = ["--config", "max.message.bytes=300"];
    kafka.tool("TopicCommand", &[&["--create", "--topic", &topic, "--partitions", "1"], &limit[..]].concat());
    let long = "x".repeat(1000);
    let lines: String =
        (0..50).map(|n| format!("{{\"n\":{n},\"s\":\"{}\"}}\n", if n == 31 { &long } else { "short" })).collect();
    let columns = "n INT, s STRING";
    let sink = |policy: &str| flink_table(&kafka, "o", columns, &topic, &format!("{JSON}{policy}"));
    let done = write(&lines, columns, &sink(", 'on-error' = 'dead-letter'"), "SELECT * FROM src").expect_code(0);
    assert_eq!(done.operator("Sink: o").count("dead"), 1, "{}", done.stderr);
    done.expect_balanced();
    let mut values = kafka.values(&topic);
    values.sort();
    values.dedup();
    assert_eq!(values.len(), 49);
    assert!(!values.iter().any(|v| v.contains("\"n\":31,")));
    write(&lines, columns, &sink(""), "SELECT * FROM src").expect_code(3).expect_stderr("in.jsonl line 32");
}

#[test]
fn b105_changes_into_a_format_of_inserts_are_refused() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE o (n INT, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'kafka', 'topic' = 't', \
         'format' = 'json', 'properties.bootstrap.servers' = 'h:1');\n\
         CREATE TABLE src (n INT) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n\
         INSERT INTO o SELECT n FROM src;",
    );
    s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr("upsert-kafka");
}

#[test]
fn a_topic_that_is_not_there_is_an_error_that_names_it() {
    let kafka = Kafka::shared();
    let sink = flink_table(&kafka, "o", "n INT", "no_such_topic", JSON);
    write("{\"n\":1}\n", "n INT", &sink, "SELECT n FROM src")
        .expect_code(3)
        .expect_stderr("topic no_such_topic")
        .expect_stderr(&kafka.brokers)
        .expect_stderr("create the topic first");
}

#[test]
fn a_long_stream_comes_through_whole_and_in_order() {
    let kafka = Kafka::shared();
    let (from, to) = (kafka.topic("long", 1), kafka.topic("long_out", 1));
    let lines: String = (0..200_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    kafka.produce(&from, 0, &lines);
    let source = flink_table(&kafka, "src", "n INT", &from, TO_LATEST);
    // A queue smaller than a batch: the writer waits for room.
    let sink =
        flink_table(&kafka, "o", "n INT", &to, &format!("{JSON}, 'properties.queue.buffering.max.messages' = '1000'"));
    run(&format!("{source}{sink}INSERT INTO o SELECT n FROM src;")).expect_code(0).expect_balanced();
    assert!(kafka.consume(&to, "%s\n") == lines);
}

#[test]
fn a_running_job_ends_at_a_signal_with_everything_written() {
    let kafka = Kafka::shared();
    let (from, to) = (kafka.topic("end", 1), kafka.topic("end_out", 1));
    kafka.produce(&from, 0, "{\"n\":1}\n");
    let source =
        flink_table(&kafka, "src", "n INT", &from, "'scan.startup.mode' = 'earliest-offset', 'format' = 'json'");
    let sink = flink_table(&kafka, "o", "n INT", &to, JSON);
    let job = Running::start(&format!("{source}{sink}INSERT INTO o SELECT n FROM src;"));
    until("the record", || kafka.values(&to).len() == 1);
    let done = job.end().expect_code(0);
    done.expect_balanced();
}

#[test]
fn dead_letters_go_to_a_topic() {
    let kafka = Kafka::shared();
    let (from, letters) = (kafka.topic("letters_in", 1), kafka.topic("letters", 1));
    kafka.produce(&from, 0, "{\"n\":1}\n{\"n\":\"many\"}\nno json\n");
    let s = Sandbox::new();
    let sql = flink_table(&kafka, "src", "n INT", &from, TO_LATEST)
        + "CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT n FROM src;";
    s.write("job.sql", sql);
    let target = format!("kafka://{}/{letters}", kafka.brokers);
    let run = s.wasmill(&["run", "job.sql", "--dead-letters", &target]).expect_code(0);
    assert_eq!(run.stdout, "{\"n\":1}\n");
    assert_eq!(run.operator("Source: src").count("dead"), 2);
    let found = kafka.consume(&letters, "%s|%h\n");
    let found: Vec<&str> = found.lines().collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("{\"n\":\"many\"}|") && found[1].starts_with("no json|"), "{found:?}");
    let place = format!("wasmill.topic={from},wasmill.partition=0,wasmill.offset=1");
    for part in ["wasmill.table=src", &place, "wasmill.reason=decode", "wasmill.column=n"] {
        assert!(found[0].contains(part), "{part} is not in {}", found[0]);
    }
}
