//! Writing: appends, or upserts and deletes by PRIMARY KEY; one transaction from flush to flush.

use super::connection::{Location, is_row_error, quoted};
use super::values::{bind, check_types, column_type};
use crate::connectors::api::{FailedRow, Sink, SinkWriter, SubtaskContext, TableContext};
use crate::data::{Batch, ChangelogMode, Reason, RowError, RowKind, TableSchema};
use crate::error::{Error, Result};
use crate::formats::Cell;
use async_trait::async_trait;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection, Row};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of one INSERT statement; a statement costs a hand-over to SQLite's thread, a row hardly anything.
const ROWS_PER_STATEMENT: usize = 200;
/// SQLite's own limit of parameters.
const PARAMETERS_MAX: usize = 32_000;
/// How long a row waits for its transaction to end if the table does not say.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The target and its statements.
struct Target {
    location: Location,
    schema: TableSchema,
    /// Indexes of the PRIMARY KEY columns; empty: append only.
    key: Vec<usize>,
    rows_per_statement: usize,
    rows_per_transaction: u64,
    flush_interval: Option<Duration>,
}

pub struct SqliteSink {
    target: Arc<Target>,
}

impl SqliteSink {
    pub fn new(cx: &TableContext) -> Result<Self> {
        check_types(&cx.table, &cx.schema.columns)?;
        let key = cx.primary_key.iter().map(|name| {
            cx.schema
                .index_of(name)
                .ok_or_else(|| Error::user(format!("table {}: the PRIMARY KEY column {name} is not written", cx.table)))
        });
        let rows = cx.options.int("sink.buffer-flush.max-rows").and_then(|n| u64::try_from(n).ok());
        let interval = cx.options.duration("sink.buffer-flush.interval").unwrap_or(FLUSH_INTERVAL);
        let target = Target {
            location: Location::new(cx)?,
            schema: cx.schema.clone(),
            key: key.collect::<Result<_>>()?,
            rows_per_statement: (PARAMETERS_MAX / cx.schema.columns.len().max(1)).clamp(1, ROWS_PER_STATEMENT),
            rows_per_transaction: rows.filter(|&n| n > 0).unwrap_or(u64::MAX),
            flush_interval: (!interval.is_zero()).then_some(interval),
        };
        Ok(Self { target: Arc::new(target) })
    }
}

impl Target {
    fn column(&self, index: usize) -> String {
        quoted(&self.location.columns[index])
    }

    fn columns(&self, indexes: impl Iterator<Item = usize>) -> String {
        indexes.map(|i| self.column(i)).collect::<Vec<_>>().join(", ")
    }

    fn create_sql(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (i, c) in self.schema.columns.iter().enumerate() {
            // SQLite lets NULL into a primary key unless it is told not to.
            let not_null = if !c.nullable || self.key.contains(&i) { " NOT NULL" } else { "" };
            parts.push(format!("{} {}{not_null}", self.column(i), column_type(&c.logical_type)));
        }
        if !self.key.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", self.columns(self.key.iter().copied())));
        }
        format!("CREATE TABLE IF NOT EXISTS {} ({})", quoted(&self.location.name), parts.join(", "))
    }

    fn insert_sql(&self, rows: usize) -> String {
        let width = self.schema.columns.len();
        let row = format!("({})", vec!["?"; width].join(", "));
        let mut sql = format!(
            "INSERT INTO {} ({}) VALUES {}",
            quoted(&self.location.name),
            self.columns(0..width),
            vec![row.as_str(); rows].join(", ")
        );
        if self.key.is_empty() {
            return sql;
        }
        let set = (0..width).filter(|i| !self.key.contains(i)).map(|i| {
            let column = self.column(i);
            format!("{column} = excluded.{column}")
        });
        let set: Vec<String> = set.collect();
        let action = if set.is_empty() { "NOTHING".to_string() } else { format!("UPDATE SET {}", set.join(", ")) };
        sql.push_str(&format!(" ON CONFLICT ({}) DO {action}", self.columns(self.key.iter().copied())));
        sql
    }

    fn delete_sql(&self) -> String {
        let conditions = self.key.iter().map(|&i| format!("{} = ?", self.column(i))).collect::<Vec<_>>();
        format!("DELETE FROM {} WHERE {}", quoted(&self.location.name), conditions.join(" AND "))
    }

    /// A table that was there before must have our columns, and a unique key if we upsert.
    async fn check(&self, connection: &mut SqliteConnection) -> Result<()> {
        let fail = |e: sqlx::Error| self.location.error("read", &e);
        let found = sqlx::query("SELECT name FROM pragma_table_info(?)")
            .bind(self.location.name.clone())
            .fetch_all(&mut *connection)
            .await
            .map_err(fail)?;
        let names: Vec<String> = found.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(fail)?;
        if let Some(missing) = self.location.columns.iter().find(|c| !names.iter().any(|n| n.eq_ignore_ascii_case(c))) {
            let message = format!(
                "table {}: table {} of {} has no column {missing}",
                self.location.table,
                self.location.name,
                self.location.path.display()
            );
            return Err(Error::external(message).with_hint(format!("its columns are: {}", names.join(", "))));
        }
        let explain = format!("EXPLAIN {}", self.insert_sql(1));
        let explained = sqlx::query(AssertSqlSafe(explain)).fetch_all(connection).await;
        explained.map_err(|e| {
            self.location.error("write", &e).with_hint("its UNIQUE or PRIMARY KEY must be that of the job's table")
        })?;
        Ok(())
    }
}

#[async_trait]
impl Sink for SqliteSink {
    fn changelog_mode(&self) -> ChangelogMode {
        if self.target.key.is_empty() { ChangelogMode::Append } else { ChangelogMode::Upsert }
    }

    /// SQLite has one writer at a time.
    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        let location = &self.target.location;
        let mut connection = location.open_to_write().await?;
        let create = AssertSqlSafe(self.target.create_sql());
        sqlx::query(create).execute(&mut connection).await.map_err(|e| location.error("create", &e))?;
        self.target.check(&mut connection).await?;
        connection.close().await.map_err(|e| location.error("write", &e))
    }

    fn writer(&self, _cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(SqliteWriter { target: self.target.clone(), connection: None, open_rows: None, open_since: None }))
    }
}

struct SqliteWriter {
    target: Arc<Target>,
    connection: Option<SqliteConnection>,
    /// Rows in the open transaction; None: there is none.
    open_rows: Option<u64>,
    /// When the open transaction began.
    open_since: Option<Instant>,
}

/// What became of a statement.
enum Outcome {
    Done,
    /// A row of it is to blame; nothing of the statement is in the table.
    Refused(String),
}

impl SqliteWriter {
    async fn begin(&mut self) -> Result<()> {
        if self.connection.is_none() {
            self.connection = Some(self.target.location.open_to_write().await?);
        }
        if self.open_rows.is_none() {
            self.run("BEGIN IMMEDIATE").await?;
            self.open_rows = Some(0);
            self.open_since = Some(Instant::now());
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        self.open_since = None;
        if self.open_rows.take().is_some() {
            self.run("COMMIT").await?;
        }
        Ok(())
    }

    fn connection(&mut self) -> Result<&mut SqliteConnection> {
        self.connection.as_mut().ok_or_else(|| Error::internal("sqlite sink: no connection"))
    }

    async fn run(&mut self, sql: &'static str) -> Result<()> {
        let outcome = sqlx::query(sql).execute(self.connection()?).await;
        outcome.map(|_| ()).map_err(|e| self.target.location.error("write", &e))
    }

    /// Runs a statement; `keep`: its text will come again.
    async fn execute(&mut self, sql: String, arguments: SqliteArguments, keep: bool) -> Result<Outcome> {
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(keep);
        match query.execute(self.connection()?).await {
            Ok(_) => Ok(Outcome::Done),
            Err(e) if is_row_error(&e) => Ok(Outcome::Refused(match e {
                sqlx::Error::Database(e) => e.message().to_string(),
                other => other.to_string(),
            })),
            Err(e) => Err(self.target.location.error("write", &e)),
        }
    }

    /// The values of a row, or the reason why SQLite cannot hold them.
    fn arguments(
        &self,
        cells: &[Cell<'_>],
        columns: impl Iterator<Item = usize>,
        rows: &[usize],
    ) -> std::result::Result<SqliteArguments, RowError> {
        let mut arguments = SqliteArguments::default();
        let columns: Vec<usize> = columns.collect();
        for &row in rows {
            for &i in &columns {
                // An INTEGER PRIMARY KEY would take NULL for "make up a number".
                if self.target.key.contains(&i) && cells[i].is_null(row) {
                    let name = &self.target.schema.columns[i].name;
                    let message = "is NULL, but part of the PRIMARY KEY";
                    return Err(RowError::new(row as u32, Reason::NotNull, message).column(name));
                }
                bind(&mut arguments, &cells[i], row).map_err(|message| {
                    let name = &self.target.schema.columns[i].name;
                    RowError::new(row as u32, Reason::Encode, message).column(name)
                })?;
            }
        }
        Ok(arguments)
    }

    /// Inserts rows by one statement, or one by one if that fails, so that only the bad ones are left out.
    async fn insert(&mut self, cells: &[Cell<'_>], rows: &[usize], errors: &mut Vec<RowError>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let all = self.arguments(cells, 0..cells.len(), rows);
        if let (Ok(arguments), true) = (all, rows.len() > 1) {
            let keep = rows.len() == self.target.rows_per_statement;
            if let Outcome::Done = self.execute(self.target.insert_sql(rows.len()), arguments, keep).await? {
                return Ok(());
            }
        }
        for &row in rows {
            match self.arguments(cells, 0..cells.len(), &[row]) {
                Err(error) => errors.push(error),
                Ok(arguments) => {
                    if let Outcome::Refused(why) = self.execute(self.target.insert_sql(1), arguments, true).await? {
                        errors.push(RowError::new(row as u32, Reason::Sink, why));
                    }
                }
            }
        }
        Ok(())
    }

    async fn delete(&mut self, cells: &[Cell<'_>], row: usize, errors: &mut Vec<RowError>) -> Result<()> {
        let target = self.target.clone();
        match self.arguments(cells, target.key.iter().copied(), &[row]) {
            Err(error) => errors.push(error),
            Ok(arguments) => {
                if let Outcome::Refused(why) = self.execute(target.delete_sql(), arguments, true).await? {
                    errors.push(RowError::new(row as u32, Reason::Sink, why));
                }
            }
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl SinkWriter for SqliteWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        let cells = batch.columns.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        self.begin().await?;
        let append_only = self.target.key.is_empty();
        let mut run: Vec<usize> = Vec::with_capacity(self.target.rows_per_statement);
        for row in 0..batch.num_rows() {
            match batch.kind(row) {
                RowKind::Insert | RowKind::UpdateAfter => run.push(row),
                kind if append_only => {
                    let message = format!("a row of kind {} needs a table with a PRIMARY KEY", kind.short());
                    errors.push(RowError::new(row as u32, Reason::Sink, message));
                }
                // The row after the update has the same key and replaces it.
                RowKind::UpdateBefore => {}
                RowKind::Delete => {
                    self.insert(&cells, &run, errors).await?;
                    run.clear();
                    self.delete(&cells, row, errors).await?;
                }
            }
            if run.len() == self.target.rows_per_statement {
                self.insert(&cells, &run, errors).await?;
                run.clear();
            }
        }
        self.insert(&cells, &run, errors).await?;
        let rows = self.open_rows.unwrap_or(0) + batch.num_rows() as u64;
        self.open_rows = Some(rows);
        if rows >= self.target.rows_per_transaction {
            self.commit().await?;
        }
        Ok(())
    }

    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        self.commit().await
    }

    fn flush_due(&self) -> Option<Instant> {
        self.open_since.zip(self.target.flush_interval).map(|(since, interval)| since + interval)
    }

    async fn close(&mut self) -> Result<()> {
        self.commit().await?;
        match self.connection.take() {
            None => Ok(()),
            Some(connection) => connection.close().await.map_err(|e| self.target.location.error("write", &e)),
        }
    }
}
