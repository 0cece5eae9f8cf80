//! Against librdkafka's mock cluster: errors that real brokers give rarely, and what the engine asks of a source and a
//! sink. The real broker's turn is in `tests/tests/kafka_*.rs`.

use super::sink::KafkaSink;
use super::source::KafkaSource;
use crate::connectors::api::{
    FailedRow, Sink, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::connectors::testing::{batch, block_on, context, with_format};
use crate::data::{Batch, Column, LogicalType, RowError};
use crate::error::Result;
use crate::metrics::{OperatorMetrics, OperatorRole};
use crate::sql::options::{Dialect, OptionEntry, OptionValue};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr as E};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster(topic: &str, partitions: i32) -> Cluster {
    let cluster = Cluster::new(1).unwrap();
    cluster.create_topic(topic, partitions, 1).unwrap();
    cluster
}

/// A table with one column `n`. Properties are prefixed with `properties.`.
fn table(cluster: &Cluster, topic: &str, pairs: &[(&'static str, &str)]) -> TableContext {
    let columns = vec![Column::new("n", LogicalType::Int, true)];
    let (properties, plain): (Vec<_>, Vec<_>) = pairs.iter().partition(|(k, _)| k.starts_with("properties."));
    let mut cx = with_format(context(Path::new("/"), columns, &plain), "json", &[]);
    cx.dialect = Dialect::Flink;
    cx.value_columns = vec![0];
    let mut list = |name: &'static str, text: String| {
        let value = OptionValue::List(vec![text.clone()]);
        cx.options.entries.insert(name, OptionEntry { value, text, key: name.into(), span: None, sensitive: false });
    };
    list("bootstrap.servers", cluster.bootstrap_servers());
    list("topic", topic.to_string());
    let given = properties.iter().map(|(k, v)| (k["properties.".len()..].to_string(), v.to_string()));
    cx.options.prefixed.insert("properties", given.collect());
    cx
}

const EARLIEST: (&str, &str) = ("scan.startup.mode", "earliest-offset");

fn source(cx: &TableContext) -> KafkaSource {
    KafkaSource::new(cx, false).unwrap()
}

fn subtask() -> SubtaskContext {
    SubtaskContext { subtask: 0, metrics: OperatorMetrics::new("test", OperatorRole::Sink) }
}

fn rows(numbers: impl IntoIterator<Item = u32>) -> Batch {
    let lines: Vec<String> = numbers.into_iter().map(|n| format!("{{\"n\":{n}}}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    batch(&[Column::new("n", LogicalType::Int, true)], &lines)
}

/// What became of the rows: refused at once, refused later.
fn write(sink: &KafkaSink, batches: &[Batch]) -> Result<(Vec<RowError>, Vec<FailedRow>)> {
    block_on(async {
        sink.prepare(None).await?;
        let mut writer = sink.writer(&subtask())?;
        let (mut errors, mut failed) = (vec![], vec![]);
        for batch in batches {
            writer.write(batch, &mut errors).await?;
        }
        writer.flush(&mut failed).await?;
        writer.close().await?;
        Ok((errors, failed))
    })
}

fn produce(cluster: &Cluster, topic: &str, numbers: impl IntoIterator<Item = u32>) {
    let cx = table(cluster, topic, &[]);
    let (errors, failed) = write(&KafkaSink::new(&cx, false).unwrap(), &[rows(numbers)]).unwrap();
    assert!(errors.is_empty() && failed.is_empty());
}

fn splits(source: &KafkaSource) -> Vec<SourceSplit> {
    block_on(source.enumerate(1)).unwrap()
}

fn reader(source: &KafkaSource, splits: Vec<SourceSplit>) -> Box<dyn SourceReader> {
    let mut reader = source.reader(&subtask()).unwrap();
    splits.into_iter().for_each(|s| reader.add_split(s));
    reader
}

/// The values of at least `count` records, as text; all of them if the source ends.
fn read(reader: &mut dyn SourceReader, count: usize, max_rows: usize) -> Vec<String> {
    let mut values = vec![];
    let end = Instant::now() + Duration::from_secs(30);
    while values.len() < count {
        assert!(Instant::now() < end, "{values:?} after 30 s");
        match block_on(reader.poll(max_rows, Duration::from_millis(100))).unwrap() {
            SourceOutput::Records(chunk) => {
                values.extend((0..chunk.len()).map(|i| String::from_utf8(chunk.record(i).to_vec()).unwrap()));
            }
            SourceOutput::Exhausted => break,
            _ => {}
        }
    }
    values
}

fn numbers(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|n| format!("{{\"n\":{n}}}")).collect()
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort_by_key(|v| (v.len(), v.clone()));
    values
}

#[test]
fn positions_in_a_snapshot_are_those_after_what_was_handed_on() {
    let cluster = cluster("t", 3);
    produce(&cluster, "t", 0..50);
    produce(&cluster, "t", 50..100);
    let source = source(&table(&cluster, "t", &[EARLIEST, ("scan.bounded.mode", "latest-offset")]));
    let mut first = reader(&source, splits(&source));
    // The reader has more in hand than it was asked for: that must not count.
    let mut values = read(&mut *first, 1, 7);
    let snapshot = first.snapshot();
    assert_eq!(snapshot.iter().map(|s| s.position).sum::<u64>(), values.len() as u64);
    drop(first);
    let mut second = reader(&source, block_on(source.restore(snapshot, 1)).unwrap());
    values.extend(read(&mut *second, usize::MAX, 1000));
    assert_eq!(sorted(values), numbers(0..100));
    // Ended partitions stay in the snapshot, at their ends.
    let last = second.snapshot();
    assert_eq!((last.len(), last.iter().map(|s| s.position).sum::<u64>()), (3, 100));
    let mut third = reader(&source, last);
    assert_eq!(read(&mut *third, usize::MAX, 1000), numbers(0..0));
    assert_eq!(third.progress(), Some((100, 100)));
}

#[test]
fn b44_latest_is_settled_once_so_a_restart_loses_nothing() {
    let cluster = cluster("t", 1);
    produce(&cluster, "t", 0..3);
    let source = source(&table(&cluster, "t", &[("scan.startup.mode", "latest-offset")]));
    let start = splits(&source);
    assert_eq!(start[0].position, 3);
    produce(&cluster, "t", 3..6);
    // A crash before the first checkpoint: the job goes on from what it started with.
    let mut again = reader(&source, block_on(source.restore(start, 1)).unwrap());
    assert_eq!(read(&mut *again, 3, 1000), numbers(3..6));
}

#[test]
fn b34_completed_checkpoints_are_committed_to_the_group() {
    let cluster = cluster("t", 1);
    produce(&cluster, "t", 0..8);
    let group = ("properties.group.id", "g");
    let earliest = source(&table(&cluster, "t", &[EARLIEST, group]));
    let mut first = reader(&earliest, splits(&earliest));
    let read_before = read(&mut *first, 5, 5).len() as u64;
    block_on(first.checkpoint_complete(&first.snapshot())).unwrap();
    let by_group = source(&table(&cluster, "t", &[("scan.startup.mode", "group-offsets"), group]));
    let end = Instant::now() + Duration::from_secs(30);
    // Commits are not waited for.
    let position = loop {
        let found = block_on(by_group.enumerate(1)).map(|s| s[0].position);
        match found {
            Ok(position) => break position,
            Err(e) => assert!(Instant::now() < end, "{e}"),
        }
    };
    assert_eq!(position, read_before);
}

#[test]
fn new_topics_and_partitions_are_discovered_and_begin_at_their_start() {
    let cluster = cluster("t-1", 1);
    let mut cx = table(&cluster, "t", &[("topic-pattern", r"t-\d"), ("scan.startup.mode", "latest-offset")]);
    cx.options.entries.shift_remove("topic");
    let source = source(&cx);
    let known: Vec<Arc<str>> = splits(&source).iter().map(|s| s.id.clone()).collect();
    assert_eq!(known, ["t-1-0".into()]);
    assert_eq!(source.discovery_interval(), Some(Duration::from_secs(300)));
    assert_eq!(block_on(source.discover(&known)).unwrap(), []);
    cluster.create_topic("t-2", 1, 1).unwrap();
    produce(&cluster, "t-2", 0..2);
    let found = block_on(source.discover(&known)).unwrap();
    assert_eq!((found.len(), &*found[0].id, found[0].position), (1, "t-2-0", 0));
    // They are added to a reader that is at work.
    let mut reader = reader(&source, vec![]);
    assert!(matches!(block_on(reader.poll(10, Duration::from_millis(10))).unwrap(), SourceOutput::Idle));
    found.into_iter().for_each(|s| reader.add_split(s));
    assert_eq!(read(&mut *reader, 2, 10), numbers(0..2));
}

#[test]
fn errors_that_pass_are_waited_out() {
    let cluster = cluster("t", 1);
    cluster.request_errors(
        RDKafkaApiKey::Produce,
        &[
            E::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
            E::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
            E::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        ],
    );
    produce(&cluster, "t", 0..10);
    cluster.request_errors(
        RDKafkaApiKey::Fetch,
        &[E::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, E::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART],
    );
    cluster.request_errors(RDKafkaApiKey::ListOffsets, &[E::RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE]);
    let source = source(&table(&cluster, "t", &[EARLIEST]));
    let mut reader = reader(&source, splits(&source));
    assert_eq!(read(&mut *reader, 10, 1000), numbers(0..10));
}

#[test]
fn missing_rights_end_the_job_and_say_which() {
    let cluster = cluster("t", 1);
    cluster.request_errors(RDKafkaApiKey::Produce, &[E::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED; 9]);
    let sink = KafkaSink::new(&table(&cluster, "t", &[]), false).unwrap();
    let e = write(&sink, &[rows(0..3)]).unwrap_err();
    assert!(!e.retryable && e.hint.as_deref().is_some_and(|h| h.contains("WRITE")), "{e} {:?}", e.hint);
}

#[test]
fn a_refused_batch_is_sent_again_in_parts() {
    let cluster = cluster("t", 1);
    // The whole batch, its first half; then all is well.
    cluster.request_errors(
        RDKafkaApiKey::Produce,
        &[E::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, E::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE],
    );
    produce(&cluster, "t", 0..9);
    let source = source(&table(&cluster, "t", &[EARLIEST, ("scan.bounded.mode", "latest-offset")]));
    let mut reader = reader(&source, splits(&source));
    assert_eq!(sorted(read(&mut *reader, usize::MAX, 1000)), numbers(0..9));
}

#[test]
fn records_that_are_refused_alone_are_failed_rows() {
    let cluster = cluster("t", 1);
    cluster.request_errors(RDKafkaApiKey::Produce, &[E::RD_KAFKA_RESP_ERR_INVALID_RECORD; 4]);
    let sink = KafkaSink::new(&table(&cluster, "t", &[]), false).unwrap();
    // Both together, twice; then each alone.
    let (errors, failed) = write(&sink, &[rows(0..2), rows(2..3)]).unwrap();
    assert!(errors.is_empty());
    let refused: Vec<u32> = failed.iter().map(|f| f.error.row).collect();
    assert!(!refused.is_empty() && refused.len() <= 2, "{failed:?}");
    assert!(failed.iter().all(|f| f.error.message.starts_with("Kafka: ")));
}

#[test]
fn a_record_longer_than_the_producer_sends_is_refused_at_once() {
    let cluster = cluster("t", 1);
    let mut cx = table(&cluster, "t", &[("properties.max.request.size", "1000")]);
    cx.schema.columns[0].logical_type = LogicalType::STRING;
    let cx = TableContext { value_columns: vec![0], ..with_format(cx, "json", &[]) };
    let long = format!("{{\"n\":\"{}\"}}", "x".repeat(2000));
    let rows = batch(&cx.schema.columns, &[r#"{"n":"a"}"#, &long, r#"{"n":"b"}"#]);
    let (errors, failed) = write(&KafkaSink::new(&cx, false).unwrap(), &[rows]).unwrap();
    assert_eq!((errors.len(), errors[0].row, failed.len()), (1, 1, 0));
}

#[test]
fn an_empty_flush_costs_nothing_and_is_not_counted() {
    let cluster = cluster("t", 1);
    let sink = KafkaSink::new(&table(&cluster, "t", &[]), false).unwrap();
    let cx = subtask();
    let mut writer = sink.writer(&cx).unwrap();
    block_on(writer.flush(&mut vec![])).unwrap();
    assert_eq!(cx.metrics.flushes.get(), 0);
}

#[test]
fn brokers_that_are_not_there_are_named_and_worth_another_try() {
    let cluster = cluster("t", 1);
    let mut cx = table(&cluster, "t", &[EARLIEST, ("properties.socket.connection.setup.timeout.ms", "1000")]);
    let gone = "127.0.0.1:1".to_string();
    if let Some(entry) = cx.options.entries.get_mut("bootstrap.servers") {
        entry.value = OptionValue::List(vec![gone.clone()]);
    }
    let e = block_on(source(&cx).probe()).unwrap_err();
    assert!(e.retryable && e.message.contains(&gone) && e.hint.is_some(), "{e}");
}

#[test]
fn dead_letters_are_with_the_brokers_after_a_flush() {
    use crate::connectors::api::DeadLetter;
    use crate::data::{Reason, RowOrigin};
    let cluster = cluster("dead", 1);
    let mut output = super::dead_letters(&format!("kafka://{}/dead?linger.ms=1", cluster.bootstrap_servers())).unwrap();
    let error = RowError::new(0, Reason::Decode, "no JSON");
    for n in 0..20 {
        let raw = Some(format!("junk {n}").into_bytes());
        let origin = RowOrigin { table: "t".into(), split: "t-0".into(), unit: "offset", position: n, raw };
        output.write(&DeadLetter { job: "j", table: "t", origin: &origin, error: &error }).unwrap();
    }
    output.flush().unwrap();
    let source = source(&table(&cluster, "dead", &[EARLIEST, ("scan.bounded.mode", "latest-offset")]));
    let mut reader = reader(&source, splits(&source));
    let expected: Vec<String> = (0..20).map(|n| format!("junk {n}")).collect();
    assert_eq!(sorted(read(&mut *reader, usize::MAX, 1000)), expected);
    let gone = super::dead_letters("kafka://127.0.0.1:1/dead?password=hush").err().unwrap();
    assert!(gone.message.contains("127.0.0.1:1") && !gone.message.contains("hush"), "{gone}");
}
