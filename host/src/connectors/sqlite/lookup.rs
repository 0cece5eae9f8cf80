//! The side table: the whole of it, or the rows of some keys.

use super::connection::quoted;
use super::source::Scan;
use super::values::bind;
use crate::connectors::api::{FailedRow, LookupCache, LookupSettings, LookupSource, Snapshot, TableContext};
use crate::connectors::local::load::reload_interval;
use crate::connectors::lookup_options;
use crate::data::LogicalType;
use crate::error::{Error, Result};
use crate::formats::Cell;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use sqlx::sqlite::SqliteArguments;

const ROWS_PER_BATCH: usize = 8192;

/// A side table in SQLite: loaded whole, unless it names another cache.
pub struct SqliteLookup {
    scan: Scan,
    settings: LookupSettings,
}

impl SqliteLookup {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let whole = LookupCache::All { reload: reload_interval(&cx.options) };
        Ok(Self { scan: Scan::new(cx)?, settings: lookup_options::settings(&cx.options, whole) })
    }

    async fn query(&self, sql: String, arguments: SqliteArguments) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        let take = |columns, chunk: crate::data::RecordChunk| {
            for refused in &chunk.refused {
                snapshot.failed.push(FailedRow { origin: chunk.origin_of(refused), error: refused.error.clone() });
            }
            snapshot.batches.push(columns);
            true
        };
        self.scan.run(sql, arguments, 0, ROWS_PER_BATCH, take).await?;
        Ok(snapshot)
    }

    /// What is compared, on both sides: `{}` is the column or the parameter. Any class of value may be in a column, so
    /// decimals are compared as numbers, nearly; the engine picks the exact rows. The others by their class.
    fn compared(t: &LogicalType) -> (&'static str, &'static str) {
        match t {
            LogicalType::Decimal(..) => ("CAST(", " AS REAL)"),
            _ => ("", ""),
        }
    }

    fn condition(&self, key_columns: &[String], keys: usize) -> Result<String> {
        let table = quoted(&self.scan.location.name);
        let mut one = Vec::new();
        for name in key_columns {
            let at = self.scan.schema.index_of(name);
            let at = at.ok_or_else(|| Error::internal(format!("the key column {name} is not read")))?;
            let column = quoted(&self.scan.location.columns[at]);
            let (before, after) = Self::compared(&self.scan.schema.columns[at].logical_type);
            one.push((format!("{before}{table}.{column}{after}"), format!("{before}?{after}")));
        }
        Ok(match one.as_slice() {
            [(column, parameter)] => format!("{column} IN ({})", vec![parameter.as_str(); keys].join(", ")),
            several => {
                let equal: Vec<String> =
                    several.iter().map(|(column, parameter)| format!("{column} = {parameter}")).collect();
                vec![format!("({})", equal.join(" AND ")); keys].join(" OR ")
            }
        })
    }
}

#[async_trait]
impl LookupSource for SqliteLookup {
    fn settings(&self) -> LookupSettings {
        self.settings.clone()
    }

    async fn probe(&self) -> Result<()> {
        let connection = self.scan.location.open_to_read().await?;
        sqlx::Connection::close(connection).await.map_err(|e| self.scan.location.error("read", &e))
    }

    async fn load_all(&self) -> Result<Snapshot> {
        let mut arguments = SqliteArguments::default();
        self.scan.filter.bind(&mut arguments)?;
        self.query(self.scan.query(&[]), arguments).await
    }

    async fn lookup(&self, key_columns: &[String], keys: &RecordBatch) -> Result<Snapshot> {
        let cells = keys.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        let mut arguments = SqliteArguments::default();
        let mut bound = 0;
        for row in 0..keys.num_rows() {
            let mut key = SqliteArguments::default();
            // A key that SQLite cannot hold (NaN) has no row.
            if cells.iter().all(|cell| bind(&mut key, cell, row).is_ok()) {
                for cell in &cells {
                    bind(&mut arguments, cell, row).map_err(Error::internal)?;
                }
                bound += 1;
            }
        }
        if bound == 0 {
            return Ok(Snapshot::default());
        }
        self.scan.filter.bind(&mut arguments)?;
        let keys = format!("({})", self.condition(key_columns, bound)?);
        self.query(self.scan.query(&[keys]), arguments).await
    }
}
