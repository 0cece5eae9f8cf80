//! Reading: which partitions, from where to where. Positions are the job's, not the group's: partitions are assigned,
//! no group is joined, and offsets are committed only for others to see.

use super::connection::Connection;
use super::decode::{RecordParts, decoder};
use super::native::{Consumer, TopicPartition};
use super::positions::Positions;
use super::properties::{Role, property};
use super::reader::{KafkaReader, ReaderSettings};
use super::start::{End, Reset, Start, end_of, start_of};
use super::topics::{self, Topics};
use crate::connectors::api::{
    Boundedness, Source, SourceReader, SourceSplit, SplitAssignment, SubtaskContext, TableContext,
};
use crate::data::ChangelogMode;
use crate::error::{Error, Result};
use crate::formats::Decoder;
use crate::sql::options::Dialect;
use async_trait::async_trait;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub struct KafkaSource {
    cx: TableContext,
    parts: RecordParts,
    plan: Arc<Plan>,
    discovery: Option<Duration>,
    /// Records that may still be read (sampleSize), over all subtasks.
    sample: Option<Arc<AtomicU64>>,
}

/// What is asked of the brokers, on a thread that may wait.
struct Plan {
    connection: Connection,
    topics: Topics,
    start: Start,
    end: End,
    /// As the table says; None: by the start mode.
    reset: Option<Reset>,
    dialect: Dialect,
}

impl KafkaSource {
    pub fn new(cx: &TableContext, is_upsert: bool) -> Result<Self> {
        let refuse = |message: String| topics::parse_error(&cx.table, message);
        let (dialect, options) = (cx.dialect, &cx.options);
        let plan = Plan {
            connection: Connection::new(cx, Role::Consumer)?,
            topics: Topics::of(dialect, options).map_err(refuse)?,
            // upsert-kafka has no start mode: its table is what all records say.
            start: if is_upsert {
                Start::Earliest
            } else {
                start_of(dialect, options).map_err(|p| refuse(p.message))?
            },
            end: end_of(dialect, options).map_err(|p| refuse(p.message))?,
            reset: Reset::of(options).map_err(|p| refuse(p.message))?,
            dialect,
        };
        Ok(Self {
            parts: RecordParts::of(cx, is_upsert)?,
            discovery: discovery_interval(cx)?,
            sample: options.int("sample-size").map(|n| Arc::new(AtomicU64::new(n.unsigned_abs()))),
            plan: Arc::new(plan),
            cx: cx.clone(),
        })
    }

    /// Runs `ask` where it may wait.
    async fn blocking<T: Send + 'static>(&self, ask: impl FnOnce(&Plan) -> Result<T> + Send + 'static) -> Result<T> {
        let plan = self.plan.clone();
        let answer = tokio::task::spawn_blocking(move || ask(&plan)).await;
        answer.map_err(|e| Error::internal(format!("asking Kafka: {e}")))?
    }
}

/// Flink's option; Flink 1.9's property; never by default outside of Flink's dialect.
fn discovery_interval(cx: &TableContext) -> Result<Option<Duration>> {
    const OPTION: &str = "scan.topic-partition-discovery.interval";
    const PROPERTY: &str = "flink.partition-discovery.interval-millis";
    let interval = match property(cx.options.prefixed.get("properties"), PROPERTY) {
        // Java writes "never" as the smallest number.
        Some(text) => match text.parse::<i64>() {
            Ok(ms) => u64::try_from(ms).ok().map(Duration::from_millis),
            Err(_) => return Err(topics::parse_error(&cx.table, format!("{PROPERTY} must be milliseconds"))),
        },
        None => cx.options.duration(OPTION).or((cx.dialect == Dialect::Flink).then_some(Duration::from_secs(300))),
    };
    Ok(interval.filter(|i| !i.is_zero()))
}

impl Plan {
    fn consumer(&self) -> Result<Consumer> {
        self.connection.consumer(&[("auto.offset.reset", "error")], None)
    }

    fn positions<'a>(&'a self, consumer: &'a Consumer) -> Positions<'a> {
        let unset = match (&self.start, self.dialect) {
            // Flink: a missing commit is an error. The older dialects have Kafka's own default.
            (Start::Group, Dialect::Flink) => Reset::Fail,
            (Start::Group, _) => Reset::Latest,
            _ => Reset::Earliest,
        };
        Positions { connection: &self.connection, consumer, reset: self.reset.unwrap_or(unset) }
    }

    fn probe(&self) -> Result<()> {
        let found = self.topics.find(&self.connection, &self.consumer()?)?;
        if found.is_empty() {
            tracing::warn!("table {}: no topic matches {} yet", self.connection.table, self.topics.describe());
        }
        Ok(())
    }

    fn enumerate(&self) -> Result<Vec<SourceSplit>> {
        let consumer = self.consumer()?;
        let partitions = topics::partitions(&self.topics.find(&self.connection, &consumer)?);
        let positions = self.positions(&consumer);
        let starts = positions.starts(&self.start, &partitions)?;
        let ends = positions.ends(&self.end, &partitions)?;
        let split = |at: TopicPartition| {
            let start = starts.get(&at).copied().unwrap_or(0);
            let end = ends.as_ref().and_then(|e| e.get(&at).copied());
            split_of(&at, start, end)
        };
        Ok(partitions.into_iter().map(split).collect())
    }

    fn discover(&self, known: &[Arc<str>]) -> Result<Vec<SourceSplit>> {
        let consumer = self.consumer()?;
        let mut partitions = topics::partitions(&self.topics.find(&self.connection, &consumer)?);
        partitions.retain(|at| !known.iter().any(|id| **id == at.to_string()));
        let starts = self.positions(&consumer).starts(&Start::Earliest, &partitions)?;
        Ok(partitions.iter().map(|at| split_of(at, starts.get(at).copied().unwrap_or(0), None)).collect())
    }
}

fn split_of(at: &TopicPartition, start: i64, end: Option<i64>) -> SourceSplit {
    let start = u64::try_from(start).unwrap_or(0);
    let size = end.map(|e| u64::try_from(e).unwrap_or(0).saturating_sub(start));
    let detail = json!({ "topic": &*at.topic, "partition": at.partition, "start": start, "end": end });
    SourceSplit { id: at.to_string().into(), position: start, detail, size }
}

#[async_trait]
impl Source for KafkaSource {
    fn boundedness(&self) -> Boundedness {
        match (&self.plan.end, &self.sample) {
            (End::Never, None) => Boundedness::Unbounded,
            _ => Boundedness::Bounded,
        }
    }

    fn changelog_mode(&self) -> ChangelogMode {
        if self.parts.is_upsert {
            return ChangelogMode::Upsert;
        }
        self.cx.format.as_ref().map_or(ChangelogMode::Append, |f| f.changelog_mode())
    }

    fn assignment(&self) -> SplitAssignment {
        SplitAssignment::Spread
    }

    async fn probe(&self) -> Result<()> {
        self.blocking(Plan::probe).await
    }

    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        self.blocking(Plan::enumerate).await
    }

    fn discovery_interval(&self) -> Option<Duration> {
        self.discovery.filter(|_| self.boundedness() == Boundedness::Unbounded)
    }

    async fn discover(&self, known: &[Arc<str>]) -> Result<Vec<SourceSplit>> {
        let known = known.to_vec();
        self.blocking(move |plan| plan.discover(&known)).await
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        decoder(&self.cx, &self.parts).map(Some)
    }

    fn reader(&self, cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        let plan = &self.plan;
        // A position that is gone: what was asked for is still there from the start, or nobody knows what is lost.
        let by_start = if plan.start == Start::Earliest { Reset::Earliest } else { Reset::Fail };
        let extra = [
            ("auto.offset.reset", plan.reset.unwrap_or(by_start).as_property()),
            ("enable.partition.eof", if plan.end == End::Never { "false" } else { "true" }),
        ];
        let consumer = plan.connection.consumer(&extra, Some(cx.metrics.clone()))?;
        let settings = ReaderSettings {
            connection: plan.connection.clone(),
            keeps: self.parts.keeps,
            max_record_bytes: self.cx.max_record_bytes,
            bounded: self.boundedness() == Boundedness::Bounded,
            sample: self.sample.clone(),
        };
        Ok(Box::new(KafkaReader::new(consumer, settings, cx.metrics.clone())))
    }
}
