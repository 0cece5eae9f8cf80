//! Reads the partitions of one subtask: messages from librdkafka's queue into one chunk per partition and poll.

use super::connection::Connection;
use super::decode::Keeps;
use super::native::{Consumer, KafkaError, Message, MessageBatch, TopicPartition, code};
use super::partition::Partition;
use crate::connectors::api::{SourceOutput, SourceReader, SourceSplit};
use crate::data::{Envelope, FailurePolicy, Reason, RecordChunk, RecordRef, RefusedRecord, RowError};
use crate::error::Result;
use crate::metrics::OperatorMetrics;
use async_trait::async_trait;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A chunk ends here, whatever its number of records: its places are 32 bits wide, and it stays in memory as long as
/// one of its rows travels.
const CHUNK_BYTES: usize = 8 << 20;
/// How often the lag is looked at.
const LAG_EVERY: Duration = Duration::from_secs(1);
/// A topic that was there at the start may be unknown for a moment (a broker restarts, its leader moves).
const UNKNOWN_GRACE: Duration = Duration::from_secs(15);

/// How long the brokers may take to confirm the last commit.
const COMMIT_TIME: Duration = Duration::from_secs(5);

pub struct ReaderSettings {
    pub connection: Connection,
    pub keeps: Keeps,
    pub max_record_bytes: usize,
    pub bounded: bool,
    pub sample: Option<Arc<AtomicU64>>,
}

/// A chunk that `poll` has not returned yet.
struct Waiting {
    partition: usize,
    chunk: RecordChunk,
    /// The position after it.
    next: i64,
}

pub struct KafkaReader {
    batch: MessageBatch,
    consumer: Consumer,
    settings: ReaderSettings,
    metrics: Arc<OperatorMetrics>,
    partitions: Vec<Partition>,
    by_name: HashMap<(Arc<str>, i32), usize>,
    waiting: VecDeque<Waiting>,
    /// Partitions that `add_split` gave and the consumer does not have yet.
    unassigned: Vec<usize>,
    lag_at: Option<Instant>,
    unknown_since: Option<Instant>,
    /// What the newest commit says.
    committing: Vec<(TopicPartition, i64)>,
}

impl KafkaReader {
    pub fn new(consumer: Consumer, settings: ReaderSettings, metrics: Arc<OperatorMetrics>) -> Self {
        Self {
            batch: MessageBatch::new(),
            consumer,
            settings,
            metrics,
            partitions: Vec::new(),
            by_name: HashMap::new(),
            waiting: VecDeque::new(),
            unassigned: Vec::new(),
            lag_at: None,
            unknown_since: None,
            committing: Vec::new(),
        }
    }

    fn assign_new(&mut self) -> Result<()> {
        if self.unassigned.is_empty() {
            return Ok(());
        }
        let new: Vec<_> = self
            .unassigned
            .drain(..)
            .map(|i| &self.partitions[i])
            .filter(|p| !p.ended())
            .map(|p| (p.at.clone(), p.fetched))
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        let failed =
            |reason| self.settings.connection.error("partitions cannot be assigned", &KafkaError { code: 0, reason });
        self.consumer.assign(&new).map_err(failed)
    }

    /// Takes what has come; waits for the first message if nothing has.
    fn fetch(&mut self, max_rows: usize, max_wait: Duration) -> Result<()> {
        let mut batch = std::mem::replace(&mut self.batch, MessageBatch::new());
        self.consumer.consume(&mut batch, max_rows, max_wait);
        let taken = self.take(&batch);
        batch.clear();
        self.batch = batch;
        taken?;
        self.drop_ended()?;
        self.check_client()
    }

    fn take(&mut self, batch: &MessageBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut building: Vec<Option<usize>> = vec![None; self.partitions.len()];
        // Messages of a partition come in runs.
        let mut run: Option<(usize, i32, usize)> = None;
        let mut bytes = 0;
        for m in batch.iter() {
            let index = match run {
                Some((topic, partition, index)) if topic == m.topic_address() && partition == m.partition() => index,
                _ => match self.by_name.get(&(Arc::from(m.topic()), m.partition())) {
                    Some(&index) => {
                        run = Some((m.topic_address(), m.partition(), index));
                        index
                    }
                    None if m.error() != code::OK => {
                        self.on_error(None, &m)?;
                        continue;
                    }
                    None => continue,
                },
            };
            if m.error() != code::OK {
                self.on_error(Some(index), &m)?;
                continue;
            }
            if self.partitions[index].ends_before(m.offset()) {
                // What lay between was taken away (compaction): the end is reached, and this record is behind it.
                self.at_end(index, m.offset());
                continue;
            }
            if !self.take_sample() {
                continue;
            }
            bytes += m.value().map_or(0, <[u8]>::len) + m.key().map_or(0, <[u8]>::len);
            let at = self.chunk_for(index, &mut building);
            let waiting = &mut self.waiting[at];
            append(&mut waiting.chunk, &m, &self.settings);
            waiting.next = m.offset() + 1;
            self.partitions[index].fetched = m.offset() + 1;
        }
        self.metrics.bytes.add(bytes as u64);
        Ok(())
    }

    /// The place in `waiting` of the chunk that takes the partition's next record.
    fn chunk_for(&mut self, index: usize, building: &mut [Option<usize>]) -> usize {
        let p = &self.partitions[index];
        if let Some(at) = building[index].filter(|at| self.waiting[*at].chunk.bytes.len() < CHUNK_BYTES) {
            return at;
        }
        let chunk = RecordChunk {
            table: self.settings.connection.table.clone(),
            split: p.id.clone(),
            unit: "offset",
            ..RecordChunk::default()
        };
        self.waiting.push_back(Waiting { partition: index, chunk, next: p.fetched });
        let at = self.waiting.len() - 1;
        building[index] = Some(at);
        at
    }

    /// False: the sample is full.
    fn take_sample(&self) -> bool {
        let Some(left) = &self.settings.sample else { return true };
        left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    fn sample_is_full(&self) -> bool {
        self.settings.sample.as_ref().is_some_and(|left| left.load(Relaxed) == 0)
    }

    /// Errors come in the queue, between the messages.
    fn on_error(&mut self, index: Option<usize>, m: &Message<'_>) -> Result<()> {
        let error = KafkaError { code: m.error(), reason: m.error_text() };
        match (error.code, index) {
            (code::PARTITION_EOF, Some(index)) => {
                self.at_end(index, m.offset());
                Ok(())
            }
            (code::PARTITION_EOF, None) => Ok(()),
            (code::UNKNOWN_TOPIC_OR_PARTITION | code::UNKNOWN_TOPIC | code::UNKNOWN_PARTITION, _) => {
                self.unknown_since.get_or_insert_with(Instant::now);
                self.consumer.events().note(error);
                Ok(())
            }
            // Nothing is asked of a group that the table does not name.
            (code::GROUP_AUTHORIZATION, _) if self.settings.connection.group.is_none() => Ok(()),
            (
                code::AUTO_OFFSET_RESET
                | code::OFFSET_OUT_OF_RANGE
                | code::TOPIC_AUTHORIZATION
                | code::GROUP_AUTHORIZATION
                | code::AUTHENTICATION
                | code::SASL_AUTHENTICATION
                | code::FATAL
                | code::INVALID_TOPIC,
                _,
            ) => {
                let what = match index {
                    Some(i) => format!("{} offset {}", self.partitions[i].at, self.partitions[i].fetched),
                    None => "reading".into(),
                };
                Err(self.settings.connection.error(&what, &error))
            }
            _ => {
                self.consumer.events().note(error);
                Ok(())
            }
        }
    }

    /// The partition holds nothing before `offset` that was not read: what is missing are the marks of transactions
    /// and records that compaction took away.
    fn at_end(&mut self, index: usize, offset: i64) {
        let p = &mut self.partitions[index];
        p.fetched = p.fetched.max(offset);
        let next = p.fetched;
        match self.waiting.iter_mut().rev().find(|w| w.partition == index) {
            Some(w) => w.next = next,
            None => p.returned = next,
        }
    }

    /// What is read to its end is not fetched any more.
    fn drop_ended(&mut self) -> Result<()> {
        let full = self.sample_is_full();
        let mut ended = Vec::new();
        for p in self.partitions.iter_mut().filter(|p| p.fetching && (full || p.ended())) {
            p.fetching = false;
            ended.push(p.at.clone());
        }
        if ended.is_empty() {
            return Ok(());
        }
        let failed =
            |reason| self.settings.connection.error("partitions cannot be left", &KafkaError { code: 0, reason });
        self.consumer.unassign(&ended).map_err(failed)
    }

    fn check_client(&mut self) -> Result<()> {
        if let Some(error) = self.consumer.events().fatal() {
            return Err(self.settings.connection.error("reading", &error));
        }
        if self.unknown_since.is_some_and(|since| since.elapsed() > UNKNOWN_GRACE) {
            self.unknown_since = None;
            self.look_for_topics()?;
        }
        if self.lag_at.is_none_or(|at| at.elapsed() >= LAG_EVERY) {
            self.lag_at = Some(Instant::now());
            let behind = self.partitions.iter().filter(|p| p.fetching).filter_map(|p| {
                let end = self.consumer.known_end(&p.at)?;
                u64::try_from(end - p.returned).ok()
            });
            self.metrics.lag.set(behind.sum());
        }
        Ok(())
    }

    /// A topic that does not come back ends the job.
    fn look_for_topics(&self) -> Result<()> {
        let mut topics: Vec<&str> = self.partitions.iter().map(|p| &*p.at.topic).collect();
        topics.dedup();
        for topic in topics {
            let found = self.consumer.metadata(Some(topic), Duration::from_secs(5));
            let gone = match &found {
                Ok(m) => m.topics.iter().any(|t| t.error == code::UNKNOWN_TOPIC_OR_PARTITION),
                Err(e) => e.code == code::UNKNOWN_TOPIC_OR_PARTITION || e.code == code::UNKNOWN_TOPIC,
            };
            if gone {
                let error = KafkaError::of(code::UNKNOWN_TOPIC_OR_PARTITION);
                return Err(self.settings.connection.error(&format!("topic {topic} is gone"), &error));
            }
        }
        Ok(())
    }

    fn next_waiting(&mut self) -> Option<SourceOutput> {
        let w = self.waiting.pop_front()?;
        self.partitions[w.partition].returned = w.next;
        Some(SourceOutput::Records(w.chunk))
    }

    fn all_ended(&self) -> bool {
        self.settings.bounded && (self.sample_is_full() || self.partitions.iter().all(Partition::ended))
    }
}

fn append(chunk: &mut RecordChunk, m: &Message<'_>, settings: &ReaderSettings) {
    let keeps = settings.keeps;
    let position = u64::try_from(m.offset()).unwrap_or(0);
    let value = m.value();
    if value.is_none() && !keeps.missing_values {
        let error = RowError::new(0, Reason::NoValue, "the record has no value (a tombstone)");
        let error = error.policy(Some(FailurePolicy::Skip));
        chunk.refused.push(RefusedRecord { position, raw: vec![], error });
        return;
    }
    let bytes = value.unwrap_or_default();
    let key = if keeps.keys { m.key() } else { None };
    let len = bytes.len() + key.map_or(0, <[u8]>::len);
    if len > settings.max_record_bytes {
        let message = format!("the record has {len} bytes, more than the limit of {}", settings.max_record_bytes);
        let raw = bytes[..bytes.len().min(RefusedRecord::RAW_MAX)].to_vec();
        chunk.refused.push(RefusedRecord { position, raw, error: RowError::new(0, Reason::TooLarge, message) });
        return;
    }
    let place = |chunk: &mut RecordChunk, bytes: &[u8]| {
        let start = chunk.bytes.len() as u32;
        chunk.bytes.extend_from_slice(bytes);
        (start, chunk.bytes.len() as u32)
    };
    let (start, end) = place(chunk, bytes);
    chunk.records.push(RecordRef { position, start, end });
    if keeps.envelopes() {
        let key = key.map(|k| place(chunk, k));
        let (timestamp, timestamp_type) = if keeps.metadata { m.timestamp() } else { (None, "NoTimestampType") };
        chunk.envelopes.push(Envelope {
            key,
            no_value: value.is_none(),
            timestamp,
            timestamp_type,
            headers: if keeps.headers { m.headers() } else { vec![] },
            leader_epoch: if keeps.metadata { m.leader_epoch() } else { None },
        });
    }
}

#[async_trait(?Send)]
impl SourceReader for KafkaReader {
    fn add_split(&mut self, split: SourceSplit) {
        let partition = Partition::of(split);
        let index = self.partitions.len();
        self.by_name.insert((partition.at.topic.clone(), partition.at.partition), index);
        self.partitions.push(partition);
        self.unassigned.push(index);
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        self.assign_new()?;
        if let Some(output) = self.next_waiting() {
            return Ok(output);
        }
        if self.all_ended() {
            return Ok(SourceOutput::Exhausted);
        }
        self.fetch(max_rows, max_wait)?;
        Ok(match self.next_waiting() {
            Some(output) => output,
            None if self.all_ended() => SourceOutput::Exhausted,
            None => SourceOutput::Idle,
        })
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.partitions.iter().map(Partition::split).collect()
    }

    async fn checkpoint_complete(&mut self, splits: &[SourceSplit]) -> Result<()> {
        if self.settings.connection.group.is_none() {
            return Ok(());
        }
        let offsets: Vec<(TopicPartition, i64)> =
            splits.iter().map(|s| Partition::of(s.clone())).map(|p| (p.at, p.returned)).collect();
        if let Err(error) = self.consumer.commit(&offsets) {
            let reason = format!("offsets were not committed: {}", error.reason);
            self.consumer.events().note(KafkaError { code: code::OK, reason });
        }
        self.committing = offsets;
        Ok(())
    }

    /// A commit is only sent off when a checkpoint is complete; the last one is waited for, or the client's end could
    /// overtake it.
    async fn close(&mut self) {
        let offsets = std::mem::take(&mut self.committing);
        let partitions: Vec<TopicPartition> = offsets.iter().map(|(at, _)| at.clone()).collect();
        let end = Instant::now() + COMMIT_TIME;
        while !partitions.is_empty() {
            let there = self.consumer.committed(&partitions, COMMIT_TIME).unwrap_or_default();
            let arrived =
                |(at, offset): &(TopicPartition, i64)| there.iter().any(|p| p.at == *at && p.offset == *offset);
            if offsets.iter().all(arrived) {
                return;
            }
            if Instant::now() >= end {
                let table = &self.settings.connection.table;
                tracing::warn!("table {table}: Kafka has not confirmed the last offsets of the consumer group");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let sizes = self.partitions.iter().map(Partition::progress);
        sizes
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().fold((0, 0), |(d, o), (done, of)| (d + done, o + of)))
    }
}
