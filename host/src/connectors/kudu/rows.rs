//! Batches of Kudu as the job's table has them.

use super::types::from_kudu;
use crate::connectors::api::{FailedRow, Snapshot};
use crate::data::{RecordChunk, RecordRef, RefusedRecord, RowError, TableSchema};
use crate::error::Result;
use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use chrono_tz::Tz;
use std::sync::Arc;

/// What rows are read into.
#[derive(Clone)]
pub struct Reading {
    pub table: Arc<str>,
    pub split: Arc<str>,
    pub schema: TableSchema,
    pub zone: Tz,
}

impl Reading {
    /// The rows that fit, and all of them as records, counted from `position`; those that do not fit are refused.
    pub fn rows(&self, batch: &RecordBatch, position: u64) -> Result<(RecordBatch, RecordChunk)> {
        let rows = batch.num_rows();
        let mut failed: Vec<RowError> = vec![];
        let columns = batch.columns().iter().zip(&self.schema.columns);
        let columns = columns.map(|(c, to)| from_kudu(c, to, self.zone, &mut failed)).collect::<Result<Vec<_>>>()?;
        let mut chunk =
            RecordChunk { table: self.table.clone(), split: self.split.clone(), unit: "row", ..RecordChunk::default() };
        failed.sort_by_key(|e| e.row);
        failed.dedup_by_key(|e| e.row);
        let is_refused = |row: usize| failed.binary_search_by_key(&(row as u32), |e| e.row).is_ok();
        let keep: Vec<bool> = (0..rows).map(|r| !is_refused(r)).collect();
        let at = |row: usize| position + row as u64 + 1;
        let kept = keep.iter().enumerate().filter(|(_, k)| **k);
        chunk.records = kept.map(|(row, _)| RecordRef { position: at(row), start: 0, end: 0 }).collect();
        // NULLs of refused rows have no place in a NOT NULL column: the batch is made after they are gone.
        let nullable: Vec<_> =
            self.schema.to_arrow().fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let all =
            RecordBatch::try_new_with_options(Arc::new(arrow::datatypes::Schema::new(nullable)), columns, &options)?;
        let all = if failed.is_empty() { all } else { filter_record_batch(&all, &BooleanArray::from(keep))? };
        let options = RecordBatchOptions::new().with_row_count(Some(all.num_rows()));
        let fitting = RecordBatch::try_new_with_options(self.schema.to_arrow(), all.columns().to_vec(), &options)?;
        for mut error in failed {
            let position = at(error.row as usize);
            error.row = 0;
            chunk.refused.push(RefusedRecord { position, raw: vec![], error });
        }
        Ok((fitting, chunk))
    }

    /// Adds the rows to what a side table gives.
    pub fn add(&self, batch: &RecordBatch, snapshot: &mut Snapshot) -> Result<()> {
        let before: u64 = snapshot.batches.iter().map(|b| b.num_rows() as u64).sum();
        let (rows, chunk) = self.rows(batch, before)?;
        for refused in &chunk.refused {
            snapshot.failed.push(FailedRow { origin: chunk.origin_of(refused), error: refused.error.clone() });
        }
        if rows.num_rows() > 0 {
            snapshot.batches.push(rows);
        }
        Ok(())
    }
}
