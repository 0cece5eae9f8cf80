//! The frame around every native decoder: record by record into column builders, all or nothing.

use super::Decoded;
use super::columns::ColumnBuilder;
use crate::data::{Reason, RecordChunk, RowError, TableSchema};
use crate::error::Result;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;

/// Why a record gave no row.
#[derive(Debug)]
pub(super) struct RecordFault {
    pub reason: Reason,
    /// Index of the column that did not fit.
    pub column: Option<usize>,
    pub message: String,
}

impl RecordFault {
    pub fn record(message: impl Into<String>) -> Self {
        Self { reason: Reason::Decode, column: None, message: message.into() }
    }
    /// A tombstone, where a record is needed.
    pub fn no_value() -> Self {
        Self { reason: Reason::NoValue, column: None, message: "the record has no value (a tombstone)".to_string() }
    }
    pub fn column(column: usize, message: impl Into<String>) -> Self {
        Self { reason: Reason::Decode, column: Some(column), message: message.into() }
    }
}

/// The columns of a batch under construction.
pub(super) struct Rows {
    pub columns: Vec<ColumnBuilder>,
    /// Finished rows.
    pub len: usize,
    /// Values that became NULL instead of failing the record at hand: (column, message).
    pub nulled: Vec<(usize, String)>,
    /// Columns that must not be NULL.
    required: Vec<usize>,
    /// A member that is not there is an error (`fail-on-missing-field`).
    fail_on_missing: bool,
    names: Vec<String>,
    schema: SchemaRef,
}

impl Rows {
    pub fn new(schema: &TableSchema, fail_on_missing: bool) -> Self {
        Self {
            columns: schema.columns.iter().map(|c| ColumnBuilder::new(&c.logical_type)).collect(),
            len: 0,
            nulled: Vec::new(),
            required: (0..schema.columns.len()).filter(|&i| !schema.columns[i].nullable).collect(),
            fail_on_missing,
            names: schema.columns.iter().map(|c| c.name.clone()).collect(),
            schema: schema.to_arrow(),
        }
    }

    /// Ends a row: columns that got no value become NULL.
    #[inline]
    pub fn end_row(&mut self) -> Result<(), RecordFault> {
        for (i, column) in self.columns.iter_mut().enumerate() {
            if column.len() == self.len {
                if self.fail_on_missing {
                    return Err(RecordFault::column(i, "is missing"));
                }
                column.append_null();
            }
        }
        for &i in &self.required {
            if self.columns[i].is_null(self.len) {
                let message = "is NULL or missing, but the column is NOT NULL".to_string();
                return Err(RecordFault { reason: Reason::NotNull, column: Some(i), message });
            }
        }
        self.len += 1;
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.columns.iter_mut().for_each(|c| c.truncate(len));
        self.len = len;
    }

    /// Decodes all records of a chunk. `record` appends the rows of one record and may fail halfway.
    pub fn decode(
        &mut self,
        chunk: &RecordChunk,
        mut record: impl FnMut(&mut Self, &str) -> Result<(), RecordFault>,
    ) -> Result<Decoded> {
        self.decode_values(chunk, |rows, text| match text {
            Some(text) => record(rows, text),
            None => Err(RecordFault::no_value()),
        })
    }

    /// As [`Self::decode`], with None for records without a value.
    pub fn decode_values(
        &mut self,
        chunk: &RecordChunk,
        mut record: impl FnMut(&mut Self, Option<&str>) -> Result<(), RecordFault>,
    ) -> Result<Decoded> {
        // One check for the whole chunk is several times cheaper than one for each record.
        let whole = std::str::from_utf8(&chunk.bytes).ok();
        self.decode_each(chunk, |rows, i| {
            let text = match (whole, &chunk.records[i]) {
                (Some(text), at) => text.get(at.start as usize..at.end as usize),
                (None, _) => std::str::from_utf8(chunk.record(i)).ok(),
            };
            match text {
                Some(_) if chunk.value(i).is_none() => record(rows, None),
                Some(text) => record(rows, Some(text)),
                None => Err(RecordFault::record("the record is not valid UTF-8")),
            }
        })
    }

    /// As [`Self::decode`], for records that need not be text.
    pub fn decode_bytes(
        &mut self,
        chunk: &RecordChunk,
        mut record: impl FnMut(&mut Self, &[u8]) -> Result<(), RecordFault>,
    ) -> Result<Decoded> {
        self.decode_each(chunk, |rows, i| match chunk.value(i) {
            Some(bytes) => record(rows, bytes),
            None => Err(RecordFault::no_value()),
        })
    }

    /// As [`Self::decode_bytes`], with None for records without a value.
    pub fn decode_byte_values(
        &mut self,
        chunk: &RecordChunk,
        mut record: impl FnMut(&mut Self, Option<&[u8]>) -> Result<(), RecordFault>,
    ) -> Result<Decoded> {
        self.decode_each(chunk, |rows, i| record(rows, chunk.value(i)))
    }

    fn decode_each(
        &mut self,
        chunk: &RecordChunk,
        mut record: impl FnMut(&mut Self, usize) -> Result<(), RecordFault>,
    ) -> Result<Decoded> {
        let mut errors = Vec::new();
        let mut records: Option<Vec<u32>> = None;
        for i in 0..chunk.len() {
            let before = self.len;
            if let Err(fault) = record(self, i) {
                self.nulled.clear();
                self.truncate(before);
                errors.push(self.error_of(i, fault.reason, fault.column, fault.message));
            }
            while let Some((column, message)) = self.nulled.pop() {
                errors.push(self.error_of(i, Reason::Decode, Some(column), message));
            }
            let rows = self.len - before;
            if rows != 1 && records.is_none() {
                records = Some((0..before as u32).collect());
            }
            if let Some(records) = &mut records {
                records.extend(std::iter::repeat_n(i as u32, rows));
            }
        }
        Ok(Decoded { columns: self.finish()?, records, errors, kinds: None })
    }

    fn error_of(&self, record: usize, reason: Reason, column: Option<usize>, message: String) -> RowError {
        match column.and_then(|c| self.names.get(c)) {
            Some(name) => RowError::new(record as u32, reason, message).column(name),
            None => RowError::new(record as u32, reason, message),
        }
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.len);
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        // A table of which no column is needed still has rows.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }
}
