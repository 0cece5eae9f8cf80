//! The head of a pipeline: reads splits, decodes records, applies the table's failure policy.

use super::failures::{FailureHandler, StagePolicy, Verdict};
use crate::connectors::api::{Source, SourceOutput, SourceReader, SourceSplit, SplitAssignment, SubtaskContext};
use crate::data::{Batch, FailurePolicy, Origin, RecordChunk};
use crate::error::{Error, Result};
use crate::formats::Decoder;
use crate::metrics::{OperatorMetrics, Progress};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a reader may wait for data: control messages and timers wait meanwhile.
const POLL_WAIT: Duration = Duration::from_millis(100);

/// The splits of one source that no subtask has taken yet.
#[derive(Default)]
pub struct SplitQueue(Mutex<VecDeque<SourceSplit>>);

impl SplitQueue {
    pub fn new(splits: Vec<SourceSplit>) -> Self {
        Self(Mutex::new(splits.into()))
    }
    fn pop(&self) -> Option<SourceSplit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// What one poll of a source gives its task.
pub enum SourceEvent {
    Batch(Batch),
    /// Nothing to emit this time (every record was refused).
    Nothing,
    End,
}

pub struct SourceOperator {
    pub name: String,
    source: Arc<dyn Source>,
    splits: Arc<SplitQueue>,
    reader: Option<Box<dyn SourceReader>>,
    /// None for sources that have rows, not records.
    decoder: Option<Box<dyn Decoder>>,
    subtask: usize,
    batch_rows: usize,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
    progress: Arc<Progress>,
}

impl SourceOperator {
    #[expect(clippy::too_many_arguments, reason = "plain data of one source")]
    pub fn new(
        name: impl Into<String>,
        source: Arc<dyn Source>,
        splits: Arc<SplitQueue>,
        subtask: usize,
        batch_rows: usize,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
        progress: Arc<Progress>,
    ) -> Self {
        let name = name.into();
        Self {
            name,
            source,
            splits,
            reader: None,
            decoder: None,
            subtask,
            batch_rows,
            stage,
            failures,
            metrics,
            progress,
        }
    }

    pub fn open(&mut self) -> Result<()> {
        self.decoder = self.source.decoder()?;
        let cx = SubtaskContext { subtask: self.subtask, metrics: self.metrics.clone() };
        let mut reader = self.source.reader(&cx)?;
        if self.source.assignment() == SplitAssignment::Spread {
            while let Some(split) = self.splits.pop() {
                reader.add_split(split);
            }
        }
        self.reader = Some(reader);
        Ok(())
    }

    /// The unfinished splits, with the positions after everything that was emitted.
    pub fn snapshot(&self) -> Vec<SourceSplit> {
        self.reader.as_ref().map(|r| r.snapshot()).unwrap_or_default()
    }

    pub async fn next(&mut self) -> Result<SourceEvent> {
        let reader = self.reader.as_mut().ok_or_else(|| Error::internal("source not opened"))?;
        let output = reader.poll(self.batch_rows, POLL_WAIT).await?;
        if let Some((done, total)) = reader.progress() {
            self.progress.done.store(done, Relaxed);
            self.progress.total.store(total, Relaxed);
        }
        match output {
            SourceOutput::Idle => Ok(SourceEvent::Nothing),
            SourceOutput::Exhausted => match self.splits.pop() {
                None => Ok(SourceEvent::End),
                Some(split) => {
                    reader.add_split(split);
                    Ok(SourceEvent::Nothing)
                }
            },
            SourceOutput::Records(chunk) => self.decode(Arc::new(chunk)),
            SourceOutput::Rows(columns, chunk) => {
                let rows = columns.num_rows();
                self.metrics.rows_in.add((rows + chunk.refused.len()) as u64);
                for r in &chunk.refused {
                    self.refuse(&r.error, chunk.origin_of(r))?;
                }
                self.metrics.decoded.add(rows as u64);
                self.metrics.rows_out.add(rows as u64);
                if rows == 0 {
                    return Ok(SourceEvent::Nothing);
                }
                Ok(SourceEvent::Batch(Batch::new(columns, Origin::all(chunk))))
            }
        }
    }

    fn decode(&mut self, chunk: Arc<RecordChunk>) -> Result<SourceEvent> {
        let decoder = self.decoder.as_mut().ok_or_else(|| Error::internal("source without a format"))?;
        let decoded = decoder.decode(&chunk)?;
        let records = chunk.len() + chunk.refused.len();
        self.metrics.rows_in.add(records as u64);
        let mut refused = 0;
        for r in &chunk.refused {
            self.refuse(&r.error, chunk.origin_of(r))?;
            refused += 1;
        }
        let all = Origin::all(chunk.clone());
        let without_row = decoded.refused().count();
        for e in decoded.refused() {
            self.refuse(e, all.of_row(e.row as usize))?;
        }
        self.metrics.nulled.add((decoded.errors.len() - without_row) as u64);
        refused += without_row;
        self.metrics.decoded.add(records.saturating_sub(refused) as u64);
        let rows = decoded.columns.num_rows();
        self.metrics.rows_out.add(rows as u64);
        if rows == 0 {
            return Ok(SourceEvent::Nothing);
        }
        let origin = match decoded.records {
            None => all,
            Some(records) => Origin::picked(chunk, records),
        };
        let mut batch = Batch::new(decoded.columns, origin);
        batch.kinds = decoded.kinds.map(Into::into);
        Ok(SourceEvent::Batch(batch))
    }

    /// A record that gave no row at all cannot become NULL: under `null` it is skipped (as Flink's
    /// `ignore-parse-errors` does).
    fn refuse(&self, error: &crate::data::RowError, origin: crate::data::RowOrigin) -> Result<Verdict> {
        let policy = match self.stage.policy {
            FailurePolicy::Null => FailurePolicy::Skip,
            p => p,
        };
        self.failures.refuse(&self.stage.with_policy(policy), error, origin, &self.metrics)
    }
}
