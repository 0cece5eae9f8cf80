//! Writing: rows go to the client's session as they come, which sends them by tablet in batches; a flush waits for all
//! answers. Rows that Kudu refuses stand alone: the others of their batch are written.

use super::cluster::Cluster;
use super::create::Creation;
use super::types::{Direction, to_kudu};
use crate::connectors::api::{FailedRow, Sink, SinkWriter, SubtaskContext, TableContext};
use crate::data::{Batch, ChangelogMode, Origin, Reason, RowError, RowKind, TableSchema};
use crate::error::{Error, Result};
use crate::metrics::OperatorMetrics;
use async_trait::async_trait;
use kudu_rs::{FlushMode, Flushed, OpKind, Row, Session, Table, Value};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// Where more rows than this, or rows that keep more bytes, wait for their answers, the writer waits for these.
const SENT_ROWS_MAX: usize = 200_000;
const SENT_BYTES_MAX: usize = 64 << 20;

/// What is done with a row that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    Insert,
    Update,
    Upsert,
}

pub struct KuduSink {
    target: Arc<Target>,
}

struct Target {
    cluster: Cluster,
    schema: TableSchema,
    has_key: bool,
    mode: WriteMode,
    ignore_duplicate: bool,
    ignore_missing: bool,
    creation: Option<Creation>,
    batch_rows: usize,
    buffer_rows: Option<usize>,
    flush_mode: FlushMode,
    interval: Option<Duration>,
    zone: chrono_tz::Tz,
    opened: OnceCell<Opened>,
}

/// The table as it is, and where the job's columns are in it.
struct Opened {
    table: Table,
    places: Vec<usize>,
    /// Of the key's columns: (the job's column, its place in Kudu's table).
    key: Vec<(usize, usize)>,
}

impl KuduSink {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let options = &cx.options;
        let count = |name: &str| options.int(name).and_then(|n| usize::try_from(n).ok());
        let mode = match options.text("write-mode") {
            Some("insert") => WriteMode::Insert,
            Some("update") => WriteMode::Update,
            _ => WriteMode::Upsert,
        };
        let batch_rows = count("batch-size").unwrap_or(1000);
        let target = Target {
            cluster: Cluster::new(cx)?,
            schema: cx.schema.clone(),
            has_key: !cx.primary_key.is_empty() || options.list("primary-key-columns").is_some_and(|k| !k.is_empty()),
            mode,
            ignore_duplicate: options.bool("ignore-duplicate") == Some(true),
            ignore_missing: options.bool("ignore-not-found") == Some(true),
            creation: Creation::new(cx),
            batch_rows,
            buffer_rows: count("mutation-buffer-max-ops"),
            flush_mode: match options.text("flush-mode") {
                Some("AUTO_FLUSH_SYNC") => FlushMode::Sync,
                // Batches of the size that the table says are what MANUAL_FLUSH and AUTO_FLUSH_BACKGROUND come to;
                // here the order of a key's rows is kept in both.
                _ => FlushMode::Background,
            },
            interval: options.duration("batch-interval").filter(|d| !d.is_zero()),
            zone: cx.time_zone,
            opened: OnceCell::new(),
        };
        Ok(Self { target: Arc::new(target) })
    }
}

impl Target {
    async fn opened(&self) -> Result<&Opened> {
        self.opened
            .get_or_try_init(|| async {
                let table = match (self.cluster.find().await?, &self.creation) {
                    (Some(table), _) => table,
                    (None, Some(creation)) => creation.create(&self.cluster, &self.schema).await?,
                    (None, None) => return Err(self.cluster.missing()),
                };
                self.look_at(table)
            })
            .await
    }

    fn look_at(&self, table: Table) -> Result<Opened> {
        let places = self.cluster.resolve(&table, &self.schema, Direction::Write)?;
        let written = |at: usize| places.iter().position(|p| *p == at);
        let named = format!("table {}: Kudu table {}", self.cluster.table, self.cluster.name);
        let mut key = vec![];
        for (at, c) in table.schema().columns().iter().enumerate() {
            match written(at) {
                Some(ours) if c.key => key.push((ours, at)),
                Some(_) => {}
                None if c.auto_incrementing => {}
                None if c.key => {
                    return Err(Error::user(format!("{named} has the key column {}, which is not written", c.name))
                        .with_hint("every row needs its whole key: add the column to the table and to the INSERT"));
                }
                None if !c.nullable && c.default.is_none() && self.mode != WriteMode::Update => {
                    let message = format!(
                        "{named} has the column {}, which is not nullable, has no default and is not written",
                        c.name
                    );
                    return Err(Error::user(message));
                }
                None => {}
            }
        }
        Ok(Opened { table, places, key })
    }

    fn session(&self, table: &Table) -> Session {
        let mut builder = table.client().session().flush_mode(self.flush_mode).batch_rows(self.batch_rows);
        if let Some(rows) = self.buffer_rows {
            builder = builder.buffer_rows(rows.max(self.batch_rows));
        }
        if let Some(interval) = self.interval {
            builder = builder.flush_interval(interval);
        }
        builder.max_errors(usize::MAX).build()
    }

    fn added(&self) -> OpKind {
        match self.mode {
            WriteMode::Insert if self.ignore_duplicate => OpKind::InsertIgnore,
            WriteMode::Insert => OpKind::Insert,
            WriteMode::Update if self.ignore_missing => OpKind::UpdateIgnore,
            WriteMode::Update => OpKind::Update,
            WriteMode::Upsert => OpKind::Upsert,
        }
    }
}

#[async_trait]
impl Sink for KuduSink {
    fn changelog_mode(&self) -> ChangelogMode {
        match self.target.has_key && self.target.mode == WriteMode::Upsert {
            true => ChangelogMode::Upsert,
            false => ChangelogMode::Append,
        }
    }

    async fn probe(&self) -> Result<()> {
        match (self.target.cluster.find().await?, &self.target.creation) {
            (Some(table), _) => self.target.look_at(table).map(|_| ()),
            (None, Some(_)) => Ok(()),
            (None, None) => Err(self.target.cluster.missing()),
        }
    }

    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        self.target.opened().await.map(|_| ())
    }

    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(Writer {
            target: self.target.clone(),
            metrics: cx.metrics.clone(),
            session: None,
            sent: vec![],
            sent_rows: 0,
            sent_bytes: 0,
            new_batch: true,
            retracted: None,
            since: None,
            failed: vec![],
        }))
    }
}

/// Rows of a batch that the session has taken.
struct Sent {
    /// What the session calls the first of them; the others follow.
    first: u64,
    rows: Vec<u32>,
    origin: Origin,
}

struct Writer {
    target: Arc<Target>,
    metrics: Arc<OperatorMetrics>,
    session: Option<Session>,
    /// Those of which the answer is not known, in order; how many rows, and the bytes that they keep.
    sent: Vec<Sent>,
    sent_rows: usize,
    sent_bytes: usize,
    /// The next row is of another batch than the last one that was sent.
    new_batch: bool,
    /// The row before an update: deleted, unless the update has the same key.
    retracted: Option<(Row, Vec<Value>, u32, Origin)>,
    /// When the oldest row that is not known to be written came.
    since: Option<Instant>,
    /// Refused rows that nobody has been told of.
    failed: Vec<FailedRow>,
}

impl Writer {
    fn row(&self, opened: &Opened, batch: &Batch, row: usize, key_only: bool) -> std::result::Result<Row, RowError> {
        let mut made = opened.table.row();
        let columns = batch.columns.columns().iter().zip(&opened.places).enumerate();
        for (at, (column, place)) in columns {
            let theirs = &opened.table.schema().columns()[*place];
            if key_only && !theirs.key {
                continue;
            }
            let refuse = |reason, why: String| {
                RowError::new(row as u32, reason, why).column(&self.target.schema.columns[at].name)
            };
            let value =
                to_kudu(column, row, theirs.data_type, self.target.zone).map_err(|why| refuse(Reason::Encode, why))?;
            if value == Value::Null && theirs.key {
                return Err(refuse(Reason::NotNull, "is NULL, but part of the key of the Kudu table".into()));
            }
            made.set(*place, value).map_err(|e| refuse(Reason::Sink, e.to_string()))?;
        }
        Ok(made)
    }

    fn key_of(opened: &Opened, row: &Row) -> Vec<Value> {
        opened.key.iter().filter_map(|(_, place)| row.get(*place).ok().flatten().cloned()).collect()
    }

    async fn apply(&mut self, opened: &Opened, kind: OpKind, made: Row, row: u32, origin: &Origin) -> Result<()> {
        let session = self.session.get_or_insert_with(|| self.target.session(&opened.table));
        let operation = opened.table.operation(kind, made);
        match session.apply(operation).await {
            Ok(id) => {
                self.since.get_or_insert_with(Instant::now);
                match self.sent.last_mut() {
                    Some(s) if !self.new_batch && s.first + s.rows.len() as u64 == id => s.rows.push(row),
                    _ => {
                        self.sent_bytes += origin.num_bytes();
                        self.sent.push(Sent { first: id, rows: vec![row], origin: origin.clone() });
                    }
                }
                self.new_batch = false;
                self.sent_rows += 1;
                Ok(())
            }
            // With AUTO_FLUSH_SYNC the row's own error comes at once.
            Err(e) => self.refused(&e, origin.of_row(row as usize)),
        }
    }

    /// Deletes the row before an update whose key is not the update's.
    async fn settle(&mut self, opened: &Opened, next_key: Option<&[Value]>) -> Result<()> {
        let Some((row, key, number, origin)) = self.retracted.take() else { return Ok(()) };
        if next_key == Some(key.as_slice()) {
            return Ok(());
        }
        self.new_batch = true;
        self.apply(opened, OpKind::DeleteIgnore, row, number, &origin).await?;
        self.new_batch = true;
        Ok(())
    }

    async fn write_row(
        &mut self,
        opened: &Opened,
        batch: &Batch,
        row: usize,
        errors: &mut Vec<RowError>,
    ) -> Result<()> {
        let kind = batch.kind(row);
        let takes_back = matches!(kind, RowKind::Delete | RowKind::UpdateBefore);
        if takes_back && !(self.target.has_key && self.target.mode == WriteMode::Upsert) {
            let why = format!("a row of kind {} needs a PRIMARY KEY and upserts", kind.short());
            errors.push(RowError::new(row as u32, Reason::Sink, why));
            return Ok(());
        }
        let made = match self.row(opened, batch, row, takes_back) {
            Ok(made) => made,
            Err(error) => {
                errors.push(error);
                return Ok(());
            }
        };
        let key = Self::key_of(opened, &made);
        match kind {
            RowKind::UpdateBefore => {
                self.settle(opened, None).await?;
                self.retracted = Some((made, key, row as u32, batch.origin.clone()));
                Ok(())
            }
            RowKind::Delete => {
                self.settle(opened, None).await?;
                self.apply(opened, OpKind::DeleteIgnore, made, row as u32, &batch.origin).await
            }
            RowKind::Insert | RowKind::UpdateAfter => {
                self.settle(opened, Some(&key)).await?;
                self.apply(opened, self.target.added(), made, row as u32, &batch.origin).await
            }
        }
    }

    /// Waits until everything that was sent is answered.
    async fn write_out(&mut self) -> Result<()> {
        let Some(session) = self.session.clone().filter(|_| self.since.is_some()) else { return Ok(()) };
        self.since = None;
        let started = Instant::now();
        let flushed = session.flush().await;
        self.report(flushed)?;
        self.sent.clear();
        (self.sent_rows, self.sent_bytes, self.new_batch) = (0, 0, true);
        self.metrics.flushes.add(1);
        self.metrics.flush_micros.add(started.elapsed().as_micros() as u64);
        Ok(())
    }

    /// Sorts what the cluster has said of rows: those it refused, and failures that are not theirs.
    fn report(&mut self, flushed: Flushed) -> Result<()> {
        if flushed.more_errors > 0 {
            return Err(Error::internal(format!("{} refused rows were forgotten", flushed.more_errors)));
        }
        for e in flushed.errors {
            let of = self.sent.iter().find(|s| (s.first..s.first + s.rows.len() as u64).contains(&e.id));
            let origin = match of {
                Some(s) => s.origin.of_row(s.rows[(e.id - s.first) as usize] as usize),
                None => return Err(Error::internal(format!("a refused row that nobody has sent: {}", e.error))),
            };
            self.refused(&e.error, origin)?;
        }
        Ok(())
    }

    /// A row's own error is kept for whoever asks; any other one is the job's.
    fn refused(&mut self, e: &kudu_rs::Error, origin: crate::data::RowOrigin) -> Result<()> {
        use kudu_rs::Error as E;
        if !matches!(e, E::Row { .. } | E::NonCoveredRange { .. } | E::InvalidArgument(_)) {
            return Err(self.target.cluster.error("write to", e));
        }
        let why = match self.target.mode {
            WriteMode::Insert if e.is_already_present() => "a row with this key is there already".to_string(),
            WriteMode::Update if matches!(e, E::Row { .. }) && e.is_not_found() => {
                "no row with this key is there to be updated".to_string()
            }
            _ => e.to_string(),
        };
        self.failed.push(FailedRow { origin, error: RowError::new(0, Reason::Sink, why) });
        Ok(())
    }
}

#[async_trait(?Send)]
impl SinkWriter for Writer {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        let target = self.target.clone();
        let opened = target.opened().await?;
        self.new_batch = true;
        for row in 0..batch.num_rows() {
            self.write_row(opened, batch, row, errors).await?;
        }
        if self.sent_rows >= SENT_ROWS_MAX || self.sent_bytes >= SENT_BYTES_MAX {
            return self.write_out().await;
        }
        // A batch that the cluster could not take fails the job now, not at the next barrier.
        match self.session.as_ref().map(Session::take_report) {
            Some(report) => self.report(report),
            None => Ok(()),
        }
    }

    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()> {
        let target = self.target.clone();
        if self.retracted.is_some() {
            self.settle(target.opened().await?, None).await?;
        }
        self.write_out().await?;
        failed.append(&mut self.failed);
        Ok(())
    }

    fn flush_due(&self) -> Option<Instant> {
        // The session sends rows by itself when they have waited; this fetches what became of them.
        self.since.zip(self.target.interval).map(|(since, interval)| since + interval)
    }
}
