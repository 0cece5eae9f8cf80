//! Sends the records of one subtask and keeps account of them until the brokers have them.

use super::connection::Connection;
use super::delivery::{Deliveries, Retry};
use super::encode::{EncodedRow, RecordEncoder};
use super::metadata::Written;
use super::native::{FailedRecord, KafkaError, Outgoing, Producer, Refusal, code};
use crate::connectors::api::{FailedRow, SinkWriter};
use crate::data::{Batch, Epoch, Reason, RowError};
use crate::error::Result;
use crate::metrics::OperatorMetrics;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for room or reports before looking whether the job was cancelled.
const POLL: Duration = Duration::from_millis(20);
/// Records of the source that are kept alive for rows on their way.
const ORIGIN_BYTES: usize = 32 << 20;

pub struct WriterSettings {
    pub connection: Connection,
    pub topic: Option<String>,
    pub partitioner: Partitioner,
    /// A checkpoint waits for the records before it.
    pub waits: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitioner {
    /// By the key, or where the producer likes.
    Keyed,
    Fixed(u32),
    RoundRobin {
        next: u32,
        partitions: u32,
    },
}

impl Partitioner {
    fn advance(&mut self, records: usize) {
        if let Partitioner::RoundRobin { next, partitions } = self {
            *next = ((u64::from(*next) + records as u64) % u64::from(*partitions)) as u32;
        }
    }

    fn next(&mut self) -> Option<i32> {
        match self {
            Partitioner::Keyed => None,
            Partitioner::Fixed(p) => Some(*p as i32),
            Partitioner::RoundRobin { next, partitions } => {
                let p = *next;
                *next = (p + 1) % *partitions;
                Some(p as i32)
            }
        }
    }
}

pub struct KafkaWriter {
    producer: Producer,
    encoder: RecordEncoder,
    settings: WriterSettings,
    metrics: Arc<OperatorMetrics>,
    deliveries: Deliveries,
    rows: Vec<EncodedRow>,
    /// Rows that were left out, counted as written by the operator after `write`.
    left_out: u64,
}

impl KafkaWriter {
    pub fn new(
        producer: Producer,
        encoder: RecordEncoder,
        settings: WriterSettings,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        let deliveries = Deliveries::default();
        Self { producer, encoder, settings, metrics, deliveries, rows: Vec::new(), left_out: 0 }
    }

    fn count_left_out(&mut self) {
        let n = std::mem::take(&mut self.left_out);
        self.metrics.rows_out.sub(n);
        self.metrics.skipped.add(n);
    }

    /// Serves delivery reports; an error if one of them, or the producer as a whole, says that no waiting helps.
    fn serve(&mut self, wait: Duration) -> Result<()> {
        self.producer.poll(wait);
        let broken = self.deliveries.collect(self.producer.events());
        match broken.or_else(|| self.producer.events().fatal()) {
            Some(error) => Err(self.settings.connection.error("records cannot be written", &error)),
            None => Ok(()),
        }
    }

    /// Waits a little for reports or room. The task can be cancelled here.
    async fn wait(&mut self) -> Result<()> {
        self.serve(POLL)?;
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn send_all(&mut self, rows: &[EncodedRow], batch_id: u32, errors: &mut Vec<RowError>) -> Result<()> {
        let topic = self.settings.topic.clone().unwrap_or_default();
        let mut refused: Vec<Refusal> = Vec::new();
        let mut rest = rows;
        while !rest.is_empty() {
            refused.clear();
            let before = self.settings.partitioner;
            let (values, keys) = (self.encoder.values(), self.encoder.keys());
            let partitioner = &mut self.settings.partitioner;
            let outgoing: Vec<Outgoing<'_>> = rest
                .iter()
                .map(|r| Outgoing {
                    key: r.key.clone().map(|k| &keys[k]),
                    value: r.value.clone().map(|v| &values[v]),
                    partition: partitioner.next(),
                    tag: tag(batch_id, r.row),
                })
                .collect();
            let sent = self.producer.send(&topic, &outgoing, &mut refused);
            let sent = sent.map_err(|e| self.settings.connection.error("records cannot be written", &e))?;
            // Those that found the queue full go where they would have gone.
            self.settings.partitioner = before;
            self.settings.partitioner.advance(sent);
            for r in refused.drain(..) {
                self.refuse(rest[r.index].row, batch_id, r.error, errors)?;
            }
            rest = &rest[sent..];
            if !rest.is_empty() {
                self.wait().await?;
            }
        }
        Ok(())
    }

    /// Records whose topic, headers or time the row says.
    async fn send_each(
        &mut self,
        batch: &Batch,
        rows: &[EncodedRow],
        batch_id: u32,
        errors: &mut Vec<RowError>,
    ) -> Result<()> {
        let metadata = self.encoder.metadata.clone();
        let written = Written::of(&batch.columns, &metadata)?;
        for r in rows {
            let row = r.row as usize;
            let Some(topic) = written.topic(row).or(self.settings.topic.as_deref()) else {
                self.deliveries.refused(batch_id);
                errors.push(RowError::new(r.row, Reason::Sink, "the row names no topic"));
                continue;
            };
            let record = FailedRecord {
                topic: topic.to_string(),
                partition: self.settings.partitioner.next().unwrap_or(-1),
                key: r.key.clone().map(|k| self.encoder.keys()[k].to_vec()),
                value: r.value.clone().map(|v| self.encoder.values()[v].to_vec()),
                headers: written.headers(row),
                timestamp: written.timestamp(row),
            };
            loop {
                match self.producer.send_whole(&record, tag(batch_id, r.row)) {
                    Ok(()) => break,
                    Err(e) if e.code == code::QUEUE_FULL => self.wait().await?,
                    Err(e) => break self.refuse(r.row, batch_id, e, errors)?,
                }
            }
        }
        Ok(())
    }

    /// A record that the queue did not take: the record's fault, or everybody's.
    fn refuse(&mut self, row: u32, batch_id: u32, error: KafkaError, errors: &mut Vec<RowError>) -> Result<()> {
        let per_record = error.code == code::MESSAGE_TOO_LARGE || error.code == code::INVALID_TIMESTAMP;
        let other_topic = self.settings.topic.is_none()
            && matches!(error.code, code::UNKNOWN_TOPIC | code::INVALID_TOPIC | code::UNKNOWN_TOPIC_OR_PARTITION);
        if !per_record && !other_topic {
            return Err(self.settings.connection.error("records cannot be written", &error));
        }
        self.deliveries.refused(batch_id);
        errors.push(RowError::new(row, Reason::Sink, format!("Kafka: {}", error.reason)));
        Ok(())
    }

    /// Brokers refuse whole batches: what was refused is sent again in halves, down to single records.
    async fn settle_refused(&mut self) -> Result<()> {
        while let Some(group) = self.deliveries.next_group() {
            self.metrics.retries.add(1);
            for Retry { tag, record } in &group {
                loop {
                    match self.producer.send_whole(record, *tag) {
                        Ok(()) => break,
                        Err(e) if e.code == code::QUEUE_FULL => self.wait().await?,
                        Err(e) => return Err(self.settings.connection.error("records cannot be written", &e)),
                    }
                }
            }
            while self.deliveries.group_is_out() {
                self.wait().await?;
            }
        }
        Ok(())
    }

    async fn deliver_all(&mut self) -> Result<()> {
        loop {
            self.settle_refused().await?;
            if self.deliveries.outstanding() == 0 {
                return Ok(());
            }
            self.wait().await?;
        }
    }
}

fn tag(batch: u32, row: u32) -> u64 {
    u64::from(batch) << 32 | u64::from(row)
}

#[async_trait(?Send)]
impl SinkWriter for KafkaWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        self.count_left_out();
        let mut rows = std::mem::take(&mut self.rows);
        self.left_out = self.encoder.encode(batch, &mut rows, errors)? as u64;
        let bytes: usize = rows
            .iter()
            .map(|r| {
                r.value.as_ref().map_or(0, ExactSizeIterator::len) + r.key.as_ref().map_or(0, ExactSizeIterator::len)
            })
            .sum();
        self.metrics.bytes.add(bytes as u64);
        let id = self.deliveries.open(batch.origin.clone(), rows.len());
        let sent = if self.encoder.metadata.is_empty() {
            self.send_all(&rows, id, errors).await
        } else {
            self.send_each(batch, &rows, id, errors).await
        };
        self.rows = rows;
        sent?;
        self.serve(Duration::ZERO)?;
        self.settle_refused().await?;
        while self.deliveries.origin_bytes() > ORIGIN_BYTES && self.deliveries.outstanding() > 0 {
            self.wait().await?;
        }
        Ok(())
    }

    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()> {
        self.count_left_out();
        if self.deliveries.outstanding() > 0 {
            let started = Instant::now();
            self.deliver_all().await?;
            self.metrics.flushes.add(1);
            self.metrics.flush_micros.add(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
        }
        failed.append(&mut self.deliveries.take_failed());
        Ok(())
    }

    async fn snapshot(&mut self, _epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        if self.settings.waits {
            self.flush(failed).await?;
        } else {
            self.serve(Duration::ZERO)?;
            failed.append(&mut self.deliveries.take_failed());
        }
        Ok(None)
    }
}
