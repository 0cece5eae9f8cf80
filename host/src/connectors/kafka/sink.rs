//! Writing: which topic, what a change becomes, and the checks before the first record.

use super::connection::{ANSWER_TIME, Connection};
use super::encode::{ChangeMode, RecordEncoder};
use super::last_changes::LastChanges;
use super::metadata::MetadataColumn;
use super::native::{KafkaError, Producer, TopicMetadata, code};
use super::properties::Role;
use super::topics;
use super::writer::{KafkaWriter, Partitioner, WriterSettings};
use crate::connectors::api::{Sink, SinkWriter, SubtaskContext, TableContext};
use crate::data::ChangelogMode;
use crate::error::{Error, Result};
use crate::sql::options::Dialect;
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A topic that the broker makes when it is asked for takes a moment to be there.
const CREATION_TIME: Duration = Duration::from_secs(5);

pub struct KafkaSink {
    cx: TableContext,
    mode: ChangeMode,
    target: Arc<Target>,
    partitioner: PartitionerChoice,
    /// `none`: a checkpoint does not wait for the records before it.
    waits: bool,
}

struct Target {
    connection: Connection,
    /// None: a metadata column says it for each row.
    topic: Option<String>,
    /// Of the topic; known after `prepare`.
    partitions: AtomicU32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartitionerChoice {
    Default,
    Fixed,
    RoundRobin,
}

impl KafkaSink {
    pub fn new(cx: &TableContext, is_upsert: bool) -> Result<Self> {
        let refuse = |message: &str| topics::parse_error(&cx.table, message.to_string());
        let connection = Connection::new(cx, Role::Producer)?;
        let per_row = super::metadata::columns(cx)?.iter().any(|(_, m)| *m == MetadataColumn::Topic);
        let topic = match cx.options.list("topic").unwrap_or_default() {
            [topic] => Some(topic.clone()),
            _ if per_row => None,
            [] => return Err(refuse("a sink needs a topic; a pattern names none to write to")),
            _ => return Err(refuse("a sink writes to one topic, unless a METADATA FROM 'topic' column says which")),
        };
        let partitioner = match cx.options.text("sink.partitioner").map(str::to_ascii_lowercase).as_deref() {
            None | Some("default") => PartitionerChoice::Default,
            Some("fixed") => PartitionerChoice::Fixed,
            Some("round-robin") => PartitionerChoice::RoundRobin,
            Some(other) => return Err(refuse(&format!("there is no partitioner {other}"))),
        };
        if partitioner != PartitionerChoice::Default && topic.is_none() {
            return Err(refuse("sink.partitioner needs one topic"));
        }
        Ok(Self {
            mode: change_mode(cx, is_upsert)?,
            target: Arc::new(Target { connection, topic, partitions: AtomicU32::new(0) }),
            partitioner,
            waits: cx.options.text("sink.delivery-guarantee") != Some("none"),
            cx: cx.clone(),
        })
    }
}

impl KafkaSink {
    /// How many keys' changes are held back, and for how long.
    fn held_back(&self) -> Option<(usize, Duration)> {
        if self.mode != ChangeMode::Upsert {
            return None;
        }
        let keys = self.cx.options.int("sink.buffer-flush.max-rows").and_then(|n| usize::try_from(n).ok());
        let interval = self.cx.options.duration("sink.buffer-flush.interval");
        keys.filter(|n| *n > 0).zip(interval.filter(|i| !i.is_zero()))
    }
}

fn change_mode(cx: &TableContext, is_upsert: bool) -> Result<ChangeMode> {
    if is_upsert {
        return Ok(ChangeMode::Upsert);
    }
    if cx.dialect == Dialect::DtStack {
        return Ok(match cx.options.text("update-mode") {
            Some("upsert" | "retract") => ChangeMode::Retract,
            _ => ChangeMode::AddedOnly,
        });
    }
    Ok(ChangeMode::AsFormat(cx.format()?.changelog_mode()))
}

impl Target {
    fn producer(&self) -> Result<Producer> {
        self.connection.producer(None)
    }

    /// Asks for the brokers only: asking for the topic could make it.
    fn probe(&self) -> Result<()> {
        let producer = self.producer()?;
        let failed = |e: KafkaError| self.connection.error("the brokers do not answer", &e);
        producer.metadata(None, ANSWER_TIME).map(|_| ()).map_err(failed)
    }

    /// Asks for the topic, which makes it where the broker creates topics by itself.
    fn prepare(&self) -> Result<()> {
        let Some(topic) = &self.topic else { return self.probe() };
        let producer = self.producer()?;
        let end = Instant::now() + CREATION_TIME;
        let found = loop {
            match self.look(&producer, topic) {
                Ok(found) => break found,
                // Not there (yet), or made but without a leader yet.
                Err(e) if e.code > 0 && is_young(e.code) && Instant::now() < end => {
                    producer.poll(Duration::from_millis(200));
                }
                Err(e) => return Err(self.connection.error(&format!("topic {topic}"), &e)),
            }
        };
        self.partitions.store(found.partitions.len() as u32, Relaxed);
        Ok(())
    }

    fn look(&self, producer: &Producer, topic: &str) -> std::result::Result<TopicMetadata, KafkaError> {
        let metadata = producer.metadata(Some(topic), ANSWER_TIME)?;
        match metadata.topics.into_iter().find(|t| t.name == topic) {
            Some(t) if t.error == code::OK && !t.partitions.is_empty() => Ok(t),
            Some(t) if t.error != code::OK => Err(KafkaError::of(t.error)),
            _ => Err(KafkaError::of(code::UNKNOWN_TOPIC_OR_PARTITION)),
        }
    }
}

fn is_young(error: i32) -> bool {
    matches!(error, code::UNKNOWN_TOPIC_OR_PARTITION | code::LEADER_NOT_AVAILABLE)
}

async fn blocking<T: Send + 'static>(ask: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let answer = tokio::task::spawn_blocking(ask).await;
    answer.map_err(|e| Error::internal(format!("asking Kafka: {e}")))?
}

#[async_trait]
impl Sink for KafkaSink {
    fn changelog_mode(&self) -> ChangelogMode {
        match self.mode {
            ChangeMode::AsFormat(mode) => mode,
            ChangeMode::AddedOnly | ChangeMode::Retract => ChangelogMode::All,
            ChangeMode::Upsert => ChangelogMode::Upsert,
        }
    }

    async fn probe(&self) -> Result<()> {
        let target = self.target.clone();
        blocking(move || target.probe()).await
    }

    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        let target = self.target.clone();
        blocking(move || target.prepare()).await
    }

    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        let target = &self.target;
        let producer = target.connection.producer(Some(cx.metrics.clone()))?;
        let partitions = target.partitions.load(Relaxed).max(1);
        let partitioner = match self.partitioner {
            PartitionerChoice::Default => Partitioner::Keyed,
            PartitionerChoice::Fixed => Partitioner::Fixed(cx.subtask as u32 % partitions),
            // Subtasks begin at different partitions.
            PartitionerChoice::RoundRobin => {
                Partitioner::RoundRobin { next: cx.subtask as u32 % partitions, partitions }
            }
        };
        let settings = WriterSettings {
            connection: target.connection.clone(),
            topic: target.topic.clone(),
            partitioner,
            waits: self.waits,
        };
        let encoder = RecordEncoder::new(&self.cx, self.mode)?;
        let writer = KafkaWriter::new(producer, encoder, settings, cx.metrics.clone());
        Ok(match self.held_back() {
            Some((keys, interval)) => Box::new(LastChanges::new(writer, self.cx.key_columns.clone(), keys, interval)),
            None => Box::new(writer),
        })
    }
}
