//! Rows of a database on their way into a batch of the table's columns.

use crate::data::{Reason, RecordChunk, RecordRef, RefusedRecord, RowError, TableSchema};
use crate::error::Result;
use crate::formats::ColumnBuilder;
use arrow::array::{RecordBatch, RecordBatchOptions};
use std::sync::Arc;

pub struct RowBatch<'s> {
    schema: &'s TableSchema,
    table: Arc<str>,
    split: Arc<str>,
    columns: Vec<ColumnBuilder>,
    chunk: RecordChunk,
    /// Number of the last row, from 1.
    position: u64,
}

impl<'s> RowBatch<'s> {
    pub fn new(schema: &'s TableSchema, table: Arc<str>, split: Arc<str>, position: u64) -> Self {
        let columns = schema.columns.iter().map(|c| ColumnBuilder::new(&c.logical_type)).collect();
        let chunk = empty_chunk(&table, &split);
        Self { schema, table, split, columns, chunk, position }
    }

    /// Rows that wait to be taken, the refused ones included.
    pub fn waiting(&self) -> usize {
        self.chunk.records.len() + self.chunk.refused.len()
    }

    /// One row: `append` puts its value of a column, by index, into the builder, or says why it does not fit. A row with
    /// such a value, or with NULL where the table has none, is refused as a whole.
    pub fn push(&mut self, append: impl FnMut(usize, &mut ColumnBuilder) -> Result<(), String>) {
        self.position += 1;
        let before = self.chunk.records.len();
        match self.append_row(before, append) {
            Ok(()) => self.chunk.records.push(RecordRef { position: self.position, start: 0, end: 0 }),
            Err(error) => {
                self.columns.iter_mut().for_each(|c| c.truncate(before));
                self.chunk.refused.push(RefusedRecord { position: self.position, raw: vec![], error });
            }
        }
    }

    fn append_row(
        &mut self,
        at: usize,
        mut append: impl FnMut(usize, &mut ColumnBuilder) -> Result<(), String>,
    ) -> Result<(), RowError> {
        for (i, (builder, column)) in self.columns.iter_mut().zip(&self.schema.columns).enumerate() {
            let refuse = |reason, message: String| RowError::new(0, reason, message).column(&column.name);
            append(i, builder).map_err(|message| refuse(Reason::Decode, message))?;
            if !column.nullable && builder.is_null(at) {
                return Err(refuse(Reason::NotNull, "is NULL, but the column is NOT NULL".into()));
            }
        }
        Ok(())
    }

    pub fn take(&mut self) -> Result<(RecordBatch, RecordChunk)> {
        let rows = self.chunk.records.len();
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.schema.to_arrow(), columns, &options)?;
        Ok((batch, std::mem::replace(&mut self.chunk, empty_chunk(&self.table, &self.split))))
    }
}

fn empty_chunk(table: &Arc<str>, split: &Arc<str>) -> RecordChunk {
    RecordChunk { table: table.clone(), split: split.clone(), unit: "row", ..Default::default() }
}
