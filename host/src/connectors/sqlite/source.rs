//! Scans, of a whole table or of the rows with some keys; and the source that is such a scan.

use super::connection::{Location, quoted};
use super::filter::Filter;
use super::values::{append, check_types};
use crate::connectors::api::{
    Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::connectors::row_batch::RowBatch;
use crate::data::{RecordChunk, TableSchema};
use crate::error::{Error, Result};
use crate::formats::{Decoder, TextRules};
use arrow::array::RecordBatch;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Connection, Row};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Batches between the scanning thread and the reader.
const BATCHES_AHEAD: usize = 2;

/// What is scanned.
#[derive(Clone)]
pub(super) struct Scan {
    pub location: Location,
    pub schema: TableSchema,
    pub filter: Filter,
    rules: TextRules,
    /// The conditions of the filter, for the positions that are counted under it.
    filter_text: String,
}

impl Scan {
    pub fn new(cx: &TableContext) -> Result<Self> {
        check_types(&cx.table, &cx.schema.columns)?;
        let location = Location::new(cx)?;
        let shown: Vec<String> = cx.filters.iter().map(ToString::to_string).collect();
        Ok(Self {
            filter: Filter::new(&cx.schema, &location, &cx.filters),
            filter_text: shown.join(" AND "),
            location,
            schema: cx.schema.clone(),
            rules: TextRules { time_zone: cx.time_zone, epoch_millis: false },
        })
    }

    /// Columns go with the table's name: a quoted name that is no column would otherwise be taken for a text.
    fn select(&self) -> String {
        let table = quoted(&self.location.name);
        let columns: Vec<String> = self.location.columns.iter().map(|c| format!("{table}.{}", quoted(c))).collect();
        let columns = if columns.is_empty() { "NULL".to_string() } else { columns.join(", ") };
        format!("SELECT {columns} FROM {table}")
    }

    /// A query of the rows that meet the filter and more conditions, whose parameters come first.
    pub fn query(&self, conditions: &[String]) -> String {
        let all: Vec<&str> = conditions.iter().chain(&self.filter.conditions).map(String::as_str).collect();
        match all.is_empty() {
            true => self.select(),
            false => format!("{} WHERE {}", self.select(), all.join(" AND ")),
        }
    }

    /// All rows from one on.
    fn sql(&self, offset: u64) -> String {
        format!("{} LIMIT -1 OFFSET {offset}", self.query(&[]))
    }

    fn arguments(&self) -> Result<SqliteArguments> {
        let mut arguments = SqliteArguments::default();
        self.filter.bind(&mut arguments)?;
        Ok(arguments)
    }

    /// Hands over the batches of a query (a `select` with more behind it) until the end, or until `take` wants no more.
    pub async fn run(
        &self,
        sql: String,
        arguments: SqliteArguments,
        offset: u64,
        max_rows: usize,
        mut take: impl FnMut(RecordBatch, RecordChunk) -> bool,
    ) -> Result<()> {
        let fail = |e: sqlx::Error| self.location.error("read", &e);
        let mut connection = self.location.open_to_read().await?;
        {
            let mut rows = sqlx::query_with(AssertSqlSafe(sql), arguments).fetch(&mut connection);
            let split = format!("{}:{}", self.location.path.display(), self.location.name).into();
            let mut batch = RowBatch::new(&self.schema, self.location.table.clone(), split, offset);
            while let Some(row) = rows.try_next().await.map_err(fail)? {
                batch.push(|i, builder| {
                    let value = row.try_get_raw(i).map_err(|e| e.to_string())?;
                    append(builder, value, &self.rules)
                });
                if batch.waiting() >= max_rows {
                    let (columns, chunk) = batch.take()?;
                    if !take(columns, chunk) {
                        return Ok(());
                    }
                }
            }
            if batch.waiting() > 0 {
                let (columns, chunk) = batch.take()?;
                take(columns, chunk);
            }
        }
        connection.close().await.map_err(fail)
    }
}

pub struct SqliteSource {
    scan: Scan,
}

impl SqliteSource {
    pub fn new(cx: &TableContext) -> Result<Self> {
        Ok(Self { scan: Scan::new(cx)? })
    }
}

#[async_trait]
impl Source for SqliteSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        // Opening tells of a missing file before any task runs.
        let connection = self.scan.location.open_to_read().await?;
        connection.close().await.map_err(|e| self.scan.location.error("read", &e))?;
        let id = format!("{}:{}", self.scan.location.path.display(), self.scan.location.name);
        let detail = match self.scan.filter_text.as_str() {
            "" => serde_json::Value::Null,
            filter => serde_json::json!({ "where": filter }),
        };
        Ok(vec![SourceSplit { id: id.into(), position: 0, detail, size: None }])
    }

    /// A count of rows means nothing where others are left out.
    async fn restore(&self, splits: Vec<SourceSplit>, parallelism: usize) -> Result<Vec<SourceSplit>> {
        let filter = |s: &SourceSplit| s.detail.get("where").and_then(serde_json::Value::as_str).map(str::to_string);
        if splits.iter().all(|s| s.position == 0 || filter(s).unwrap_or_default() == self.scan.filter_text) {
            return Ok(splits);
        }
        tracing::warn!(
            "table {}: the conditions that the database applies are others than in the checkpoint: it is read anew",
            self.scan.location.table
        );
        self.enumerate(parallelism).await
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }

    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(SqliteReader { scan: self.scan.clone(), queue: VecDeque::new(), current: None }))
    }
}

type Message = Result<(RecordBatch, RecordChunk)>;

/// A scan runs on a thread of its own: it borrows its connection, and a task must not wait for it.
struct SqliteReader {
    scan: Scan,
    queue: VecDeque<SourceSplit>,
    current: Option<(SourceSplit, Receiver<Message>)>,
}

impl SqliteReader {
    fn start(&self, offset: u64, max_rows: usize) -> Result<Receiver<Message>> {
        let (send, receive) = sync_channel(BATCHES_AHEAD);
        let scan = self.scan.clone();
        std::thread::Builder::new()
            .name("sqlite-scan".into())
            .spawn(move || scan_on_thread(&scan, offset, max_rows, &send))
            .map_err(|e| Error::external(format!("cannot start the thread that scans SQLite: {e}")))?;
        Ok(receive)
    }
}

fn scan_on_thread(scan: &Scan, offset: u64, max_rows: usize, send: &SyncSender<Message>) {
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::external(format!("cannot start a runtime to scan SQLite: {e}")))
        .and_then(|runtime| {
            let take = |columns, chunk| send.send(Ok((columns, chunk))).is_ok();
            runtime.block_on(scan.run(scan.sql(offset), scan.arguments()?, offset, max_rows, take))
        });
    if let Err(e) = outcome {
        // The reader may be gone already; then nobody needs the error.
        let _ = send.send(Err(e));
    }
}

#[async_trait(?Send)]
impl SourceReader for SqliteReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.queue.push_back(split);
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        loop {
            let Some((split, batches)) = &mut self.current else {
                let Some(split) = self.queue.pop_front() else { return Ok(SourceOutput::Exhausted) };
                let batches = self.start(split.position, max_rows.max(1))?;
                self.current = Some((split, batches));
                continue;
            };
            match batches.recv_timeout(max_wait) {
                Ok(Ok((columns, chunk))) => {
                    split.position += (chunk.records.len() + chunk.refused.len()) as u64;
                    return Ok(SourceOutput::Rows(columns, Arc::new(chunk)));
                }
                Ok(Err(e)) => return Err(e),
                Err(RecvTimeoutError::Timeout) => return Ok(SourceOutput::Idle),
                Err(RecvTimeoutError::Disconnected) => self.current = None,
            }
        }
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.current.iter().map(|(split, _)| split.clone()).chain(self.queue.iter().cloned()).collect()
    }
}
