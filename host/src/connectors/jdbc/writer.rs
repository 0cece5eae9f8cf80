//! Writing: rows wait for their flush, and a flush is one transaction. A flush that fails because of a row is taken
//! apart until the row stands alone; one that fails because of the weather is tried again.

use super::changes::Changes;
use super::connection::Connection;
use super::encode::{Action, Encoder, Piece};
use super::error::{Blame, DbError};
use super::sink::{Known, Target};
use super::values::shifted;
use crate::connectors::api::{FailedRow, SinkWriter};
use crate::data::{Batch, Reason, RowError, RowKind};
use crate::error::Result;
use crate::formats::Cell;
use crate::metrics::OperatorMetrics;
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Field, Schema};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Waiting rows that keep more than this in memory are flushed, whatever the table says.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// As many rows, where the table sets no limit.
const WAITING_ROWS_MAX: usize = 100_000;
/// The pause before a flush is tried again; it doubles.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(10);

pub struct Writer {
    target: Arc<Target>,
    metrics: Arc<OperatorMetrics>,
    connection: Option<Connection>,
    waiting: Changes,
    /// When the oldest waiting row came.
    since: Option<Instant>,
    /// Rows that failed in a flush that `write` had to make.
    failed: Vec<FailedRow>,
}

impl Writer {
    pub fn new(target: Arc<Target>, metrics: Arc<OperatorMetrics>) -> Self {
        let waiting = target.changes();
        Self { target, metrics, connection: None, waiting, since: None, failed: vec![] }
    }

    fn is_full(&self) -> bool {
        let rows = self.target.flush_rows.unwrap_or(WAITING_ROWS_MAX);
        // Both halves of an update belong into one transaction.
        (self.waiting.len() >= rows && !self.waiting.is_between_halves()) || self.waiting.bytes() >= WAITING_BYTES_MAX
    }

    /// Writes what waits. Rows that the server refuses go to `failed`.
    async fn write_out(&mut self) -> Result<()> {
        self.since = None;
        if self.waiting.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let changes = self.waiting.take();
        let known = self.known().await?;
        let mut failed = std::mem::take(&mut self.failed);
        let outcome = self.write_changes(&known, &changes, &mut failed).await;
        self.failed = failed;
        outcome?;
        self.metrics.flushes.add(1);
        self.metrics.flush_micros.add(started.elapsed().as_micros() as u64);
        Ok(())
    }

    async fn write_changes(&mut self, known: &Known, changes: &Changes, failed: &mut Vec<FailedRow>) -> Result<()> {
        let cells = changes.batches().iter().map(|b| b.columns.columns().iter().map(Cell::new).collect());
        let cells = cells.collect::<Result<Vec<Vec<Cell<'_>>>>>()?;
        let target = self.target.clone();
        let mut encoder = Encoder { target: &target, known, changes, cells: &cells, statements: vec![], failed };
        encoder.add(Action::Delete, &changes.deletes(), &target.key);
        encoder.add(Action::Write, &changes.writes(), &(0..known.statements.columns.len()).collect::<Vec<_>>());
        let statements = encoder.statements;
        let whole: Vec<Piece<'_>> = statements.iter().map(|s| Piece { of: s, rows: 0..s.rows.len() }).collect();
        if whole.is_empty() {
            return Ok(());
        }
        if !known.transactional {
            // Nothing can be rolled back: each statement stands for itself.
            return self.take_apart(known, changes, whole, None, failed).await;
        }
        match self.unit(known, &whole).await? {
            Ok(()) => Ok(()),
            Err(why) => {
                // A transaction of one piece has failed already as that piece would by itself.
                let why = (whole.len() == 1).then_some(why);
                self.take_apart(known, changes, whole, why, failed).await
            }
        }
    }

    /// After a transaction failed because of a row: smaller and smaller pieces, each by itself, in their order.
    /// `known_failure`: why the first piece fails as it is.
    async fn take_apart(
        &mut self,
        known: &Known,
        changes: &Changes,
        mut pieces: Vec<Piece<'_>>,
        mut known_failure: Option<DbError>,
        failed: &mut Vec<FailedRow>,
    ) -> Result<()> {
        pieces.reverse();
        while let Some(piece) = pieces.pop() {
            let outcome = match known_failure.take() {
                Some(why) => Err(why),
                None => self.unit(known, std::slice::from_ref(&piece)).await?,
            };
            match outcome {
                Ok(()) => {}
                Err(_) if piece.rows.len() > 1 => {
                    let [first, second] = piece.halves();
                    pieces.extend([second, first]);
                }
                Err(why) => {
                    let row = piece.of.rows[piece.rows.start];
                    let error = self.row_error(known, &why, &piece);
                    failed.push(FailedRow { origin: changes.origin(row), error });
                }
            }
        }
        Ok(())
    }

    /// Why a row was refused, and by which column.
    fn row_error(&self, known: &Known, why: &DbError, row: &Piece<'_>) -> RowError {
        let error = RowError::new(0, Reason::Sink, &why.message);
        let columns = &known.statements.columns;
        let at = match &why.column {
            Some(theirs) => columns.iter().position(|c| c.name.eq_ignore_ascii_case(theirs)),
            // PostgreSQL does not name the column of a text that is too long.
            None if why.message.starts_with("value too long") && row.of.action == Action::Write => {
                row.values().iter().zip(columns).position(|(value, c)| c.kind.is_exceeded_by(value))
            }
            None => None,
        };
        match (at, &why.column) {
            (Some(i), _) => error.column(&self.target.schema.columns[i].name),
            (None, Some(theirs)) => error.column(theirs),
            (None, None) => error,
        }
    }

    /// Writes these pieces in one transaction, again if the weather is bad. The inner error blames a row.
    async fn unit(&mut self, known: &Known, pieces: &[Piece<'_>]) -> Result<Result<(), DbError>> {
        let mut pause = RETRY_PAUSE;
        let mut attempts = 0;
        loop {
            let error = match self.attempt(known, pieces).await {
                Ok(()) => return Ok(Ok(())),
                Err(e) => e,
            };
            if error.blame == Blame::Row {
                self.roll_back(pieces.len()).await;
                return Ok(Err(error));
            }
            // The server rolls back what a connection leaves open.
            self.connection = None;
            attempts += 1;
            if error.blame == Blame::Job || attempts > self.target.retries {
                let error = self.target.server.error("write", &error);
                return Err(if attempts > 1 { error.context(format!("after {attempts} attempts")) } else { error });
            }
            self.metrics.retries.add(1);
            tracing::warn!(
                "table {}: writing is tried again in {} ms: {}",
                self.target.server.table,
                pause.as_millis(),
                error.message
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }

    async fn attempt(&mut self, known: &Known, pieces: &[Piece<'_>]) -> Result<(), DbError> {
        let target = self.target.clone();
        let connection = self.connection().await?;
        // A single statement is a transaction by itself.
        if pieces.len() > 1 {
            connection.command("BEGIN").await?;
        }
        for piece in pieces {
            let rows = piece.rows.len();
            let (sql, columns) = match piece.of.action {
                Action::Delete => (known.statements.delete(rows, &target.key), target.key.clone()),
                Action::Write => (
                    known.statements.insert(rows, &target.key, target.null_policy),
                    (0..known.statements.columns.len()).collect(),
                ),
            };
            let arguments = known.statements.arguments(&columns, piece.values())?;
            // Texts that differ by the number of rows would fill the server's memory of prepared statements.
            let keep = known.statements.same_for_any_rows()
                || rows == 1
                || [Some(known.rows_per_statement), target.flush_rows].contains(&Some(rows));
            connection.execute(&sql, arguments, keep).await?;
        }
        if pieces.len() > 1 {
            connection.command("COMMIT").await?;
        }
        Ok(())
    }

    async fn roll_back(&mut self, pieces: usize) {
        if pieces > 1
            && let Some(connection) = &mut self.connection
            && connection.command("ROLLBACK").await.is_err()
        {
            self.connection = None;
        }
    }

    /// The connection; a new one if there is none, or if the server has closed it meanwhile.
    async fn connection(&mut self) -> Result<&mut Connection, DbError> {
        let usable = match &mut self.connection {
            Some(connection) => connection.is_alive().await,
            None => false,
        };
        if !usable {
            self.connection = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            none => Ok(none.insert(self.target.server.connect().await?)),
        }
    }

    async fn known(&mut self) -> Result<Arc<Known>> {
        let target = self.target.clone();
        // The sink has asked before the first row: this does not connect.
        match target.described() {
            Some(known) => Ok(known),
            None => {
                let connection = self.connection().await.map_err(|e| target.server.error("write", &e))?;
                target.known(connection).await.cloned()
            }
        }
    }

    /// The batch's columns with instants and wall clocks as the server's columns hold them.
    fn for_server(&self, known: &Known, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = batch.columns().iter().zip(&known.statements.columns);
        let columns = columns.map(|(c, theirs)| shifted(c, theirs.kind, self.target.zone));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let fields = self.target.schema.columns.iter().zip(&columns);
        let fields: Vec<Field> =
            fields.map(|(c, array)| Field::new(&c.name, array.data_type().clone(), true)).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }

    /// The rows that are to be written, less those without a key and those that take back what was never there.
    fn accepted(&self, batch: &Batch, errors: &mut Vec<RowError>) -> Vec<u32> {
        let mut rows = Vec::with_capacity(batch.num_rows());
        let mut ignored = 0;
        for row in 0..batch.num_rows() {
            let takes_back = matches!(batch.kind(row), RowKind::UpdateBefore | RowKind::Delete);
            if takes_back && self.target.key.is_empty() {
                match self.target.ignores_retractions {
                    true => ignored += 1,
                    false => errors.push(RowError::new(
                        row as u32,
                        Reason::Sink,
                        format!("a row of kind {} needs a table with a PRIMARY KEY", batch.kind(row).short()),
                    )),
                }
                continue;
            }
            let null = self.target.key.iter().find(|&&i| batch.columns.column(i).is_null(row));
            match null {
                Some(&i) => errors.push(
                    RowError::new(row as u32, Reason::NotNull, "is NULL, but part of the PRIMARY KEY")
                        .column(&self.target.schema.columns[i].name),
                ),
                None => rows.push(row as u32),
            }
        }
        if ignored > 0 {
            self.metrics.skipped.add(ignored);
            self.metrics.rows_out.sub(ignored);
        }
        rows
    }
}

#[async_trait(?Send)]
impl SinkWriter for Writer {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        let known = self.known().await?;
        let columns = self.for_server(&known, &batch.columns)?;
        let rows = self.accepted(batch, errors);
        let mut rest = rows.as_slice();
        while !rest.is_empty() {
            let room = self.target.flush_rows.unwrap_or(WAITING_ROWS_MAX).saturating_sub(self.waiting.len()).max(1);
            let (now, later) = rest.split_at(room.min(rest.len()));
            let (first, last) = (now[0] as usize, now[now.len() - 1] as usize);
            let moved: Vec<u32> = now.iter().map(|r| r - now[0]).collect();
            let part = batch.slice(first, last + 1 - first);
            self.waiting.add(&part, columns.slice(first, last + 1 - first), &moved)?;
            self.since.get_or_insert_with(Instant::now);
            rest = later;
            if self.is_full() {
                self.write_out().await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self, failed: &mut Vec<FailedRow>) -> Result<()> {
        let outcome = self.write_out().await;
        failed.append(&mut self.failed);
        outcome
    }

    /// At once if rows have failed: they must not wait for the next batch to be told of.
    fn flush_due(&self) -> Option<Instant> {
        if !self.failed.is_empty() {
            return Some(Instant::now());
        }
        self.since.zip(self.target.flush_interval).map(|(since, interval)| since + interval)
    }

    async fn close(&mut self) -> Result<()> {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
        Ok(())
    }
}
