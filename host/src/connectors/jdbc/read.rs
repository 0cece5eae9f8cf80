//! Rows of the server as batches of the job's columns: what scans and look-ups share.

use super::connection::{Connection, Row, Server};
use super::describe::{ServerTable, describe};
use super::statements::Statements;
use super::types::{Direction, ServerColumn};
use super::url::Product;
use super::values::ReadRules;
use super::{mysql, postgres};
use crate::connectors::api::TableContext;
use crate::data::{Reason, RecordChunk, RecordRef, RefusedRecord, RowError, TableSchema};
use crate::error::Result;
use crate::formats::{ColumnBuilder, TextRules};
use arrow::array::{RecordBatch, RecordBatchOptions};
use std::sync::Arc;

/// A table that is read.
pub struct ReadTable {
    pub server: Arc<Server>,
    pub schema: TableSchema,
    rules: ReadRules,
    known: tokio::sync::OnceCell<Arc<Known>>,
}

/// The table as the server describes it.
pub struct Known {
    pub table: ServerTable,
    pub statements: Statements,
}

impl ReadTable {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let server = Arc::new(Server::new(cx)?);
        let params = &server.url.params;
        let rules = ReadRules {
            text: TextRules { time_zone: chrono_tz::UTC, epoch_millis: false },
            zone: params.server_zone.unwrap_or(cx.time_zone),
            zero_dates: params.zero_dates,
            any_number_is_bool: params.tiny_int_is_bit,
        };
        Ok(Self { schema: cx.schema.clone(), rules, server, known: tokio::sync::OnceCell::new() })
    }

    /// What the server says of the table; asked once.
    pub async fn known(&self, connection: &mut Connection) -> Result<&Arc<Known>> {
        let look = async {
            let table = describe(&self.server, connection).await?;
            let columns = table.resolve(&self.server, &self.schema, Direction::Read)?;
            let statements = Statements::new(self.server.product(), &table, columns);
            Ok(Arc::new(Known { table, statements }))
        };
        self.known.get_or_try_init(|| look).await
    }

    /// The zone of wall clocks that stand for instants.
    pub fn zone(&self) -> chrono_tz::Tz {
        self.rules.zone
    }

    /// What the server has said already; else connects and asks.
    pub async fn probe_once(&self) -> Result<Arc<Known>> {
        match self.known.get() {
            Some(known) => Ok(known.clone()),
            None => self.probe().await,
        }
    }

    /// Connects and looks at the table.
    pub async fn probe(&self) -> Result<Arc<Known>> {
        let mut connection = self.server.connect().await.map_err(|e| self.server.error("read", &e))?;
        let known = self.known(&mut connection).await?.clone();
        connection.close().await;
        Ok(known)
    }

    fn append(&self, b: &mut ColumnBuilder, bytes: &[u8], column: &ServerColumn) -> Result<(), String> {
        match self.server.product() {
            Product::MySql => mysql::append(b, bytes, column, &self.rules),
            Product::Postgres => postgres::append(b, bytes, column, &self.rules),
        }
    }
}

/// Rows on their way into a batch.
pub struct RowBatch<'t> {
    table: &'t ReadTable,
    known: &'t Known,
    split: Arc<str>,
    columns: Vec<ColumnBuilder>,
    chunk: RecordChunk,
    /// Number of the last row, from 1.
    position: u64,
}

impl<'t> RowBatch<'t> {
    pub fn new(table: &'t ReadTable, known: &'t Known, split: Arc<str>, position: u64) -> Self {
        let columns = table.schema.columns.iter().map(|c| ColumnBuilder::new(&c.logical_type)).collect();
        let chunk = Self::chunk(table, &split);
        Self { table, known, split, columns, chunk, position }
    }

    fn chunk(table: &ReadTable, split: &Arc<str>) -> RecordChunk {
        RecordChunk { table: table.server.table.clone(), split: split.clone(), unit: "row", ..Default::default() }
    }

    pub fn waiting(&self) -> usize {
        self.chunk.records.len() + self.chunk.refused.len()
    }

    pub fn push(&mut self, row: &Row) {
        self.position += 1;
        let before = self.chunk.records.len();
        match self.append(row, before) {
            Ok(()) => self.chunk.records.push(RecordRef { position: self.position, start: 0, end: 0 }),
            Err(error) => {
                self.columns.iter_mut().for_each(|c| c.truncate(before));
                self.chunk.refused.push(RefusedRecord { position: self.position, raw: vec![], error });
            }
        }
    }

    fn append(&mut self, row: &Row, at: usize) -> Result<(), RowError> {
        let theirs = &self.known.statements.columns;
        for (i, (builder, column)) in self.columns.iter_mut().zip(&self.table.schema.columns).enumerate() {
            let refuse = |reason, message: String| RowError::new(0, reason, message).column(&column.name);
            match row.bytes(i).map_err(|message| refuse(Reason::Decode, message))? {
                None => builder.append_null(),
                Some(bytes) => {
                    self.table.append(builder, bytes, &theirs[i]).map_err(|message| refuse(Reason::Decode, message))?
                }
            }
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
        let batch = RecordBatch::try_new_with_options(self.table.schema.to_arrow(), columns, &options)?;
        Ok((batch, std::mem::replace(&mut self.chunk, Self::chunk(self.table, &self.split))))
    }
}
