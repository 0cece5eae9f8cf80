//! A batch of rows: Arrow columns, a kind per row, and where each row came from.

use super::origin::Origin;
use arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{filter_record_batch, take_record_batch};
use arrow::error::ArrowError;
use std::sync::Arc;

/// What a row does to the result, as in Flink's changelog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RowKind {
    Insert = 0,
    UpdateBefore = 1,
    UpdateAfter = 2,
    Delete = 3,
}

impl RowKind {
    pub fn short(self) -> &'static str {
        match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        }
    }
}

/// The kinds of rows that a table gives or accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangelogMode {
    /// Inserts only.
    Append,
    /// Inserts, updates after and deletes, told apart by a key.
    Upsert,
    /// All four kinds.
    All,
}

/// Rows on their way through the job.
#[derive(Debug, Clone)]
pub struct Batch {
    pub columns: RecordBatch,
    /// None: every row is an insert.
    pub kinds: Option<Arc<[RowKind]>>,
    pub origin: Origin,
}

impl Batch {
    pub fn new(columns: RecordBatch, origin: Origin) -> Self {
        debug_assert!(origin.len().is_none_or(|n| n == columns.num_rows()));
        Self { columns, kinds: None, origin }
    }
    pub fn num_rows(&self) -> usize {
        self.columns.num_rows()
    }
    pub fn num_bytes(&self) -> usize {
        self.columns.get_array_memory_size() + self.origin.num_bytes()
    }
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().map_or(RowKind::Insert, |k| k[row])
    }
    /// The same rows with other columns.
    pub fn with_columns(&self, columns: RecordBatch) -> Batch {
        debug_assert_eq!(columns.num_rows(), self.num_rows());
        Batch { columns, kinds: self.kinds.clone(), origin: self.origin.clone() }
    }
    /// The rows for which `keep` is true (NULL counts as false).
    pub fn filter(&self, keep: &BooleanArray) -> Result<Batch, ArrowError> {
        if keep.null_count() == 0 && keep.true_count() == self.num_rows() {
            return Ok(self.clone());
        }
        let rows: Vec<u32> = (0..keep.len()).filter(|&i| keep.is_valid(i) && keep.value(i)).map(|i| i as u32).collect();
        Ok(Batch {
            columns: filter_record_batch(&self.columns, keep)?,
            kinds: self.kinds.as_ref().map(|k| rows.iter().map(|&r| k[r as usize]).collect()),
            origin: self.origin.take(&rows),
        })
    }
    /// The rows at these indexes, in this order; a row may repeat.
    pub fn take(&self, rows: &[u32]) -> Result<Batch, ArrowError> {
        // Arrow cannot take rows of no columns.
        let columns = match self.columns.num_columns() {
            0 => {
                let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
                RecordBatch::try_new_with_options(self.columns.schema(), vec![], &options)?
            }
            _ => take_record_batch(&self.columns, &UInt32Array::from(rows.to_vec()))?,
        };
        Ok(Batch {
            columns,
            kinds: self.kinds.as_ref().map(|k| rows.iter().map(|&r| k[r as usize]).collect()),
            origin: self.origin.take(rows),
        })
    }
    pub fn slice(&self, offset: usize, len: usize) -> Batch {
        Batch {
            columns: self.columns.slice(offset, len),
            kinds: self.kinds.as_ref().map(|k| k[offset..offset + len].into()),
            origin: self.origin.slice(offset, len),
        }
    }
}
