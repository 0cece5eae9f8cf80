//! What a connector implements. The engine knows connectors only through these traits.

use super::predicate::{Predicate, Pushdown};
use crate::data::{Batch, ChangelogMode, Epoch, LogicalType, RecordChunk, RowError, RowOrigin, TableSchema};
use crate::error::{Error, Result};
use crate::formats::{Decoder, Encoder, Framing};
use crate::metrics::OperatorMetrics;
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};
use arrow::array::RecordBatch;
use async_trait::async_trait;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// The columns that the connector holds, without computed and metadata ones.
    pub columns: Vec<(String, LogicalType)>,
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
    /// Bound to the columns `value_columns` of `schema`, in that order.
    pub format: Option<Arc<dyn FormatBinding>>,
    /// Indexes in `schema` of what the format reads or writes; the others are key columns or metadata.
    pub value_columns: Vec<usize>,
    /// The format of a record's key, bound to `key_columns` (their names less `key.fields-prefix`).
    pub key_format: Option<Arc<dyn FormatBinding>>,
    pub key_columns: Vec<usize>,
    /// Of a table that is read: what the connector has taken with `ConnectorFactory::pushdown`. All hold.
    pub filters: Vec<Predicate>,
}

/// A table's format with everything bound but the task.
pub trait FormatBinding: Send + Sync {
    fn identifier(&self) -> &str;
    fn framing(&self) -> Framing;
    /// The kinds of rows that its records can say.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }
    fn decoder(&self) -> Result<Box<dyn Decoder>>;
    fn encoder(&self) -> Result<Box<dyn Encoder>>;
    /// As `encoder`, with a boolean `retract` behind the columns: true for rows that are added, false for rows that are
    /// taken back (flinkStreamSQL's `updateMode` = `upsert`).
    fn retract_encoder(&self) -> Result<Box<dyn Encoder>> {
        Err(Error::user(format!("the format {} cannot add the field retract", self.identifier())))
    }
}

impl TableContext {
    pub fn format(&self) -> Result<&Arc<dyn FormatBinding>> {
        self.format.as_ref().ok_or_else(|| Error::internal(format!("table {}: no format bound", self.table)))
    }
    /// Metadata columns: (index in `schema`, the connector's key of what it holds).
    pub fn metadata_columns(&self) -> impl Iterator<Item = (usize, &str)> {
        self.schema.columns.iter().enumerate().filter_map(|(i, c)| Some((i, c.metadata.as_deref()?)))
    }
}

/// What a METADATA column of a connector can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataKey {
    pub key: &'static str,
    pub data_type: MetadataType,
    pub writable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataType {
    Text,
    Int,
    BigInt,
    /// `TIMESTAMP_LTZ(3)`
    Instant,
    /// `MAP<STRING, BYTES>`
    Headers,
}

impl MetadataKey {
    pub fn logical_type(&self) -> LogicalType {
        match self.data_type {
            MetadataType::Text => LogicalType::STRING,
            MetadataType::Int => LogicalType::Int,
            MetadataType::BigInt => LogicalType::BigInt,
            MetadataType::Instant => LogicalType::TimestampLtz(3),
            MetadataType::Headers => LogicalType::Map(Box::new(LogicalType::STRING), Box::new(LogicalType::BYTES)),
        }
    }
}

/// Which columns the key of a record holds, for connectors whose records have keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLayout {
    /// Identifier of the key's format; its options are spelled `key.<format>.<option>`.
    pub format: String,
    pub columns: Vec<String>,
    /// What the columns' names begin with beyond the names in the key.
    pub prefix: String,
    /// The value holds these columns, too.
    pub in_value: bool,
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
    /// The layout of record keys; None: the table says nothing of keys.
    fn key_layout(&self, _table: &TableUse, _options: &ResolvedOptions, _primary_key: &[String]) -> Option<KeyLayout> {
        None
    }
    /// What metadata columns can hold.
    fn metadata(&self, _dialect: Dialect) -> &'static [MetadataKey] {
        &[]
    }
    /// How many rows a sink may refuse before the job fails, if nobody says anything about it; None: any number.
    fn refused_rows_max(&self, _dialect: Dialect) -> Option<u64> {
        None
    }
    /// A connector that is known by name only.
    fn is_absent(&self) -> bool {
        false
    }
    /// What becomes of a condition on the rows that are read (by a scan or a look-up) if it comes in
    /// [`TableContext::filters`]. Asked without a connection, of the context as it is bound.
    fn pushdown(&self, _cx: &TableContext, _predicate: &Predicate) -> Pushdown {
        Pushdown::No
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

/// How the splits of a source come to its subtasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitAssignment {
    /// A subtask takes the next one when it has read what it had: pieces of a bounded source.
    OnDemand,
    /// Each split belongs to one subtask from the start, and is read with its other splits: partitions.
    /// Readers keep ended splits in their snapshot, so that a restore does not find them anew.
    Spread,
}

/// Where a reader or writer runs.
#[derive(Clone)]
pub struct SubtaskContext {
    pub subtask: usize,
    /// The operator's figures, shared by its subtasks.
    pub metrics: Arc<OperatorMetrics>,
}

/// A table that is read. Shared by its subtasks.
#[async_trait]
pub trait Source: Send + Sync {
    fn boundedness(&self) -> Boundedness;
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }
    fn assignment(&self) -> SplitAssignment {
        SplitAssignment::OnDemand
    }
    /// Asks the outside whether the table is there and fits its declaration. Before `enumerate`.
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
    /// Lists the splits at start, with the positions that the start mode means now. Subtasks then draw from the list.
    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>>;
    /// The splits to go on with, from those that a checkpoint holds.
    async fn restore(&self, splits: Vec<SourceSplit>, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        Ok(splits)
    }
    /// How often to call `discover`; None: never.
    fn discovery_interval(&self) -> Option<Duration> {
        None
    }
    /// Splits that have come to be since `enumerate`: all whose ids are not in `known`.
    async fn discover(&self, _known: &[Arc<str>]) -> Result<Vec<SourceSplit>> {
        Ok(vec![])
    }
    /// What turns records into rows; None for sources that have rows.
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>>;
    /// Called on the subtask's thread.
    fn reader(&self, cx: &SubtaskContext) -> Result<Box<dyn SourceReader>>;
}

/// What a reader gives at a poll.
pub enum SourceOutput {
    /// Undecoded records; the engine decodes them with the table's format.
    Records(RecordChunk),
    /// Rows of the table's schema, with the records they stand for (positions; bytes may be empty).
    Rows(RecordBatch, Arc<RecordChunk>),
    /// Nothing has come within the time given.
    Idle,
    /// All splits that were added are read to their end.
    Exhausted,
}

/// Reads the splits given to one subtask, one after the other or interleaved. `poll` may block the thread (a task has
/// its own) but not for much longer than `max_wait` without data: control messages and timers wait meanwhile.
#[async_trait(?Send)]
pub trait SourceReader {
    fn add_split(&mut self, split: SourceSplit);
    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput>;
    /// The unfinished splits with the positions after everything that `poll` has returned.
    fn snapshot(&self) -> Vec<SourceSplit>;
    /// A checkpoint with these positions (from `snapshot`) is complete: nothing before them is needed again.
    async fn checkpoint_complete(&mut self, _splits: &[SourceSplit]) -> Result<()> {
        Ok(())
    }
    /// Nothing follows: what `checkpoint_complete` began outside has come to its end when this returns.
    async fn close(&mut self) {}
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
    /// Asks the outside whether the table is there and fits its declaration. Changes nothing.
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
    /// Once before any writer: create, truncate. `restored`: what the writers gave for the checkpoint that the job goes
    /// on from; None: it starts anew.
    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        Ok(())
    }
    /// Called on the subtask's thread.
    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>>;
    /// The checkpoint is complete: what its snapshots hold back may become visible. Called once for each, in order;
    /// `prepare` stands for it after a restore.
    async fn checkpoint_complete(&self, _epoch: Epoch) -> Result<()> {
        Ok(())
    }
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
    /// Everything written so far is durable when this returns. Called when `flush_due` says so.
    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()>;
    /// At a barrier, and at the end: flushes, and gives what `Sink::prepare` needs to go on from here (None: nothing).
    async fn snapshot(&mut self, _epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        self.flush(failed).await?;
        Ok(None)
    }
    /// No row with an event time at or below this (ms) follows.
    async fn watermark(&mut self, _watermark: i64) -> Result<()> {
        Ok(())
    }
    /// When to call `flush` without a barrier, because of what waits now; None: never.
    fn flush_due(&self) -> Option<std::time::Instant> {
        None
    }
    /// After the last snapshot.
    async fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

/// How a side table's rows are kept.
#[derive(Debug, Clone, PartialEq)]
pub enum LookupCache {
    /// The whole table is loaded, and anew after `reload`.
    All { reload: Option<Duration> },
    /// Keys are asked for as they come, and their answers kept.
    Lru(LruSpec),
    /// Keys are asked for as they come.
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LruSpec {
    /// Keys, each with all its rows.
    pub max_keys: usize,
    pub expire_after_write: Option<Duration>,
    pub expire_after_access: Option<Duration>,
    /// That a key has no row is remembered, too.
    pub cache_missing: bool,
}

/// How a side table is asked, beyond its cache.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupSettings {
    pub cache: LookupCache,
    /// Answers are given in the order of the input rows; else as they arrive, but never across a watermark or barrier.
    pub ordered: bool,
    /// Queries under way at once, of all subtasks.
    pub concurrency: usize,
    /// Keys that are asked for at once, of all subtasks.
    pub capacity: usize,
    /// Keys in one query.
    pub keys_per_query: usize,
    /// A query that takes longer has failed; after the last attempt its rows are refused, not the job.
    pub timeout: Option<Duration>,
    /// More look-ups than this without an answer in time fail the job.
    pub unanswered_max: Option<u64>,
    /// Attempts after the first one.
    pub retries: u32,
}

impl LookupSettings {
    /// The table is loaded whole, once: files, stand-ins.
    pub fn load_all() -> Self {
        Self {
            cache: LookupCache::All { reload: None },
            ordered: true,
            concurrency: 1,
            capacity: 1,
            keys_per_query: 1,
            timeout: None,
            unanswered_max: None,
            retries: 0,
        }
    }
}

/// A side (dimension) table. Shared by all subtasks of its join.
#[async_trait]
pub trait LookupSource: Send + Sync {
    fn settings(&self) -> LookupSettings {
        LookupSettings::load_all()
    }
    /// Asks the outside whether the table is there and fits its declaration.
    async fn probe(&self) -> Result<()> {
        Ok(())
    }
    /// The whole table, for cache ALL: batches of the context's schema, and the rows that were refused.
    async fn load_all(&self) -> Result<Snapshot>;
    /// The rows whose columns `key_columns` equal one of the rows of `keys`, which are distinct, hold no NULL and have
    /// the columns' types. Not called with cache ALL. More rows than asked for do no harm.
    async fn lookup(&self, _key_columns: &[String], _keys: &RecordBatch) -> Result<Snapshot> {
        Err(Error::internal("this side table is loaded whole"))
    }
}

/// A row that could not be processed, on its way to where somebody can look at it.
#[derive(Debug, Clone)]
pub struct DeadLetter<'a> {
    pub job: &'a str,
    /// The table whose record it is, else the one that refused it.
    pub table: &'a str,
    pub origin: &'a RowOrigin,
    pub error: &'a RowError,
}

/// Where dead letters go, if not into a file.
pub trait DeadLetterOutput: Send {
    fn write(&mut self, letter: &DeadLetter<'_>) -> Result<()>;
    /// Everything written so far is durable when this returns.
    fn flush(&mut self) -> Result<()>;
}

#[derive(Debug, Default)]
pub struct Snapshot {
    pub batches: Vec<RecordBatch>,
    /// Rows of the table that could not be decoded, with where they stand.
    pub failed: Vec<FailedRow>,
}
