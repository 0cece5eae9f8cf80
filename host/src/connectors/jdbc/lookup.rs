//! The side table: one query for many keys over a pool of connections, or the whole table.

use super::connection::{Arguments, Connection};
use super::error::{Blame, DbError};
use super::read::{Known, ReadTable};
use super::types::{Kind, ServerColumn, Value};
use super::url::Product;
use super::values::{shifted, value};
use super::{mysql, postgres};
use crate::connectors::api::{FailedRow, LookupCache, LookupSettings, LookupSource, Snapshot, TableContext};
use crate::connectors::lookup_options;
use crate::connectors::row_batch::RowBatch;
use crate::error::{Error, Result};
use crate::formats::Cell;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use futures::StreamExt;
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

const ROWS_PER_BATCH: usize = 8192;
/// Connections of one side table if it does not say.
const POOL_SIZE: usize = 4;

pub struct JdbcLookup {
    table: ReadTable,
    pool: Pool,
    settings: LookupSettings,
}

/// Open connections that nobody uses, and how many there may be in all.
struct Pool {
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

/// A connection in use. One that is just dropped (an error, a query that was given up) is closed, not used again.
struct Pooled<'p> {
    pool: &'p Pool,
    connection: Connection,
    _permit: SemaphorePermit<'p>,
}

impl Pool {
    async fn take(&self, table: &ReadTable) -> Result<Pooled<'_>, DbError> {
        let permit = self.permits.acquire().await.map_err(|e| DbError::job(e.to_string()))?;
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match idle {
                None => table.server.connect().await?,
                Some(mut connection) => match connection.is_alive().await {
                    true => connection,
                    false => continue,
                },
            };
            return Ok(Pooled { pool: self, connection, _permit: permit });
        }
    }
}

impl Pooled<'_> {
    fn give_back(self) {
        self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
    }
}

impl JdbcLookup {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let size = cx.options.int("lookup.async.pool-size").and_then(|n| usize::try_from(n).ok()).unwrap_or(POOL_SIZE);
        let settings = lookup_options::settings(&cx.options, LookupCache::None);
        let settings = LookupSettings { concurrency: size.max(1), ..settings };
        let pool = Pool { permits: Semaphore::new(size.max(1)), idle: Mutex::default() };
        Ok(Self { table: ReadTable::new(cx)?, pool, settings })
    }

    fn error(&self, e: &DbError) -> Error {
        self.table.server.error("read", e)
    }

    /// Runs a query and gathers its rows.
    async fn query(
        &self,
        connection: &mut Connection,
        known: &Known,
        sql: &str,
        arguments: Arguments,
    ) -> Result<Snapshot, Outcome> {
        let mut snapshot = Snapshot::default();
        let mut batch = self.table.batch(self.table.server.name.as_str().into(), 0);
        let limit = self.table.server.url.params.socket_timeout;
        let mut rows = connection.fetch(sql, arguments);
        loop {
            let next = match limit {
                None => rows.next().await,
                Some(limit) => tokio::time::timeout(limit, rows.next())
                    .await
                    .map_err(|_| Outcome::Db(DbError::timed_out(limit, "socketTimeout of the URL")))?,
            };
            let Some(row) = next else { break };
            self.table.push(&mut batch, known, &row.map_err(Outcome::Db)?);
            if batch.waiting() >= ROWS_PER_BATCH {
                add(&mut snapshot, &mut batch).map_err(Outcome::Other)?;
            }
        }
        add(&mut snapshot, &mut batch).map_err(Outcome::Other)?;
        Ok(snapshot)
    }

    fn finish(&self, pooled: Pooled<'_>, outcome: Result<Snapshot, Outcome>) -> Result<Snapshot> {
        match outcome {
            Ok(snapshot) => {
                pooled.give_back();
                Ok(snapshot)
            }
            Err(Outcome::Db(e)) => {
                let error = self.error(&e);
                if e.blame != Blame::Weather {
                    pooled.give_back();
                }
                Err(error)
            }
            Err(Outcome::Other(e)) => Err(e),
        }
    }
}

enum Outcome {
    Db(DbError),
    Other(Error),
}

fn add(snapshot: &mut Snapshot, batch: &mut RowBatch<'_>) -> Result<()> {
    if batch.waiting() == 0 {
        return Ok(());
    }
    let (columns, chunk) = batch.take()?;
    for refused in &chunk.refused {
        snapshot.failed.push(FailedRow { origin: chunk.origin_of(refused), error: refused.error.clone() });
    }
    snapshot.batches.push(columns);
    Ok(())
}

#[async_trait]
impl LookupSource for JdbcLookup {
    fn settings(&self) -> LookupSettings {
        self.settings.clone()
    }

    async fn probe(&self) -> Result<()> {
        self.table.probe().await.map(|_| ())
    }

    async fn load_all(&self) -> Result<Snapshot> {
        let mut pooled = self.pool.take(&self.table).await.map_err(|e| self.error(&e))?;
        let known = self.table.known(&mut pooled.connection).await?.clone();
        let sql = known.statements.scan(None, &known.filter, &[], 0);
        let mut arguments = Arguments::none(self.table.server.product());
        arguments.add(known.filter.values()).map_err(|e| self.error(&e))?;
        let outcome = self.query(&mut pooled.connection, &known, &sql, arguments).await;
        self.finish(pooled, outcome)
    }

    async fn lookup(&self, key_columns: &[String], keys: &RecordBatch) -> Result<Snapshot> {
        let mut pooled = self.pool.take(&self.table).await.map_err(|e| self.error(&e))?;
        let known = self.table.known(&mut pooled.connection).await?.clone();
        let columns = self.key_columns(&known, key_columns)?;
        let (rows, values) = self.key_values(&columns, keys)?;
        if rows == 0 {
            pooled.give_back();
            return Ok(Snapshot::default());
        }
        let (rows, values) = padded(rows, values, self.table.server.product());
        let sql = known.statements.lookup(rows, &columns, &known.filter);
        let arguments = match self.table.server.product() {
            Product::MySql => mysql::arguments(&values).map(Arguments::MySql),
            Product::Postgres => {
                let columns: Vec<&ServerColumn> = columns.iter().collect();
                postgres::arrays(&columns, &values).map(Arguments::Postgres)
            }
        };
        let mut arguments = arguments.map_err(|e| self.error(&e))?;
        arguments.add(known.filter.values()).map_err(|e| self.error(&e))?;
        let outcome = self.query(&mut pooled.connection, &known, &sql, arguments).await;
        self.finish(pooled, outcome)
    }
}

impl JdbcLookup {
    fn key_columns(&self, known: &Known, names: &[String]) -> Result<Vec<ServerColumn>> {
        let column = |name: &String| {
            let at = self.table.schema.index_of(name);
            let at = at.ok_or_else(|| Error::internal(format!("the key column {name} is not read")))?;
            Ok(known.statements.columns[at].clone())
        };
        names.iter().map(column).collect()
    }

    /// The keys that the columns can hold, one after the other. One that they cannot hold has no row.
    fn key_values(&self, columns: &[ServerColumn], keys: &RecordBatch) -> Result<(usize, Vec<Value<'static>>)> {
        let zone = self.table.zone();
        let arrays = keys.columns().iter().zip(columns);
        let arrays = arrays.map(|(a, theirs)| shifted(a, theirs.kind, zone)).collect::<Result<Vec<_>>>()?;
        let cells = arrays.iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        let (mut rows, mut values) = (0, Vec::with_capacity(keys.num_rows() * columns.len()));
        for row in 0..keys.num_rows() {
            let key = cells.iter().zip(columns).map(|(cell, c)| key_value(cell, row, c, self.table.server.product()));
            if let Ok(key) = key.collect::<Result<Vec<_>, String>>() {
                values.extend(key);
                rows += 1;
            }
        }
        Ok((rows, values))
    }
}

fn key_value(cell: &Cell<'_>, row: usize, column: &ServerColumn, product: Product) -> Result<Value<'static>, String> {
    let value = match value(cell, row, column.kind)? {
        Value::Null => Value::Null,
        Value::Bool(v) => Value::Bool(v),
        // A text column compared with a number would be read as numbers, row by row and without its index.
        Value::Int(v) if matches!(column.kind, Kind::Text { .. } | Kind::ByText) => Value::Text(v.to_string().into()),
        Value::Int(v) => Value::Int(v),
        Value::Float(v) => Value::Float(v),
        Value::Text(v) => Value::Text(v.into_owned().into()),
        Value::Bytes(v) => Value::Text(String::from_utf8(v.to_vec()).map_err(|e| e.to_string())?.into()),
    };
    if let (Kind::Uuid, Value::Text(text)) = (column.kind, &value)
        && !is_uuid(text)
    {
        return Err("no UUID".to_string());
    }
    if product == Product::Postgres {
        postgres::holds(column, &value)?;
    }
    Ok(value)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Statements whose text depends on the number of keys come in few sizes: the last key is repeated, which finds no more
/// rows.
fn padded(rows: usize, mut values: Vec<Value<'static>>, product: Product) -> (usize, Vec<Value<'static>>) {
    if product == Product::Postgres || rows == 0 {
        return (rows, values);
    }
    let width = values.len() / rows;
    let padded = rows.next_power_of_two();
    let last = values[values.len() - width..].to_vec();
    (rows..padded).for_each(|_| values.extend_from_slice(&last));
    (padded, values)
}
