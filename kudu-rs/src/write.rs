//! Sessions: rows are gathered by tablet and sent in batches.
//!
//! A tablet has one batch under way at a time, so that operations on one key happen in the order in which they were
//! applied. A batch is no transaction: its rows fail or succeed one by one.

use crate::client::Client;
use crate::encode::RowOperations;
use crate::error::{Error, Result};
use crate::partition::Point;
use crate::pb::kudu::master::MasterFeatures;
use crate::pb::kudu::tserver::{WriteRequestPb, WriteResponsePb};
use crate::retry::Deadline;
use crate::row::{self, OpKind, Row};
use crate::scan::ReplicaSelection;
use crate::table::{Request, Table};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tracing::Instrument;

/// When rows are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlushMode {
    /// `apply` sends its row and waits for the answer.
    Sync,
    /// Batches are sent when they are full or have waited; `apply` waits only while the buffer is full.
    #[default]
    Background,
    /// Rows are sent by `flush` alone; `apply` refuses rows for which the buffer has no room.
    Manual,
}

/// Something to be done with a row of a table.
#[derive(Debug, Clone)]
pub struct Operation {
    table: Table,
    kind: OpKind,
    row: Row,
}

impl Operation {
    pub(crate) fn new(table: &Table, kind: OpKind, row: Row) -> Self {
        Self { table: table.clone(), kind, row }
    }
    pub fn kind(&self) -> OpKind {
        self.kind
    }
    pub fn row(&self) -> &Row {
        &self.row
    }
    pub fn table(&self) -> &Table {
        &self.table
    }
}

/// A row that was not written, or of which that is not known (`error.is_outcome_unknown()`).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowError {
    /// What `apply` gave for it.
    pub id: u64,
    pub operation: Operation,
    pub error: Error,
}

/// What came of the rows since the last report.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Flushed {
    /// Rows that were written (or ignored, as they asked for).
    pub written: u64,
    pub errors: Vec<RowError>,
    /// Errors for which `max_errors` left no room. Not zero means that rows are lost of which nothing more is known.
    pub more_errors: u64,
}

/// Settings of a session.
#[must_use]
#[derive(Debug, Clone)]
pub struct SessionBuilder {
    client: Client,
    settings: Settings,
}

#[derive(Debug, Clone)]
struct Settings {
    mode: FlushMode,
    batch_rows: usize,
    batch_bytes: usize,
    buffer_rows: usize,
    buffer_bytes: usize,
    interval: Duration,
    timeout: Duration,
    max_errors: usize,
}

impl SessionBuilder {
    pub(crate) fn new(client: &Client) -> Self {
        let settings = Settings {
            mode: FlushMode::default(),
            batch_rows: 1000,
            batch_bytes: 4 * 1024 * 1024,
            buffer_rows: 100_000,
            buffer_bytes: 64 * 1024 * 1024,
            interval: Duration::from_secs(1),
            timeout: client.shared.operation_timeout,
            max_errors: 10_000,
        };
        Self { client: client.clone(), settings }
    }
    pub fn flush_mode(mut self, mode: FlushMode) -> Self {
        self.settings.mode = mode;
        self
    }
    /// Rows of one request at most (1000).
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.settings.batch_rows = rows.max(1);
        self
    }
    /// Bytes of one request, about (4 MiB, at most 30 MiB).
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.settings.batch_bytes = bytes.clamp(1, 30 * 1024 * 1024);
        self
    }
    /// Rows that are held at most, those under way among them (100 000).
    pub fn buffer_rows(mut self, rows: usize) -> Self {
        self.settings.buffer_rows = rows.max(1);
        self
    }
    /// Bytes that are held at most (64 MiB).
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.settings.buffer_bytes = bytes.max(1);
        self
    }
    /// The longest that a row waits for its batch to fill (1 s); `Background` only.
    pub fn flush_interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval;
        self
    }
    /// The time for a batch, repetitions among it; else that of the client's operations.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }
    /// Row errors that are kept until they are fetched (10 000).
    pub fn max_errors(mut self, errors: usize) -> Self {
        self.settings.max_errors = errors;
        self
    }
    pub fn build(self) -> Session {
        let shared =
            Shared { client: self.client, settings: self.settings, state: Mutex::default(), progress: Notify::new() };
        Session { shared: Arc::new(shared) }
    }
}

/// Writes to a cluster's tables. Flush it before it is dropped: what is still waiting then is lost.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    settings: Settings,
    state: Mutex<State>,
    /// Told when a batch is done.
    progress: Notify,
}

#[derive(Default)]
struct State {
    next_id: u64,
    queues: HashMap<QueueKey, Queue>,
    rows: usize,
    bytes: usize,
    report: Flushed,
    timer: bool,
}

/// Table and tablet, by their ids.
type QueueKey = (Bytes, String);

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Pending>,
    bytes: usize,
    /// A task sends this queue's batches.
    busy: bool,
    /// Everything that waits now is to be sent, also if it fills no batch.
    urgent: bool,
}

struct Pending {
    id: u64,
    operation: Operation,
    /// What is sent, where the cluster does not know the operation itself.
    sent_as: OpKind,
    point: Point,
    size: usize,
}

impl Session {
    /// Takes an operation. The number says later which one failed.
    ///
    /// With `Sync` the error is that of the row. Otherwise errors of rows are found in the report of `flush`, and this
    /// fails for one reason only: with `Manual`, [`Error::BufferFull`]; the operation was not taken then.
    pub async fn apply(&self, operation: Operation) -> Result<u64> {
        let shared = &self.shared;
        match shared.settings.mode {
            FlushMode::Manual => {
                if let Some(full) = shared.lock().full(&shared.settings, operation.row.size()) {
                    return Err(full);
                }
            }
            FlushMode::Background => shared.wait_for_room(operation.row.size()).await,
            FlushMode::Sync => return self.apply_now(operation).await,
        }
        let id = shared.next_id();
        match shared.prepare(id, &operation).await {
            Ok((key, pending)) => shared.enqueue(key, pending),
            Err(error) => shared.lock().fail(&shared.settings, RowError { id, operation, error }),
        }
        Ok(id)
    }

    async fn apply_now(&self, operation: Operation) -> Result<u64> {
        let id = self.shared.next_id();
        let (_, pending) = self.shared.prepare(id, &operation).await?;
        let mut failed = send(&self.shared, &[pending]).await;
        match failed.pop() {
            Some((_, error)) => Err(error),
            None => {
                self.shared.lock().report.written += 1;
                Ok(id)
            }
        }
    }

    /// Sends what is waiting, waits until nothing is under way, and tells what came of it.
    #[tracing::instrument(skip_all)]
    pub async fn flush(&self) -> Flushed {
        loop {
            // Registered before looking, so that no word is missed.
            let progress = self.shared.progress.notified();
            self.shared.send_all();
            if self.shared.lock().rows == 0 {
                break;
            }
            progress.await;
        }
        self.take_report()
    }

    /// What is known by now, without waiting.
    pub fn take_report(&self) -> Flushed {
        std::mem::take(&mut self.shared.lock().report)
    }
    /// Rows that are waiting or under way.
    pub fn pending_rows(&self) -> usize {
        self.shared.lock().rows
    }
}

impl State {
    fn full(&self, settings: &Settings, more: usize) -> Option<Error> {
        // A row that alone is larger than the buffer has its turn when the buffer is empty.
        let full = self.rows >= settings.buffer_rows || (self.rows > 0 && self.bytes + more > settings.buffer_bytes);
        full.then_some(Error::BufferFull { rows: self.rows, bytes: self.bytes })
    }
    fn fail(&mut self, settings: &Settings, error: RowError) {
        match self.report.errors.len() < settings.max_errors {
            true => self.report.errors.push(error),
            false => self.report.more_errors += 1,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
    fn next_id(&self) -> u64 {
        let mut state = self.lock();
        state.next_id += 1;
        state.next_id - 1
    }

    async fn wait_for_room(self: &Arc<Self>, size: usize) {
        loop {
            let progress = self.progress.notified();
            if self.lock().full(&self.settings, size).is_none() {
                return;
            }
            self.send_all();
            progress.await;
        }
    }

    /// Checks the row and finds its tablet.
    async fn prepare(&self, id: u64, operation: &Operation) -> Result<(QueueKey, Pending)> {
        row::check(operation.kind, &operation.row)?;
        if operation.row.schema() != operation.table.schema() {
            return Err(Error::invalid("a row of another schema than the table's: make it with `table.row()`"));
        }
        let sent_as = self.sent_as(operation.kind).await?;
        // The size of the key is checked by the way.
        let auto = operation.table.schema().key_columns().iter().any(|c| c.auto_incrementing);
        if !auto {
            operation.row.encoded_key()?;
        }
        let point = operation.table.partition_schema().point(&operation.row)?;
        let deadline = Deadline::within(self.settings.timeout);
        let tablet = operation.table.tablet(&point, deadline).await.map_err(|e| match e {
            Error::NonCoveredRange { table, .. } => Error::NonCoveredRange { table, key: operation.row.describe_key() },
            e => e,
        })?;
        let key = (operation.table.inner.id.clone(), tablet.id.clone());
        let size = operation.row.size();
        Ok((key, Pending { id, operation: operation.clone(), sent_as, point, size }))
    }

    /// Old clusters do not know all of the operations that ignore errors: then the errors are ignored here.
    async fn sent_as(&self, kind: OpKind) -> Result<OpKind> {
        if !kind.is_ignore() {
            return Ok(kind);
        }
        let feature = match kind {
            OpKind::UpsertIgnore => MasterFeatures::UpsertIgnore,
            _ => MasterFeatures::IgnoreOperations,
        };
        if self.client.supports(feature).await? {
            return Ok(kind);
        }
        match kind {
            OpKind::InsertIgnore => Ok(OpKind::Insert),
            OpKind::UpdateIgnore => Ok(OpKind::Update),
            OpKind::DeleteIgnore => Ok(OpKind::Delete),
            // What it ignores are immutable columns, which such a cluster does not have.
            _ => Ok(OpKind::Upsert),
        }
    }

    fn enqueue(self: &Arc<Self>, key: QueueKey, pending: Pending) {
        let mut state = self.lock();
        state.rows += 1;
        state.bytes += pending.size;
        let queue = state.queues.entry(key.clone()).or_default();
        queue.bytes += pending.size;
        queue.waiting.push_back(pending);
        if self.settings.mode == FlushMode::Manual {
            return;
        }
        if queue.is_due(&self.settings) {
            self.start(queue, key);
        } else if !state.timer {
            state.timer = true;
            tokio::spawn(flush_later(Arc::downgrade(self), self.settings.interval));
        }
    }

    fn send_all(self: &Arc<Self>) {
        let mut state = self.lock();
        let keys: Vec<QueueKey> = state.queues.keys().cloned().collect();
        for key in keys {
            if let Some(queue) = state.queues.get_mut(&key) {
                queue.urgent = true;
                self.start(queue, key);
            }
        }
    }

    /// One task at a time sends the batches of a tablet.
    fn start(self: &Arc<Self>, queue: &mut Queue, key: QueueKey) {
        if !queue.busy && !queue.waiting.is_empty() {
            queue.busy = true;
            tokio::spawn(send_queue(self.clone(), key).in_current_span());
        }
    }

    /// The next batch of a queue; None, and nobody sends it any more, when there is none due.
    fn next_batch(&self, key: &QueueKey) -> Option<Vec<Pending>> {
        let mut state = self.lock();
        let queue = state.queues.get_mut(key)?;
        if !queue.is_due(&self.settings) {
            queue.busy = false;
            if queue.waiting.is_empty() {
                state.queues.remove(key);
            }
            return None;
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some(first) = queue.waiting.front() {
            let full = batch.len() >= self.settings.batch_rows || bytes + first.size > self.settings.batch_bytes;
            if full && !batch.is_empty() {
                break;
            }
            bytes += first.size;
            batch.extend(queue.waiting.pop_front());
        }
        queue.bytes -= bytes;
        if queue.waiting.is_empty() {
            queue.urgent = false;
        }
        Some(batch)
    }

    fn finish(&self, batch: Vec<Pending>, failed: Vec<(usize, Error)>) {
        let mut state = self.lock();
        state.rows -= batch.len();
        state.bytes -= batch.iter().map(|p| p.size).sum::<usize>();
        let mut failed: HashMap<usize, Error> = failed.into_iter().collect();
        for (i, p) in batch.into_iter().enumerate() {
            match failed.remove(&i) {
                Some(error) => state.fail(&self.settings, RowError { id: p.id, operation: p.operation, error }),
                None => state.report.written += 1,
            }
        }
        drop(state);
        self.progress.notify_waiters();
    }
}

impl Queue {
    fn is_due(&self, settings: &Settings) -> bool {
        let full = self.waiting.len() >= settings.batch_rows || self.bytes >= settings.batch_bytes;
        !self.waiting.is_empty() && (self.urgent || full && settings.mode != FlushMode::Manual)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let rows = self.lock().rows;
        if rows > 0 {
            tracing::warn!(rows, "a session was dropped with rows that were not flushed; they are lost");
        }
    }
}

async fn flush_later(shared: Weak<Shared>, interval: Duration) {
    tokio::time::sleep(interval).await;
    if let Some(shared) = shared.upgrade() {
        shared.lock().timer = false;
        shared.send_all();
    }
}

async fn send_queue(shared: Arc<Shared>, key: QueueKey) {
    while let Some(batch) = shared.next_batch(&key) {
        let failed = send(&shared, &batch).await;
        shared.finish(batch, failed);
    }
}

/// Sends one batch; gives the rows that were not written.
async fn send(shared: &Shared, batch: &[Pending]) -> Vec<(usize, Error)> {
    let all = |e: Error| (0..batch.len()).map(|i| (i, e.clone())).collect();
    let Some(first) = batch.first() else { return vec![] };
    let table = &first.operation.table;
    let span = tracing::debug_span!("kudu_write", table = table.name(), rows = batch.len());
    let answer = match write(shared, table, &first.point, batch).instrument(span).await {
        Ok(a) => a,
        Err(e) => return all(e),
    };
    let mut failed = Vec::with_capacity(answer.per_row_errors.len());
    for e in answer.per_row_errors {
        let row = usize::try_from(e.row_index).ok().and_then(|i| Some((i, batch.get(i)?)));
        let Some((i, pending)) = row else {
            return all(Error::protocol(format!("an error of row {} in a batch of {}", e.row_index, batch.len())));
        };
        let error = Error::Row { status: e.error.code(), message: e.error.message.unwrap_or_default() };
        if !ignored_here(pending, &error) {
            failed.push((i, error));
        }
    }
    failed
}

fn ignored_here(pending: &Pending, error: &Error) -> bool {
    let wanted = pending.operation.kind;
    wanted != pending.sent_as
        && match wanted {
            OpKind::InsertIgnore => error.is_already_present(),
            _ => error.is_not_found(),
        }
}

async fn write(shared: &Shared, table: &Table, point: &Point, batch: &[Pending]) -> Result<WriteResponsePb> {
    let mut rows = RowOperations::default();
    for p in batch {
        rows.add(p.sent_as.wire(), &p.operation.row, p.sent_as.by_key());
    }
    let (rows, schema) = (rows.finish(), table.schema().to_pb_brief());
    let client = &shared.client.shared;
    let id = client.tracker.begin();
    let request = Request {
        method: "Write",
        point,
        selection: ReplicaSelection::LeaderOnly,
        guess: true,
        features: vec![],
        deadline: Deadline::within(shared.settings.timeout),
    };
    let answer = table
        .call::<WriteResponsePb, _>(
            &request,
            |attempt| Some(id.attempt(attempt)),
            |tablet| WriteRequestPb {
                tablet_id: tablet.id.clone().into_bytes().into(),
                schema: Some(schema.clone()),
                row_operations: Some(rows.clone()),
                propagated_timestamp: client.clock.latest(),
                authz_token: table.authz_token(),
                ..Default::default()
            },
        )
        .await?;
    client.clock.observe(answer.message.timestamp);
    Ok(answer.message)
}
