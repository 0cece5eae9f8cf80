//! Rows that a query holds itself (VALUES, SELECT without FROM): their numbers, from which its expressions make the rest.

use super::api::{Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext};
use crate::data::{Column, LogicalType, RecordChunk, RecordRef, TableSchema};
use crate::error::Result;
use crate::formats::Decoder;
use crate::sql::options::{Dialect, ResolvedOptions};
use arrow::array::{Int32Array, RecordBatch};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// The only column: 0, 1, 2 ..
pub const ROW_NUMBER: &str = "__row";

/// What such a source is opened with.
pub fn context(time_zone: chrono_tz::Tz) -> TableContext {
    let number = Column::new(ROW_NUMBER, LogicalType::Int, true);
    TableContext {
        table: "VALUES".into(),
        dialect: Dialect::Flink,
        schema: TableSchema::new(vec![number]),
        primary_key: vec![],
        options: ResolvedOptions::default(),
        base_dir: Default::default(),
        time_zone,
        max_record_bytes: usize::MAX,
        format: None,
        value_columns: vec![0],
        key_format: None,
        key_columns: vec![],
        filters: vec![],
    }
}

pub struct ValuesSource {
    pub count: u64,
    pub schema: TableSchema,
}

#[async_trait]
impl Source for ValuesSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "rows".into(), position: 0, detail: Default::default(), size: Some(self.count) }])
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(ValuesReader { count: self.count, schema: self.schema.clone(), split: None }))
    }
}

struct ValuesReader {
    count: u64,
    schema: TableSchema,
    split: Option<SourceSplit>,
}

#[async_trait(?Send)]
impl SourceReader for ValuesReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.split = Some(split);
    }

    async fn poll(&mut self, max_rows: usize, _max_wait: Duration) -> Result<SourceOutput> {
        let Some(split) = self.split.as_mut().filter(|s| s.position < self.count) else {
            self.split = None;
            return Ok(SourceOutput::Exhausted);
        };
        let end = self.count.min(split.position + max_rows.max(1) as u64);
        let rows = split.position..end;
        let numbers = Int32Array::from_iter_values(rows.clone().map(|row| row as i32));
        let columns = RecordBatch::try_new(self.schema.to_arrow(), vec![Arc::new(numbers)])?;
        let chunk = RecordChunk {
            table: "VALUES".into(),
            split: split.id.clone(),
            unit: "row",
            records: rows.map(|row| RecordRef { position: row + 1, start: 0, end: 0 }).collect(),
            ..RecordChunk::default()
        };
        split.position = end;
        Ok(SourceOutput::Rows(columns, Arc::new(chunk)))
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.split.iter().cloned().collect()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.split.as_ref().map(|s| (s.position, self.count))
    }
}
