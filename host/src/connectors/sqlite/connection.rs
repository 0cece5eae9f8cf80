//! Where a table lies, its connections, and what SQLite's errors mean.

use crate::connectors::api::TableContext;
use crate::data::PathStep;
use crate::error::{Error, Result};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a statement waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A table in a database file.
#[derive(Debug, Clone)]
pub struct Location {
    /// The SQL name of the job's table.
    pub table: Arc<str>,
    pub path: PathBuf,
    /// The name in the database.
    pub name: String,
    /// The columns' names in the database, in the order of the schema.
    pub columns: Vec<String>,
}

impl Location {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let option = |name: &str| {
            cx.options
                .text(name)
                .filter(|t| !t.is_empty())
                .ok_or_else(|| Error::user(format!("table {}: the option {name} is missing", cx.table)))
        };
        let path = option("path")?;
        let columns = cx.schema.columns.iter().map(|c| match c.path.as_slice() {
            [PathStep::Member(physical)] => physical.clone(),
            _ => c.name.clone(),
        });
        Ok(Self {
            table: cx.table.clone(),
            path: cx.base_dir.join(path.strip_prefix("file://").unwrap_or(path)),
            name: option("table")?.to_string(),
            columns: columns.collect(),
        })
    }

    fn options(&self) -> SqliteConnectOptions {
        SqliteConnectOptions::new().filename(&self.path).busy_timeout(BUSY_TIMEOUT).disable_statement_logging()
    }

    /// For reading; the file must be there.
    pub async fn open_to_read(&self) -> Result<SqliteConnection> {
        if let Err(e) = std::fs::metadata(&self.path) {
            return Err(Error::external(format!("table {}: cannot open {}: {e}", self.table, self.path.display()))
                .with_hint("paths in SQL start at the folder of the job file"));
        }
        let options = self.options().read_only(true);
        SqliteConnection::connect_with(&options).await.map_err(|e| self.error("open", &e))
    }

    /// For writing; the file is made if it is not there.
    pub async fn open_to_write(&self) -> Result<SqliteConnection> {
        let options = self.options().create_if_missing(true);
        SqliteConnection::connect_with(&options).await.map_err(|e| self.error("open", &e))
    }

    pub fn error(&self, doing: &str, e: &sqlx::Error) -> Error {
        let text = match e {
            sqlx::Error::Database(e) => e.message().to_string(),
            other => other.to_string(),
        };
        let error = Error::external(format!(
            "table {}: cannot {doing} table {} of {}: {text}",
            self.table,
            self.name,
            self.path.display()
        ));
        match result_code(e) {
            Some(SQLITE_BUSY | SQLITE_LOCKED) => {
                error.retryable().with_hint("another program holds the database; it must end its transaction")
            }
            _ => error,
        }
    }
}

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_TOOBIG: i32 = 18;
const SQLITE_CONSTRAINT: i32 = 19;
const SQLITE_MISMATCH: i32 = 20;

/// SQLite's primary result code (<https://www.sqlite.org/rescode.html>).
fn result_code(e: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(e) = e else { return None };
    Some(e.code()?.parse::<i32>().ok()? & 0xff)
}

/// Whether the row is to blame, not the database: other rows may well be written.
pub fn is_row_error(e: &sqlx::Error) -> bool {
    matches!(result_code(e), Some(SQLITE_TOOBIG | SQLITE_CONSTRAINT | SQLITE_MISMATCH))
}

/// An identifier in quotes.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
