//! The sink: what it accepts, and whether the table fits before the first row.

use super::changes::Changes;
use super::connection::{Connection, Server};
use super::describe::describe;
use super::statements::{NullPolicy, Statements};
use super::types::Direction;
use super::url::Product;
use super::writer::Writer;
use crate::connectors::api::{Sink, SinkWriter, SubtaskContext, TableContext};
use crate::data::{ChangelogMode, TableSchema};
use crate::error::{Error, Result};
use crate::sql::options::Dialect;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// Rows of one statement where the table does not limit them; MySQL takes 65535 parameters.
const ROWS_PER_STATEMENT: usize = 2_000;
const PARAMETERS_MAX: usize = 60_000;

/// What writers share.
pub struct Target {
    pub server: Arc<Server>,
    pub schema: TableSchema,
    /// Indexes of the PRIMARY KEY columns; empty: rows are appended.
    pub key: Vec<usize>,
    pub null_policy: NullPolicy,
    /// Rows that are taken back are left out instead of refused (flinkStreamSQL's append mode).
    pub ignores_retractions: bool,
    /// A flush begins at this many rows; None: only by time and at barriers.
    pub flush_rows: Option<usize>,
    pub flush_interval: Option<Duration>,
    pub retries: u32,
    pub zone: chrono_tz::Tz,
    known: tokio::sync::OnceCell<Arc<Known>>,
}

/// The target as the server describes it.
pub struct Known {
    pub statements: Statements,
    pub rows_per_statement: usize,
    pub statement_bytes_max: usize,
    pub transactional: bool,
}

impl Target {
    fn new(cx: &TableContext) -> Result<Self> {
        let options = &cx.options;
        let server = Arc::new(Server::new(cx)?);
        let append = options.text("update-mode") == Some("append");
        let key = cx.primary_key.iter().filter(|_| !append).map(|name| {
            cx.schema
                .index_of(name)
                .ok_or_else(|| Error::user(format!("table {}: the PRIMARY KEY column {name} is not written", cx.table)))
        });
        let rows = options.int("sink.buffer-flush.max-rows").and_then(|n| usize::try_from(n).ok());
        let retries = options.int("sink.max-retries").or_else(|| options.int("lookup.max-retries"));
        let zone = server.url.params.server_zone.unwrap_or(cx.time_zone);
        Ok(Self {
            schema: cx.schema.clone(),
            key: key.collect::<Result<_>>()?,
            null_policy: null_policy(cx),
            ignores_retractions: cx.dialect == Dialect::DtStack,
            flush_rows: match (rows, cx.dialect) {
                // flinkStreamSQL's batch of none is one of one (B95); Flink's is no limit.
                (Some(0), Dialect::DtStack) => Some(1),
                (rows, _) => rows.filter(|n| *n > 0),
            },
            flush_interval: options.duration("sink.buffer-flush.interval").filter(|d| !d.is_zero()),
            retries: u32::try_from(retries.unwrap_or(3)).unwrap_or(u32::MAX),
            zone,
            server,
            known: tokio::sync::OnceCell::new(),
        })
    }

    pub fn changes(&self) -> Changes {
        match self.key.is_empty() {
            true => Changes::append_only(),
            false => Changes::by_key(self.key.clone(), self.null_policy == NullPolicy::Keep),
        }
    }

    /// What the server has said of the table, if it was asked.
    pub fn described(&self) -> Option<Arc<Known>> {
        self.known.get().cloned()
    }

    /// What the server says of the table; asked once.
    pub async fn known(&self, connection: &mut Connection) -> Result<&Arc<Known>> {
        self.known.get_or_try_init(|| self.look_at(connection)).await
    }

    async fn look_at(&self, connection: &mut Connection) -> Result<Arc<Known>> {
        let table = describe(&self.server, connection).await?;
        let columns = table.resolve(&self.server, &self.schema, Direction::Write)?;
        if !self.key.is_empty() {
            let key: Vec<String> = self.key.iter().map(|&i| columns[i].name.clone()).collect();
            self.check_key(&key, table.has_unique_key(&key), &table.unique_keys)?;
        }
        let width = columns.len().max(1);
        let rows_per_statement = match table.transactional {
            true => (PARAMETERS_MAX / width).clamp(1, ROWS_PER_STATEMENT),
            // What a statement wrote before its bad row would stay, and be written again.
            false => 1,
        };
        let statements = Statements::new(self.server.product(), &table, columns);
        Ok(Arc::new(Known {
            statements,
            rows_per_statement,
            statement_bytes_max: table.statement_bytes_max,
            transactional: table.transactional,
        }))
    }

    /// PostgreSQL needs the key by name; MySQL takes whatever unique key a row hits.
    fn check_key(&self, key: &[String], is_there: bool, unique_keys: &[Vec<String>]) -> Result<()> {
        if is_there {
            return Ok(());
        }
        let Server { table, name, .. } = &*self.server;
        let theirs: Vec<String> = unique_keys.iter().map(|k| format!("({})", k.join(", "))).collect();
        let theirs = if theirs.is_empty() { "none".to_string() } else { theirs.join(", ") };
        let message = format!(
            "table {table}: the PRIMARY KEY ({}) is no unique key of table {name}, whose unique keys are: {theirs}",
            key.join(", ")
        );
        if self.server.product() == Product::Postgres {
            return Err(Error::user(message).with_hint("ON CONFLICT needs a unique index on exactly these columns"));
        }
        tracing::warn!("{message}; rows replace one another by the server's keys, and without one they are appended");
        Ok(())
    }
}

/// NULL leaves the old value in flinkStreamSQL, unless `allReplace` says otherwise; it overwrites in Flink.
fn null_policy(cx: &TableContext) -> NullPolicy {
    match cx.options.text("sink.null-policy") {
        Some("keep") => return NullPolicy::Keep,
        Some(_) => return NullPolicy::Overwrite,
        None => {}
    }
    match (cx.dialect, cx.options.bool("replace-all")) {
        (Dialect::DtStack, None | Some(false)) => NullPolicy::Keep,
        _ => NullPolicy::Overwrite,
    }
}

pub struct JdbcSink {
    target: Arc<Target>,
}

impl JdbcSink {
    pub fn new(cx: &TableContext) -> Result<Self> {
        Ok(Self { target: Arc::new(Target::new(cx)?) })
    }
}

#[async_trait]
impl Sink for JdbcSink {
    fn changelog_mode(&self) -> ChangelogMode {
        match (self.target.key.is_empty(), self.target.ignores_retractions) {
            (false, _) => ChangelogMode::Upsert,
            (true, true) => ChangelogMode::All,
            (true, false) => ChangelogMode::Append,
        }
    }

    async fn probe(&self) -> Result<()> {
        let server = &self.target.server;
        let mut connection = server.connect().await.map_err(|e| server.error("write", &e))?;
        self.target.known(&mut connection).await?;
        connection.close().await;
        Ok(())
    }

    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        self.probe().await
    }

    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(Writer::new(self.target.clone(), cx.metrics.clone())))
    }
}
