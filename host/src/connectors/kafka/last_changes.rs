//! `sink.buffer-flush` of upsert-kafka: changes are held back, and only the last one of each key is sent.

use super::writer::KafkaWriter;
use crate::connectors::api::{FailedRow, SinkWriter};
use crate::data::{Batch, Epoch, RowError, RowKind};
use crate::error::Result;
use arrow::array::ArrayRef;
use arrow::row::{OwnedRow, RowConverter, SortField};
use async_trait::async_trait;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// However few keys there are: changes that were replaced are held until the next flush, too.
const HELD_ROWS_MAX: usize = 1 << 16;
const HELD_BYTES_MAX: usize = 64 << 20;

pub struct LastChanges {
    inner: KafkaWriter,
    key_columns: Vec<usize>,
    max_keys: usize,
    interval: Duration,
    converter: Option<RowConverter>,
    held: Held,
}

/// Batches that wait, and which of their rows count.
#[derive(Default)]
struct Held {
    batches: Vec<Batch>,
    rows: usize,
    bytes: usize,
    /// The batch and row of each key's last change.
    last: HashMap<OwnedRow, (usize, u32)>,
    since: Option<Instant>,
}

impl LastChanges {
    pub fn new(inner: KafkaWriter, key_columns: Vec<usize>, max_keys: usize, interval: Duration) -> Self {
        Self { inner, key_columns, max_keys, interval, converter: None, held: Held::default() }
    }

    fn hold(&mut self, batch: &Batch) -> Result<()> {
        let keys: Vec<ArrayRef> = self.key_columns.iter().map(|i| batch.columns.column(*i).clone()).collect();
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => {
                none.insert(RowConverter::new(keys.iter().map(|k| SortField::new(k.data_type().clone())).collect())?)
            }
        };
        let keys = converter.convert_columns(&keys)?;
        let at = self.held.batches.len();
        for row in 0..batch.num_rows() {
            // What a row was before is never sent, so it is no change of its key.
            if batch.kind(row) != RowKind::UpdateBefore {
                self.held.last.insert(keys.row(row).owned(), (at, row as u32));
            }
        }
        self.held.rows += batch.num_rows();
        self.held.bytes += batch.columns.get_array_memory_size();
        self.held.since.get_or_insert_with(Instant::now);
        self.held.batches.push(batch.clone());
        Ok(())
    }

    async fn send(&mut self, failed: &mut Vec<FailedRow>) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        for (rows, batch) in held.chosen().into_iter().zip(&held.batches) {
            if rows.is_empty() {
                continue;
            }
            let batch = if rows.len() == batch.num_rows() { batch.clone() } else { batch.take(&rows)? };
            let mut errors: Vec<RowError> = Vec::new();
            self.inner.write(&batch, &mut errors).await?;
            failed.extend(
                errors.into_iter().map(|error| FailedRow { origin: batch.origin.of_row(error.row as usize), error }),
            );
        }
        Ok(())
    }
}

impl Held {
    /// Of each batch the rows to send, and those that the writer counts as left out.
    fn chosen(&self) -> Vec<Vec<u32>> {
        let before =
            |b: &Batch| (0..b.num_rows()).filter(|r| b.kind(*r) == RowKind::UpdateBefore).map(|r| r as u32).collect();
        let mut chosen: Vec<Vec<u32>> = self.batches.iter().map(before).collect();
        for (batch, row) in self.last.values() {
            chosen[*batch].push(*row);
        }
        chosen.iter_mut().for_each(|rows| rows.sort_unstable());
        chosen
    }
}

#[async_trait(?Send)]
impl SinkWriter for LastChanges {
    async fn write(&mut self, batch: &Batch, _errors: &mut Vec<RowError>) -> Result<()> {
        self.hold(batch)
    }

    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()> {
        self.send(failed).await?;
        self.inner.flush(failed).await
    }

    async fn snapshot(&mut self, epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        self.send(failed).await?;
        self.inner.snapshot(epoch, failed).await
    }

    fn flush_due(&self) -> Option<Instant> {
        let since = self.held.since?;
        let full = self.held.last.len() >= self.max_keys
            || self.held.rows >= HELD_ROWS_MAX.max(self.max_keys)
            || self.held.bytes >= HELD_BYTES_MAX;
        Some(if full { since } else { since + self.interval })
    }

    async fn close(&mut self) -> Result<()> {
        self.inner.close().await
    }
}
