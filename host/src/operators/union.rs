//! The rows of several inputs as one stream. The gate of the task merges them; nothing is left to do but to count.

use super::chain::{Collector, Operator};
use crate::data::Batch;
use crate::error::Result;
use crate::metrics::OperatorMetrics;
use async_trait::async_trait;
use std::sync::Arc;

pub struct UnionOperator {
    name: String,
    metrics: Arc<OperatorMetrics>,
}

impl UnionOperator {
    pub fn new(name: impl Into<String>, metrics: Arc<OperatorMetrics>) -> Self {
        Self { name: name.into(), metrics }
    }
}

#[async_trait(?Send)]
impl Operator for UnionOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        self.metrics.rows_out.add(batch.num_rows() as u64);
        out.emit(batch).await
    }
}
