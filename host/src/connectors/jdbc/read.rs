//! Rows of the server as batches of the job's columns: what scans and look-ups share.

use super::connection::{Connection, Row, Server};
use super::describe::{ServerTable, describe};
use super::filter::Filter;
use super::statements::Statements;
use super::types::{Direction, ServerColumn};
use super::url::Product;
use super::values::ReadRules;
use super::{mysql, postgres};
use crate::connectors::api::TableContext;
use crate::connectors::predicate::Predicate;
use crate::connectors::row_batch::RowBatch;
use crate::data::TableSchema;
use crate::error::Result;
use crate::formats::{ColumnBuilder, TextRules};
use std::sync::Arc;

/// A table that is read.
pub struct ReadTable {
    pub server: Arc<Server>,
    pub schema: TableSchema,
    rules: ReadRules,
    filters: Vec<Predicate>,
    known: tokio::sync::OnceCell<Arc<Known>>,
}

/// The table as the server describes it.
pub struct Known {
    pub table: ServerTable,
    pub statements: Statements,
    /// What the rows are to meet, as far as the database can tell.
    pub filter: Filter,
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
        let filters = cx.filters.clone();
        Ok(Self { schema: cx.schema.clone(), rules, server, filters, known: tokio::sync::OnceCell::new() })
    }

    /// What the server says of the table; asked once.
    pub async fn known(&self, connection: &mut Connection) -> Result<&Arc<Known>> {
        let look = async {
            let table = describe(&self.server, connection).await?;
            let columns = table.resolve(&self.server, &self.schema, Direction::Read)?;
            let filter = Filter::new(self.server.product(), &self.schema, &columns, &self.filters, &self.rules)?;
            let statements = Statements::new(self.server.product(), &table, columns);
            Ok(Arc::new(Known { table, statements, filter }))
        };
        self.known.get_or_try_init(|| look).await
    }

    /// The conditions that were taken, as text.
    pub fn filter_text(&self) -> String {
        self.filters.iter().map(Predicate::to_string).collect::<Vec<_>>().join(" AND ")
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

    /// A batch of this table's rows; `position`: the number of the row before its first.
    pub fn batch(&self, split: Arc<str>, position: u64) -> RowBatch<'_> {
        RowBatch::new(&self.schema, self.server.table.clone(), split, position)
    }

    pub fn push(&self, batch: &mut RowBatch<'_>, known: &Known, row: &Row) {
        let theirs = &known.statements.columns;
        batch.push(|i, builder| match row.bytes(i)? {
            None => {
                builder.append_null();
                Ok(())
            }
            Some(bytes) => self.append(builder, bytes, &theirs[i]),
        });
    }

    fn append(&self, b: &mut ColumnBuilder, bytes: &[u8], column: &ServerColumn) -> Result<(), String> {
        match self.server.product() {
            Product::MySql => mysql::append(b, bytes, column, &self.rules),
            Product::Postgres => postgres::append(b, bytes, column, &self.rules),
        }
    }
}
