//! Filters and projections of one stage, in one pass over the batch.

use super::chain::{Collector, Operator};
use super::failures::{FailureHandler, StagePolicy};
use crate::data::Batch;
use crate::error::Result;
use crate::expr::program::{Program, StepResult};
use crate::metrics::OperatorMetrics;
use arrow::array::BooleanArray;
use async_trait::async_trait;
use std::sync::Arc;

pub struct CalcOperator {
    name: String,
    program: Program,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
}

impl CalcOperator {
    pub fn new(
        name: impl Into<String>,
        program: Program,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        Self { name: name.into(), program, stage, failures, metrics }
    }

    /// The batch without the rows that failed and are not kept.
    fn drop_failed(&self, batch: Batch, errors: &[crate::data::RowError]) -> Result<Batch> {
        if errors.is_empty() {
            return Ok(batch);
        }
        let dropped = self.failures.refuse_all(&self.stage, errors, &batch.origin, &self.metrics)?;
        without_rows(&batch, &dropped)
    }
}

/// The batch without these rows (ascending).
pub(super) fn without_rows(batch: &Batch, dropped: &[u32]) -> Result<Batch> {
    if dropped.is_empty() {
        return Ok(batch.clone());
    }
    let mut keep = vec![true; batch.num_rows()];
    for &r in dropped {
        keep[r as usize] = false;
    }
    Ok(batch.filter(&BooleanArray::from(keep))?)
}

#[async_trait(?Send)]
impl Operator for CalcOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        let mut batch = batch;
        for at in 0..self.program.len() {
            if batch.num_rows() == 0 {
                return Ok(());
            }
            batch = match self.program.run(at, &batch.columns)? {
                StepResult::Project { columns, errors } => self.drop_failed(batch.with_columns(columns), &errors)?,
                StepResult::Filter { keep, errors } => {
                    // A row whose predicate failed is refused, not filtered; NULL (policy `null`) filters it.
                    let dropped = self.failures.refuse_all(&self.stage, &errors, &batch.origin, &self.metrics)?;
                    let kept = batch.filter(&keep)?;
                    self.metrics.filtered.add((batch.num_rows() - kept.num_rows() - dropped.len()) as u64);
                    kept
                }
            };
        }
        self.metrics.rows_out.add(batch.num_rows() as u64);
        out.emit(batch).await
    }
}
