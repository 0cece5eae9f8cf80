//! Reading Kafka: where it begins and ends, which topics, keys, metadata, records without a value.

use crate::kafka_support::{EARLIEST, Running, TO_LATEST, dt_table, flink_table, rows_of, run, until};
use wasmill_tests::Sandbox;
use wasmill_tests::services::{Kafka, unique};

/// Records {"n":from} .. {"n":to - 1}.
fn numbers(from: u32, to: u32) -> String {
    (from..to).map(|n| format!("{{\"n\":{n}}}\n")).collect()
}

fn rows(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    let mut rows: Vec<String> = numbers.into_iter().map(|n| format!("{{\"n\":{n}}}")).collect();
    rows.sort();
    rows
}

#[test]
fn every_dialect_reads_a_topic_to_where_it_stands() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("read", 2);
    kafka.produce(&topic, 0, &numbers(0, 3));
    kafka.produce(&topic, 1, &numbers(3, 5));
    let all = rows(0..5);
    assert_eq!(rows_of(&flink_table(&kafka, "src", "n INT", &topic, TO_LATEST), "n INT"), all);
    let dt = dt_table(&kafka, "src", "n INT", &topic, "offsetReset = 'earliest', offsetEnd = '{\"0\":3,\"1\":2}'");
    assert_eq!(rows_of(&dt, "n INT"), all);
}

#[test]
fn flink_starts_at_offsets_times_and_commits() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("start", 2);
    // kcat sets no time; the tool does: three records a second apart are told by their offsets.
    kafka.produce(&topic, 0, &numbers(0, 6));
    kafka.produce(&topic, 1, &numbers(10, 14));
    let read = |options: &str| {
        rows_of(&flink_table(&kafka, "src", "n INT", &topic, &format!("'format' = 'json', {options}")), "n INT")
    };
    let specific = "'scan.startup.mode' = 'specific-offsets', \
                    'scan.startup.specific-offsets' = 'partition:0,offset:4;partition:1,offset:1'";
    assert_eq!(read(&format!("{specific}, 'scan.bounded.mode' = 'latest-offset'")), rows([4, 5, 11, 12, 13]));
    let end = "'scan.bounded.mode' = 'specific-offsets', \
               'scan.bounded.specific-offsets' = 'partition:0,offset:5;partition:1,offset:1'";
    assert_eq!(read(&format!("{specific}, {end}")), rows([4]));
    // Partition 1 is not named: it ends where it stands.
    let end = "'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = 'partition:0,offset:1'";
    assert_eq!(read(&format!("{EARLIEST}, {end}")), rows([0, 10, 11, 12, 13]));
    let first = kafka.consume(&topic, "%T %p %o\n");
    let mut times: Vec<i64> = first.lines().filter_map(|l| l.split(' ').next()?.parse().ok()).collect();
    times.sort_unstable();
    let (oldest, newest) = (times[0], times[times.len() - 1]);
    let from = |at: i64| format!("'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '{at}'");
    let to_latest = "'scan.bounded.mode' = 'latest-offset'";
    assert_eq!(read(&format!("{}, {to_latest}", from(oldest))).len(), 10);
    assert_eq!(read(&format!("{}, {to_latest}", from(newest + 1))).len(), 0);
    let to = format!("'scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '{}'", newest + 1);
    assert_eq!(read(&format!("{EARLIEST}, {to}")).len(), 10);
}

#[test]
fn b35_without_a_commit_the_reset_property_decides() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("reset", 1);
    kafka.produce(&topic, 0, &numbers(0, 3));
    let source = |reset: &str| {
        let group = unique("group");
        let reset =
            if reset.is_empty() { String::new() } else { format!(", 'properties.auto.offset.reset' = '{reset}'") };
        flink_table(
            &kafka,
            "src",
            "n INT",
            &topic,
            &format!(
                "'format' = 'json', 'properties.group.id' = '{group}', 'scan.startup.mode' = 'group-offsets', \
                 'scan.bounded.mode' = 'latest-offset'{reset}"
            ),
        )
    };
    assert_eq!(rows_of(&source("earliest"), "n INT"), rows(0..3));
    assert_eq!(rows_of(&source("latest"), "n INT"), rows([]));
    for reset in ["none", ""] {
        let sql =
            source(reset) + "CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;";
        run(&sql)
            .expect_code(2)
            .expect_stderr(&format!("has committed no offset of {topic}-0"))
            .expect_stderr("auto.offset.reset");
    }
}

#[test]
fn b34_group_offsets_are_where_the_group_stands() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("commit", 1);
    kafka.produce(&topic, 0, &numbers(0, 8));
    let group = unique("group");
    kafka.tool(
        "ConsumerGroupCommand",
        &["--group", &group, "--topic", &topic, "--reset-offsets", "--to-offset", "5", "--execute"],
    );
    let dt = dt_table(
        &kafka,
        "src",
        "n INT",
        &topic,
        &format!("groupId = '{group}', offsetReset = 'group-offsets', offsetEnd = '{{\"0\":8}}'"),
    );
    assert_eq!(rows_of(&dt, "n INT"), rows(5..8));
    let bounded = "'scan.bounded.mode' = 'group-offsets', 'format' = 'json'";
    // Where the job ended, the group stands: a next one goes on from there.
    let to_group = format!("{EARLIEST}, {bounded}, 'properties.group.id' = '{group}'");
    assert_eq!(rows_of(&flink_table(&kafka, "src", "n INT", &topic, &to_group), "n INT"), rows(0..8));
    assert_eq!(rows_of(&dt, "n INT"), rows([]));
}

#[test]
fn b45_ends_are_exclusive_and_empty_partitions_do_not_hold_up() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("end", 2);
    kafka.produce(&topic, 0, &numbers(0, 120));
    let source = |end: &str| dt_table(&kafka, "src", "n INT", &topic, &format!("offsetReset = 'earliest', {end}"));
    assert_eq!(rows_of(&source("offsetEnd = '{\"0\":100,\"1\":0}'"), "n INT"), rows(0..100));
    let per_topic = format!("offsetEnd = '{{\"{topic}\":{{\"0\":7}}}}'");
    assert_eq!(rows_of(&source(&per_topic), "n INT"), rows(0..7));
    assert_eq!(rows_of(&source("sampleSize = '13'"), "n INT"), rows(0..13));
    // An offset for a partition that is not there would be waited for without end.
    let sql = source("offsetEnd = '{\"7\":1}'")
        + "CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;";
    run(&sql).expect_code(2).expect_stderr("partition 7, which does not exist");
}

#[test]
fn transaction_marks_and_aborted_records_do_not_hold_up_a_bounded_read() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("txn", 1);
    // Each transaction ends with a mark that takes an offset.
    for (from, to) in [(0, 2), (2, 4)] {
        let id = unique("txn");
        let config = format!("transactional.id={id}");
        kafka.produce_with(&topic, &["-p", "0", "-X", &config], numbers(from, to).as_bytes());
    }
    for isolation in ["read_uncommitted", "read_committed"] {
        let options = format!("{TO_LATEST}, 'properties.isolation.level' = '{isolation}'");
        assert_eq!(rows_of(&flink_table(&kafka, "src", "n INT", &topic, &options), "n INT"), rows(0..4), "{isolation}");
    }
}

#[test]
fn b37_lists_and_patterns_of_topics() {
    let kafka = Kafka::shared();
    let stem = unique("pat");
    for (i, name) in [format!("{stem}-a"), format!("{stem}-12"), format!("x{stem}-a")].iter().enumerate() {
        kafka.create(name, 1);
        kafka.produce(name, 0, &numbers(i as u32, i as u32 + 1));
    }
    let pattern = |text: &str| {
        format!(
            "CREATE TABLE src (n INT) WITH ('connector' = 'kafka', 'topic-pattern' = '{text}', \
             'properties.bootstrap.servers' = '{}', {TO_LATEST});\n",
            kafka.brokers
        )
    };
    for text in [format!(r"({stem}-a|{stem}-\\d*)"), format!(r"{stem}-(a|\d+)")] {
        assert_eq!(rows_of(&pattern(&text), "n INT"), rows([0, 1]), "{text}");
    }
    // flinkStreamSQL: commas, with blanks around them, and offsets per topic.
    let offsets = format!("{{\"{stem}-a\":{{\"0\":1}},\"{stem}-12\":{{\"0\":1}}}}");
    let list = format!("{stem}-a , {stem}-12");
    let dt = dt_table(&kafka, "src", "n INT", &list, &format!("offsetReset = 'earliest', offsetEnd = '{offsets}'"));
    assert_eq!(rows_of(&dt, "n INT"), rows([0, 1]));
    let flink = flink_table(&kafka, "src", "n INT", &format!("{stem}-a;x{stem}-a"), TO_LATEST);
    assert_eq!(rows_of(&flink, "n INT"), rows([0, 2]));
}

#[test]
fn dli_reads_with_the_keys_of_seed_004() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("dli", 1);
    kafka.produce(&topic, 0, "{\"car_id\": 312, \"car_owner\": \"wang\", \"car_brand\": \"tang\"}\n");
    let out = kafka.topic("dli_out", 1);
    let sql = format!(
        "create table kafkaSource(car_id STRING, car_owner STRING, car_brand STRING) with (\
         'connector.type' = 'kafka', 'connector.version' = '0.11', 'connector.topic' = '{topic}', \
         'connector.properties.bootstrap.servers' = '{0}', 'connector.properties.group.id' = 'test-group', \
         'connector.startup-mode' = 'earliest-offset', 'format.type' = 'json');\n\
         create table kafkaSink(owner STRING, id STRING) with ('connector.type' = 'kafka', 'connector.topic' = '{out}', \
         'connector.properties.bootstrap.servers' = '{0}', 'format.type' = 'json');\n\
         INSERT INTO kafkaSink SELECT car_owner, car_id FROM kafkaSource;",
        kafka.brokers
    );
    let job = Running::start(&sql);
    assert_eq!(kafka.wait_for(&out, 1), [r#"{"owner":"wang","id":"312"}"#]);
    job.end().expect_code(0);
}

#[test]
fn metadata_and_key_columns_are_read() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("meta", 1);
    let send = |args: &[&str], input: &[u8]| kafka.produce_with(&topic, &[&["-p", "0"], args].concat(), input);
    send(&["-K", "|", "-H", "a=1", "-H", "a=2", "-H", "b=x"], b"{\"k_id\":7}|{\"v\":\"one\"}\n");
    send(&[], b"{\"v\":\"no key\"}\n");
    send(&["-K", "|"], b"not json|{\"v\":\"bad key\"}\n");
    let columns = "k_id INT, v STRING, t STRING METADATA FROM 'topic' VIRTUAL, `partition` INT METADATA VIRTUAL, \
                   `offset` BIGINT METADATA VIRTUAL, headers MAP<STRING, BYTES> METADATA, \
                   kind STRING METADATA FROM 'timestamp-type' VIRTUAL, epoch INT METADATA FROM 'leader-epoch' VIRTUAL, \
                   ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'";
    let options = format!(
        "{}, 'value.format' = 'json', 'key.format' = 'json', 'key.fields' = 'k_id', \
         'value.fields-include' = 'EXCEPT_KEY', 'on-error' = 'dead-letter'",
        TO_LATEST.replace(", 'format' = 'json'", "")
    );
    let source = flink_table(&kafka, "src", columns, &topic, &options);
    let sql = format!(
        "{source}CREATE TABLE o (k_id INT, v STRING, t STRING, p INT, f BIGINT, h MAP<STRING, BYTES>, kind STRING, epoch INT, timed BOOLEAN) \
         WITH ('connector' = 'print');\n\
         INSERT INTO o SELECT k_id, v, t, `partition`, `offset`, headers, kind, epoch, ts IS NOT NULL FROM src;"
    );
    let done = run(&sql).expect_code(0);
    let line = |id: &str, v: &str, f: u32, h: &str| {
        format!(
            "{{\"k_id\":{id},\"v\":\"{v}\",\"t\":\"{topic}\",\"p\":0,\"f\":{f},\"h\":{h},\"kind\":\"CreateTime\",\
             \"epoch\":0,\"timed\":true}}\n"
        )
    };
    assert_eq!(done.stdout, line("7", "one", 0, r#"{"a":"Mg==","b":"eA=="}"#) + &line("null", "no key", 1, "{}"));
    assert!(done.stderr.contains("the record's key") && done.stderr.contains("offset 2"), "{}", done.stderr);
    assert_eq!(done.operator("Source: src").count("dead"), 1);
}

#[test]
fn tombstones_are_skipped_and_counted_and_never_end_the_job() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("tomb", 1);
    kafka.produce_with(&topic, &["-p", "0", "-K", ":", "-Z"], b"a:{\"n\":1}\nb:\nc:{\"n\":2}\n");
    let source = flink_table(&kafka, "src", "n INT", &topic, TO_LATEST);
    let done =
        run(&format!("{source}CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;"))
            .expect_code(0);
    assert_eq!(done.stdout, "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(done.operator("Source: src").count("skipped"), 1);
    done.expect_balanced();
    // To raw, no value is a NULL.
    let options = TO_LATEST.replace("json", "raw");
    let source = flink_table(&kafka, "src", "s STRING", &topic, &options);
    assert_eq!(rows_of(&source, "s STRING"), [r#"{"s":"{\"n\":1}"}"#, r#"{"s":"{\"n\":2}"}"#, r#"{"s":null}"#]);
}

#[test]
fn a_record_that_cannot_be_read_names_its_partition_and_offset() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("bad", 1);
    kafka.produce(&topic, 0, "{\"n\":1}\nnot json\n{\"n\":3}\n");
    let job = |policy: &str| {
        let source = flink_table(&kafka, "src", "n INT", &topic, &format!("{TO_LATEST}{policy}"));
        format!("{source}CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;")
    };
    run(&job("")).expect_code(3).expect_stderr(&format!("{topic}-0 offset 1"));
    let done = run(&job(", 'on-error' = 'dead-letter'")).expect_code(0);
    assert_eq!(done.stdout, "{\"n\":1}\n{\"n\":3}\n");
}

#[test]
fn what_is_wrong_with_a_table_is_said_before_a_connection_is_made() {
    let s = Sandbox::new();
    for (options, part) in [
        ("'scan.startup.mode' = 'specific-offsets'", "specific-offsets needs scan.startup.specific-offsets"),
        (
            "'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:42;partition:1'",
            "must look like partition:0,offset:42;partition:1,offset:300",
        ),
        ("'scan.startup.mode' = 'group-offsets'", "needs properties.group.id"),
        ("'scan.bounded.mode' = 'timestamp'", "timestamp needs scan.bounded.timestamp-millis"),
        ("'properties.fetch.min.bytes' = 'many'", "fetch.min.bytes"),
        ("'properties.sasl.jaas.config' = 'a.B required;'", "the login module B cannot run here"),
        ("'properties.plugin.library.paths' = '/tmp/x.so'", "may not load libraries"),
        ("'key.format' = 'json'", "key.format needs key.fields"),
        (
            "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'x'",
            "not supported yet: exactly-once",
        ),
    ] {
        let start = if options.contains("startup") { "" } else { "'scan.startup.mode' = 'earliest-offset', " };
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src (n INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', \
                 'properties.bootstrap.servers' = '127.0.0.1:1', {start}{options});\n\
                 CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;"
            ),
        );
        s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr(part);
    }
}

#[test]
fn offsets_that_are_gone_end_the_job_unless_the_table_says_where_to_go_on() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("gone", 1);
    kafka.produce(&topic, 0, &numbers(0, 3));
    let job = |reset: &str| {
        let options = format!(
            "'format' = 'json', 'scan.startup.mode' = 'specific-offsets', \
             'scan.startup.specific-offsets' = 'partition:0,offset:1000'{reset}"
        );
        let source = flink_table(&kafka, "src", "n INT", &topic, &options);
        format!("{source}CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT * FROM src;")
    };
    run(&job("")).expect_code(3).expect_stderr(&format!("{topic}-0 offset 1000")).expect_stderr("auto.offset.reset");
    let out = kafka.topic("gone_out", 1);
    let sql = job(", 'properties.auto.offset.reset' = 'earliest'").replace(
        "'connector' = 'print'",
        &format!(
            "'connector' = 'kafka', 'topic' = '{out}', 'properties.bootstrap.servers' = '{}', 'format' = 'json'",
            kafka.brokers
        ),
    );
    let mut job = Running::start(&sql);
    until("the records", || kafka.values(&out).len() == 3);
    assert!(job.is_running());
    job.end().expect_code(0);
}
