//! What a connector implements. The engine knows connectors only through these traits.

use crate::data::{Batch, RecordChunk, RowError, RowOrigin, TableSchema};
use crate::error::{Error, Result};
use crate::formats::{Decoder, Encoder, Framing};
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};
use arrow::array::RecordBatch;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;

/// What a table of a connector can be used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    pub source: bool,
    pub sink: bool,
    pub lookup: bool,
}

/// How a script uses a table, for [`ConnectorFactory::check_options`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUse {
    pub dialect: Dialect,
    /// What `type`, `connector.type` or `connector` says.
    pub connector_name: String,
    /// Declared `PERIOD FOR SYSTEM_TIME`.
    pub is_side: bool,
    /// The target of an INSERT.
    pub is_sink: bool,
    pub has_primary_key: bool,
}

/// Something wrong with options that are each right by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionProblem {
    /// Our name of the option to point at; the whole WITH clause if it was not given.
    pub option: &'static str,
    pub message: String,
    /// False: a warning.
    pub is_error: bool,
}

impl OptionProblem {
    pub fn error(option: &'static str, message: impl Into<String>) -> Self {
        Self { option, message: message.into(), is_error: true }
    }
    pub fn warning(option: &'static str, message: impl Into<String>) -> Self {
        Self { option, message: message.into(), is_error: false }
    }
}

/// What a sink accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangelogMode {
    /// Inserts only.
    Append,
    /// Inserts, updates after and deletes, told apart by a key.
    Upsert,
    /// All four kinds.
    All,
}

/// A table as a connector sees it: resolved options, the columns in use, helpers for its format.
#[derive(Clone)]
pub struct TableContext {
    /// The SQL name.
    pub table: Arc<str>,
    pub dialect: Dialect,
    /// Columns to read (after projection) or to write.
    pub schema: TableSchema,
    /// Names of the PRIMARY KEY columns.
    pub primary_key: Vec<String>,
    pub options: ResolvedOptions,
    /// Folder of the job file: relative paths in SQL start here.
    pub base_dir: PathBuf,
    pub time_zone: chrono_tz::Tz,
    /// Records longer than this are refused one by one.
    pub max_record_bytes: usize,
    pub format: Option<Arc<dyn FormatBinding>>,
}

/// A table's format with everything bound but the task.
pub trait FormatBinding: Send + Sync {
    fn identifier(&self) -> &str;
    fn framing(&self) -> Framing;
    fn decoder(&self) -> Result<Box<dyn Decoder>>;
    fn encoder(&self) -> Result<Box<dyn Encoder>>;
}

impl TableContext {
    pub fn format(&self) -> Result<&Arc<dyn FormatBinding>> {
        self.format.as_ref().ok_or_else(|| Error::internal(format!("table {}: no format bound", self.table)))
    }
}

/// One connector: a folder under `connectors/` and one line in [`super::CONNECTORS`].
pub trait ConnectorFactory: Send + Sync {
    /// The word in messages and docs (`kafka`).
    fn identifier(&self) -> &'static str;
    /// The values of `type` / `connector.type` / `connector` that mean this connector.
    fn names(&self, dialect: Dialect) -> &'static [&'static str];
    fn options(&self) -> &'static [OptionSpec];
    fn capabilities(&self) -> Capabilities;
    /// Tables of this connector carry records of a format (else they have columns of their own).
    fn has_format(&self) -> bool;
    /// The format that a table has without naming one (`dt_nest` for flinkStreamSQL's Kafka source).
    fn default_format(&self, _dialect: Dialect, _as_sink: bool) -> Option<&'static str> {
        None
    }
    /// Format options whose default differs for this connector: (option, text).
    fn format_defaults(&self, _dialect: Dialect, _as_sink: bool) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Rules over several options (one of two, all or none), and options that change nothing in this use.
    fn check_options(&self, _table: &TableUse, _options: &ResolvedOptions) -> Vec<OptionProblem> {
        Vec::new()
    }
    /// False while only the option table exists: `check` accepts such tables, `run` needs a stand-in.
    fn has_runtime(&self) -> bool {
        true
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Err(Error::user(format!("table {}: connector {} cannot be read", cx.table, self.identifier())))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Err(Error::user(format!("table {}: connector {} cannot be written", cx.table, self.identifier())))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Err(Error::user(format!("table {}: connector {} has no lookup", cx.table, self.identifier())))
    }
}

/// A piece of a source that one reader reads: a file range, a Kafka partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSplit {
    /// Unique within the table, stable across runs.
    pub id: Arc<str>,
    /// Where to go on reading (what the connector counts: byte, offset, row).
    pub position: u64,
    /// Connector's own description (end of a byte range, start of a snapshot ..).
    pub detail: serde_json::Value,
    /// Bytes or records, for progress; None if not known.
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundedness {
    Bounded,
    Unbounded,
}

/// A table that is read. Shared by its subtasks.
#[async_trait]
pub trait Source: Send + Sync {
    fn boundedness(&self) -> Boundedness;
    /// Lists the splits at start. Subtasks then draw from the list.
    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>>;
    /// Called on the subtask's thread.
    fn reader(&self) -> Result<Box<dyn SourceReader>>;
}

/// What a reader gives at a poll.
pub enum SourceOutput {
    /// Undecoded records; the engine decodes them with the table's format.
    Records(RecordChunk),
    /// Rows of the table's schema, with the records they stand for (positions; bytes may be empty).
    Rows(RecordBatch, Arc<RecordChunk>),
    /// All splits that were added are read to their end.
    Exhausted,
}

/// Reads the splits given to one subtask, one after the other or interleaved. `poll` may block the thread (a task has
/// its own) but not for longer than some 100 ms without data: control messages wait meanwhile.
#[async_trait(?Send)]
pub trait SourceReader {
    fn add_split(&mut self, split: SourceSplit);
    async fn poll(&mut self, max_rows: usize) -> Result<SourceOutput>;
    /// The unfinished splits with the positions after everything that `poll` has returned.
    fn snapshot(&self) -> Vec<SourceSplit>;
    /// (done, of) in the unit of `SourceSplit::size`, for progress.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}

/// A table that is written. Shared by its subtasks.
#[async_trait]
pub trait Sink: Send + Sync {
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }
    /// More subtasks than this cannot write at once (one file, stdout).
    fn max_parallelism(&self) -> Option<usize> {
        None
    }
    /// Once before any writer: create, truncate, probe.
    async fn prepare(&self) -> Result<()> {
        Ok(())
    }
    /// Called on the subtask's thread.
    fn writer(&self, subtask: usize) -> Result<Box<dyn SinkWriter>>;
    /// Once after all writers finished well: rename part files, say.
    async fn commit(&self) -> Result<()> {
        Ok(())
    }
}

/// A row that a sink refused after its batch was gone.
#[derive(Debug)]
pub struct FailedRow {
    pub origin: RowOrigin,
    pub error: RowError,
}

#[async_trait(?Send)]
pub trait SinkWriter {
    /// Takes the batch. Rows refused at once go to `errors` (row counts in the batch).
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()>;
    /// Everything written so far is durable when this returns. Called at a barrier and at the end.
    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()>;
    /// No row with an event time at or below this (ms) follows.
    async fn watermark(&mut self, _watermark: i64) -> Result<()> {
        Ok(())
    }
    /// When to call `flush` without a barrier; None: never.
    fn flush_interval(&self) -> Option<std::time::Duration> {
        None
    }
    /// After the last flush.
    async fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A side (dimension) table.
#[async_trait]
pub trait LookupSource: Send + Sync {
    /// The whole table, for cache ALL: batches of the context's schema, and the rows that were refused.
    async fn load_all(&self) -> Result<Snapshot>;
    /// When a cached snapshot is to be loaded anew; None: never.
    fn reload_interval(&self) -> Option<std::time::Duration> {
        None
    }
}

#[derive(Debug, Default)]
pub struct Snapshot {
    pub batches: Vec<RecordBatch>,
    /// Rows of the table that could not be decoded, with where they stand.
    pub failed: Vec<FailedRow>,
}
