//! The head of a pipeline: reads splits, decodes records, applies the table's failure policy.

use super::failures::{FailureHandler, StagePolicy, Verdict};
use super::splits::SplitPool;
use crate::connectors::api::{
    Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SplitAssignment, SubtaskContext,
};
use crate::data::{Batch, Epoch, FailurePolicy, Origin, RecordChunk};
use crate::error::{Error, Result};
use crate::formats::Decoder;
use crate::metrics::{OperatorMetrics, Progress};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What one poll of a source gives its task.
pub enum SourceEvent {
    Batch(Batch),
    /// Nothing to emit this time (every record was refused).
    Nothing,
    /// There is no split to read now; others may come.
    Waiting,
    End,
}

pub struct SourceOperator {
    pub name: String,
    source: Arc<dyn Source>,
    splits: Arc<SplitPool>,
    reader: Option<Box<dyn SourceReader>>,
    /// The positions of the newest snapshot, until its checkpoint is complete. An older one has been given up.
    uncommitted: Option<(Epoch, Vec<SourceSplit>)>,
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
        splits: Arc<SplitPool>,
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
            uncommitted: None,
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
        self.reader = Some(self.source.reader(&cx)?);
        Ok(())
    }

    /// The splits that are not read to their end, with the positions after everything that was emitted.
    pub fn snapshot(&mut self, epoch: Epoch) -> Vec<SourceSplit> {
        let splits = self.reader.as_ref().map(|r| r.snapshot()).unwrap_or_default();
        self.splits.lock().snapshotted(self.subtask, epoch);
        self.uncommitted = Some((epoch, splits.clone()));
        splits
    }

    /// The checkpoint is complete. That the outside does not take note of it changes nothing in what this job reads.
    pub async fn checkpoint_complete(&mut self, epoch: Epoch) {
        let Some((_, splits)) = self.uncommitted.take_if(|(taken, _)| *taken <= epoch) else { return };
        let Some(reader) = &mut self.reader else { return };
        if let Err(e) = reader.checkpoint_complete(&splits).await {
            tracing::warn!("{}: the positions of checkpoint {} could not be committed: {e}", self.name, epoch.0);
        }
    }

    /// Nothing follows.
    pub async fn close(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.close().await;
        }
    }

    /// Splits that belong to this subtask and are new.
    fn add_spread_splits(&mut self) {
        if self.splits.assignment() == SplitAssignment::Spread
            && let Some(reader) = &mut self.reader
        {
            self.splits.lock().take(self.subtask).into_iter().for_each(|s| reader.add_split(s));
        }
    }

    /// Gives the reader its next splits; if there are none, says how to go on.
    fn next_splits(&mut self) -> SourceEvent {
        let splits = self.splits.lock().take(self.subtask);
        match (splits.is_empty(), &mut self.reader, self.source.boundedness()) {
            (false, Some(reader), _) => {
                splits.into_iter().for_each(|s| reader.add_split(s));
                SourceEvent::Nothing
            }
            (_, _, Boundedness::Bounded) => SourceEvent::End,
            (_, _, Boundedness::Unbounded) => SourceEvent::Waiting,
        }
    }

    /// One poll, which waits at most this long for data.
    pub async fn next(&mut self, max_wait: Duration) -> Result<SourceEvent> {
        self.add_spread_splits();
        let reader = self.reader.as_mut().ok_or_else(|| Error::internal("source not opened"))?;
        let output = reader.poll(self.batch_rows, max_wait).await?;
        if let Some((done, total)) = reader.progress() {
            self.progress.done.store(done, Relaxed);
            self.progress.total.store(total, Relaxed);
        }
        match output {
            SourceOutput::Idle => Ok(SourceEvent::Nothing),
            SourceOutput::Exhausted => Ok(self.next_splits()),
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
