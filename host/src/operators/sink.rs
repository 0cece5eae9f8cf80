//! The last operator of a pipeline: NOT NULL check, the connector's writer, flush at barriers and at the end.

use super::calc::without_rows;
use super::chain::{Collector, Operator, OperatorSnapshot};
use super::failures::{FailureHandler, StagePolicy};
use crate::connectors::api::{FailedRow, Sink, SinkWriter, SubtaskContext};
use crate::data::{Batch, Epoch, FailurePolicy, Reason, RowError};
use crate::error::{Error, Result};
use crate::metrics::OperatorMetrics;
use arrow::array::Array;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Instant;

pub struct SinkOperator {
    name: String,
    sink: Arc<dyn Sink>,
    subtask: usize,
    /// Names of the columns that must not be NULL, with their index.
    not_null: Vec<(usize, String)>,
    writer: Option<Box<dyn SinkWriter>>,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
}

impl SinkOperator {
    pub fn new(
        name: impl Into<String>,
        sink: Arc<dyn Sink>,
        subtask: usize,
        not_null: Vec<(usize, String)>,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        let name = name.into();
        // There is no value to make NULL at a sink: the row as a whole is what failed.
        let policy = if stage.policy == FailurePolicy::Null { FailurePolicy::Skip } else { stage.policy };
        let stage = stage.with_policy(policy);
        Self { name, sink, subtask, not_null, writer: None, stage, failures, metrics }
    }

    fn null_errors(&self, batch: &Batch) -> Vec<RowError> {
        let mut errors = Vec::new();
        for (index, name) in &self.not_null {
            let column = batch.columns.column(*index);
            if column.null_count() > 0 {
                errors.extend(
                    (0..column.len())
                        .filter(|&r| column.is_null(r))
                        .map(|r| RowError::new(r as u32, Reason::NotNull, "NULL for a NOT NULL column").column(name)),
                );
            }
        }
        errors.sort_by_key(|e| e.row);
        errors
    }

    fn refuse(&self, errors: &[RowError], batch: &Batch) -> Result<Vec<u32>> {
        if errors.is_empty() {
            return Ok(vec![]);
        }
        self.failures.refuse_all(&self.stage, errors, &batch.origin, &self.metrics)
    }

    async fn flush(&mut self) -> Result<()> {
        let mut failed: Vec<FailedRow> = Vec::new();
        if let Some(w) = &mut self.writer {
            w.flush(&mut failed).await?;
        }
        self.refuse_flushed(failed)
    }

    fn refuse_flushed(&self, failed: Vec<FailedRow>) -> Result<()> {
        for f in failed {
            self.metrics.rows_out.sub(1);
            self.failures.refuse(&self.stage, &f.error, f.origin, &self.metrics)?;
        }
        self.failures.flush()
    }
}

#[async_trait(?Send)]
impl Operator for SinkOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&mut self) -> Result<()> {
        let cx = SubtaskContext { subtask: self.subtask, metrics: self.metrics.clone() };
        self.writer = Some(self.sink.writer(&cx)?);
        Ok(())
    }

    async fn process(&mut self, batch: Batch, _out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        let dropped = self.refuse(&self.null_errors(&batch), &batch)?;
        let batch = without_rows(&batch, &dropped)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let writer = self.writer.as_mut().ok_or_else(|| Error::internal("sink not opened"))?;
        let mut errors = Vec::new();
        writer.write(&batch, &mut errors).await?;
        let refused = self.refuse(&errors, &batch)?;
        self.metrics.rows_out.add((batch.num_rows() - refused.len()) as u64);
        self.on_timer().await
    }

    async fn watermark(&mut self, watermark: i64, _out: &mut dyn Collector) -> Result<()> {
        match &mut self.writer {
            Some(w) => w.watermark(watermark).await,
            None => Ok(()),
        }
    }

    fn timer(&self) -> Option<Instant> {
        self.writer.as_ref().and_then(|w| w.flush_due())
    }

    async fn on_timer(&mut self) -> Result<()> {
        if self.timer().is_some_and(|due| due <= Instant::now()) {
            self.flush().await?;
        }
        Ok(())
    }

    async fn snapshot(&mut self, epoch: Epoch, _out: &mut dyn Collector) -> Result<OperatorSnapshot> {
        let mut failed = Vec::new();
        let state = match &mut self.writer {
            Some(w) => w.snapshot(epoch, &mut failed).await?,
            None => None,
        };
        self.refuse_flushed(failed)?;
        Ok(OperatorSnapshot { operator: self.name.clone(), splits: vec![], state })
    }

    async fn finish(&mut self, epoch: Epoch, out: &mut dyn Collector) -> Result<OperatorSnapshot> {
        let last = self.snapshot(epoch, out).await?;
        if let Some(w) = &mut self.writer {
            w.close().await?;
        }
        Ok(last)
    }
}
