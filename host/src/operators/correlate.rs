//! Rows unfolded by a collection: each row once per element of its array or map.

use super::calc::without_rows;
use super::chain::{Collector, Operator};
use super::failures::{FailureHandler, StagePolicy};
use super::lookup_join::project;
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::expr::program::{Program, ProgramPlan};
use crate::metrics::OperatorMetrics;
use arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, SchemaRef};
use async_trait::async_trait;
use std::sync::Arc;

/// Rows that are made at once: a row may have very many elements.
const ROWS_MAX: usize = 8192;

/// What is unfolded, for every subtask.
#[derive(Clone)]
pub struct CorrelateSpec {
    /// Projects the collection.
    pub collection: ProgramPlan,
    /// A last column numbers the elements from 1.
    pub ordinality: bool,
    /// Rows without elements go on with NULLs.
    pub left_outer: bool,
    /// Columns of the row, then those of the element.
    pub output: SchemaRef,
}

pub struct CorrelateOperator {
    name: String,
    spec: CorrelateSpec,
    collection: Program,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
}

impl CorrelateOperator {
    pub fn new(
        name: impl Into<String>,
        spec: CorrelateSpec,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Result<Self> {
        let collection = spec.collection.instantiate()?;
        Ok(Self { name: name.into(), spec, collection, stage, failures, metrics })
    }

    async fn flush(
        &self,
        batch: &Batch,
        elements: &[ArrayRef],
        made: &mut Made,
        out: &mut dyn Collector,
    ) -> Result<()> {
        if made.rows.is_empty() {
            return Ok(());
        }
        let Made { rows, elements: chosen, numbers } = std::mem::take(made);
        let mut unfolded = batch.take(&rows)?;
        let mut columns = unfolded.columns.columns().to_vec();
        let chosen = UInt32Array::from(chosen);
        for e in elements {
            columns.push(take(e, &chosen, None)?);
        }
        if self.spec.ordinality {
            columns.push(Arc::new(Int32Array::from(numbers)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        unfolded.columns = RecordBatch::try_new_with_options(self.spec.output.clone(), columns, &options)?;
        self.metrics.rows_out.add(rows.len() as u64);
        out.emit(unfolded).await
    }
}

/// Rows of the output: which row of the batch, which element of all, and its number in its collection.
#[derive(Default)]
struct Made {
    rows: Vec<u32>,
    elements: Vec<Option<u32>>,
    numbers: Vec<Option<i32>>,
}

impl Made {
    fn push(&mut self, row: usize, element: Option<u32>, number: Option<i32>) {
        self.rows.push(row as u32);
        self.elements.push(element);
        self.numbers.push(number);
    }
}

/// All elements of a column of collections, as columns, and where those of each row lie.
fn unfold(collections: &ArrayRef) -> Result<(Vec<ArrayRef>, Vec<std::ops::Range<u32>>)> {
    let (values, ranges) = match collections.data_type() {
        DataType::List(_) => {
            let list = collections.as_list::<i32>();
            (list.values().clone(), ranges(list.value_offsets(), collections))
        }
        DataType::Map(..) => {
            let map = collections.as_map();
            (Arc::new(map.entries().clone()) as ArrayRef, ranges(map.value_offsets(), collections))
        }
        DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            let list = DataType::List(Arc::new(Field::new("item", element.data_type().clone(), true)));
            return unfold(&cast(collections, &list)?);
        }
        other => return Err(Error::internal(format!("UNNEST of {other}"))),
    };
    let columns = match values.data_type() {
        DataType::Struct(_) => {
            // A NULL element is a row of NULLs.
            let rows = values.as_struct();
            let valid = rows.nulls().map(|n| arrow::compute::is_not_null(&values).map(|v| (n.null_count(), v)));
            match valid.transpose()? {
                Some((nulls, valid)) if nulls > 0 => {
                    let missing = arrow::compute::not(&valid)?;
                    rows.columns().iter().map(|c| Ok(arrow::compute::nullif(c, &missing)?)).collect::<Result<_>>()?
                }
                _ => rows.columns().to_vec(),
            }
        }
        _ => vec![values],
    };
    Ok((columns, ranges))
}

fn ranges(offsets: &[i32], collections: &ArrayRef) -> Vec<std::ops::Range<u32>> {
    (0..collections.len())
        .map(|i| if collections.is_null(i) { 0..0 } else { offsets[i] as u32..offsets[i + 1] as u32 })
        .collect()
}

#[async_trait(?Send)]
impl Operator for CorrelateOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        let (mut columns, errors) = project(&mut self.collection, &batch.columns)?;
        let dropped = self.failures.refuse_all(&self.stage, &errors, &batch.origin, &self.metrics)?;
        let batch = without_rows(&batch, &dropped)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if !dropped.is_empty() {
            columns = project(&mut self.collection, &batch.columns)?.0;
        }
        let Some(collections) = columns.first() else { return Err(Error::internal("UNNEST without a collection")) };
        let (elements, ranges) = unfold(collections)?;
        let mut made = Made::default();
        for (row, range) in ranges.into_iter().enumerate() {
            if range.is_empty() {
                match self.spec.left_outer {
                    true => made.push(row, None, None),
                    false => self.metrics.no_match.add(1),
                }
            }
            for (number, element) in range.enumerate() {
                made.push(row, Some(element), Some(number as i32 + 1));
                if made.rows.len() >= ROWS_MAX {
                    self.flush(&batch, &elements, &mut made, out).await?;
                }
            }
        }
        self.flush(&batch, &elements, &mut made, out).await
    }
}
