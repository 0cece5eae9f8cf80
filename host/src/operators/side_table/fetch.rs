//! Rows of a side table by their keys, asked for as they come: cache, one query for many keys, and never two queries
//! for one key at the same time.

use super::SideTable;
use super::cache::{Cache, KeyRows, gather};
use super::snapshot::{Key, Snapshot};
use crate::connectors::api::{LookupCache, LookupSettings};
use crate::error::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{Field, Schema};
use futures::{StreamExt, TryStreamExt};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// The first pause before a query is tried again; it doubles.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Keys under way, whatever the table says.
const CAPACITY_MAX: usize = 1 << 20;

/// The answer to a query that is under way: none as long as it is; the sender goes when the query has failed.
type Waiting = watch::Receiver<Option<Arc<Snapshot>>>;

pub struct Fetcher {
    settings: LookupSettings,
    /// Queries and keys that may be under way, of all subtasks.
    queries: Semaphore,
    capacity: Semaphore,
    /// Look-ups that were given up.
    unanswered: AtomicU64,
    /// The side table's columns that are compared.
    key_columns: Vec<String>,
    state: Mutex<State>,
}

struct State {
    cache: Option<Cache>,
    under_way: HashMap<Key, Waiting>,
}

/// The keys of a batch, row by row.
pub struct Keys {
    /// None: a part of the key is NULL.
    pub encoded: Vec<Option<Key>>,
    /// As they are compared.
    pub columns: Vec<ArrayRef>,
}

/// Keys with their rows.
pub type Rows = Vec<(Key, KeyRows)>;

/// What the outside says of keys.
#[derive(Default)]
pub struct Fetched {
    pub rows: Rows,
    /// Keys for which it gave no answer in time.
    pub unanswered: Vec<Key>,
}

/// The answer to one query.
enum Reply {
    Rows(Arc<Snapshot>),
    /// None in time, also at the last attempt.
    TooLate,
}

impl Fetcher {
    pub fn new(settings: LookupSettings, key_columns: Vec<String>) -> Self {
        let cache = match &settings.cache {
            LookupCache::Lru(spec) => Some(Cache::new(spec.clone())),
            LookupCache::None | LookupCache::All { .. } => None,
        };
        let queries = Semaphore::new(settings.concurrency.max(1));
        let capacity = Semaphore::new(settings.capacity.clamp(1, CAPACITY_MAX));
        let state = Mutex::new(State { cache, under_way: HashMap::new() });
        Self { settings, queries, capacity, unanswered: AtomicU64::new(0), key_columns, state }
    }

    /// A panic elsewhere leaves whole entries behind, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known without asking; the keys that are not are left in `missing` (index of their first row).
    pub fn cached(&self, keys: &Keys) -> (Rows, Vec<u32>) {
        let now = Instant::now();
        let mut state = self.lock();
        let (mut found, mut missing) = (vec![], vec![]);
        for (row, key) in distinct(&keys.encoded) {
            match state.cache.as_mut().and_then(|c| c.get(key, now)) {
                Some(rows) => found.push((key.clone(), rows)),
                None => missing.push(row),
            }
        }
        (found, missing)
    }

    /// The rows of these keys (indexes of rows of `keys`), from the outside.
    pub async fn fetch(&self, table: &SideTable, keys: &Keys, rows: &[u32]) -> Result<Fetched> {
        let mut fetched = Fetched::default();
        let mut open = rows.to_vec();
        while !open.is_empty() {
            let (mine, theirs) = self.claim(keys, &open);
            self.ask_all(table, keys, mine, &mut fetched).await?;
            open.clear();
            for (row, key, mut waiting) in theirs {
                // A query that failed is tried again by whoever waits for it.
                match waiting.wait_for(Option::is_some).await.ok().and_then(|a| a.clone()) {
                    Some(answer) => fetched.add(&answer, [key]),
                    None => open.push(row),
                }
            }
        }
        Ok(fetched)
    }

    async fn ask_all(&self, table: &SideTable, keys: &Keys, mine: Vec<Claim<'_>>, fetched: &mut Fetched) -> Result<()> {
        let size = self.settings.keys_per_query.clamp(1, self.settings.capacity.clamp(1, CAPACITY_MAX));
        let replies: Vec<_> = mine.chunks(size).map(|chunk| self.ask(table, keys, chunk)).collect();
        let replies: Vec<Reply> =
            futures::stream::iter(replies).buffered(self.settings.concurrency.max(1)).try_collect().await?;
        for (chunk, reply) in mine.chunks(size).zip(replies) {
            let keys = chunk.iter().map(|c| c.key.clone());
            match reply {
                Reply::Rows(answer) => fetched.add(&answer, keys),
                Reply::TooLate => fetched.unanswered.extend(keys),
            }
        }
        Ok(())
    }

    /// Which of the keys nobody asks for yet: from now on this caller does.
    fn claim(&self, keys: &Keys, rows: &[u32]) -> (Vec<Claim<'_>>, Vec<(u32, Key, Waiting)>) {
        let mut state = self.lock();
        let (mut mine, mut theirs) = (vec![], vec![]);
        for &row in rows {
            let Some(key) = &keys.encoded[row as usize] else { continue };
            match state.under_way.get(key) {
                Some(waiting) => theirs.push((row, key.clone(), waiting.clone())),
                None => {
                    let (answer, waiting) = watch::channel(None);
                    state.under_way.insert(key.clone(), waiting);
                    mine.push(Claim { fetcher: self, row, key: key.clone(), answer });
                }
            }
        }
        (mine, theirs)
    }

    async fn ask(&self, table: &SideTable, keys: &Keys, claims: &[Claim<'_>]) -> Result<Reply> {
        let batch = self.key_batch(table, keys, claims)?;
        let closed = |e: tokio::sync::AcquireError| Error::internal(format!("side table {}: {e}", table.name));
        let _keys = self.capacity.acquire_many(claims.len() as u32).await.map_err(closed)?;
        let _query = self.queries.acquire().await.map_err(closed)?;
        let Some(answer) = self.with_retries(table, &batch).await? else {
            self.give_up(table, claims.len())?;
            return Ok(Reply::TooLate);
        };
        let answer = Arc::new(answer);
        let mut state = self.lock();
        if let Some(cache) = &mut state.cache {
            cache.insert(&answer, claims.iter().map(|c| &c.key), Instant::now())?;
        }
        drop(state);
        for c in claims {
            c.answer.send_replace(Some(answer.clone()));
        }
        Ok(Reply::Rows(answer))
    }

    /// So many look-ups got no answer in time; an error if they are too many by now.
    fn give_up(&self, table: &SideTable, keys: usize) -> Result<()> {
        let all = self.unanswered.fetch_add(keys as u64, Relaxed) + keys as u64;
        match self.settings.unanswered_max {
            Some(max) if all > max => {
                let message = format!("side table {}: more than {max} look-ups got no answer in time", table.name);
                Err(Error::external(message).with_hint("asyncFailMaxNum of the table sets this limit"))
            }
            _ => Ok(()),
        }
    }

    /// The keys as values of the side table's own columns. One that does not fit its column has no row; it is left out.
    fn key_batch(&self, table: &SideTable, keys: &Keys, claims: &[Claim<'_>]) -> Result<RecordBatch> {
        let rows = UInt32Array::from_iter_values(claims.iter().map(|c| c.row));
        let safe = CastOptions { safe: true, ..CastOptions::default() };
        let (mut fields, mut columns) = (vec![], vec![]);
        for (name, compared) in self.key_columns.iter().zip(&keys.columns) {
            let field = table.schema.field_with_name(name)?;
            columns.push(cast_with_options(&take(compared, &rows, None)?, field.data_type(), &safe)?);
            fields.push(Field::new(name, field.data_type().clone(), true));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(claims.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let fits: Vec<u32> =
            (0..batch.num_rows() as u32).filter(|r| batch.columns().iter().all(|c| c.is_valid(*r as usize))).collect();
        Ok(arrow::compute::take_record_batch(&batch, &UInt32Array::from(fits))?)
    }

    /// None: no answer in time.
    async fn with_retries(&self, table: &SideTable, keys: &RecordBatch) -> Result<Option<Snapshot>> {
        let mut pause = RETRY_PAUSE;
        let mut attempt = 0;
        loop {
            let why = match self.once(table, keys).await {
                Ok(Some(answer)) => return Ok(Some(answer)),
                Ok(None) if attempt == self.settings.retries => return Ok(None),
                Ok(None) => self.too_late(),
                Err(e) if attempt == self.settings.retries => {
                    return Err(e.context(format!("side table {}: asked {} time(s)", table.name, attempt + 1)));
                }
                Err(e) => e.to_string(),
            };
            attempt += 1;
            table.metrics.retries.add(1);
            tracing::warn!("side table {}: asked again in {} ms: {why}", table.name, pause.as_millis());
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }

    /// Why a look-up was given up.
    pub fn too_late(&self) -> String {
        format!("no answer within {} ms", self.settings.timeout.unwrap_or_default().as_millis())
    }

    async fn once(&self, table: &SideTable, keys: &RecordBatch) -> Result<Option<Snapshot>> {
        if keys.num_rows() == 0 {
            return table.index(crate::connectors::api::Snapshot::default()).map(Some);
        }
        table.metrics.queries.add(1);
        let asked = table.source.lookup(&self.key_columns, keys);
        let answer = match self.settings.timeout {
            None => asked.await?,
            Some(limit) => match tokio::time::timeout(limit, asked).await {
                Ok(answer) => answer?,
                Err(_) => return Ok(None),
            },
        };
        table.index(answer).map(Some)
    }
}

impl Fetched {
    fn add(&mut self, answer: &Arc<Snapshot>, keys: impl IntoIterator<Item = Key>) {
        let batch = Arc::new(answer.rows.clone());
        self.rows.extend(keys.into_iter().map(|key| {
            let rows = rows_of(&batch, answer, &key);
            (key, rows)
        }));
    }
}

/// A key that this caller asks for. Others wait for it until the claim is gone.
struct Claim<'a> {
    fetcher: &'a Fetcher,
    row: u32,
    key: Key,
    answer: watch::Sender<Option<Arc<Snapshot>>>,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.fetcher.lock().under_way.remove(&self.key);
    }
}

fn rows_of(batch: &Arc<RecordBatch>, answer: &Snapshot, key: &[u8]) -> KeyRows {
    KeyRows { batch: batch.clone(), rows: answer.matches(key).into() }
}

/// The first row of each key.
fn distinct(encoded: &[Option<Key>]) -> impl Iterator<Item = (u32, &Key)> {
    let mut seen: std::collections::HashSet<&[u8], xxhash_rust::xxh3::Xxh3DefaultBuilder> = Default::default();
    encoded.iter().enumerate().filter_map(move |(row, key)| {
        let key = key.as_ref()?;
        seen.insert(key).then_some((row as u32, key))
    })
}

/// Everything found, as rows with an index.
pub fn assemble(table: &SideTable, found: Rows) -> Result<Snapshot> {
    let (keys, rows): (Vec<Key>, Vec<KeyRows>) = found.into_iter().unzip();
    let batch = match gather(&rows)? {
        Some(batch) => batch,
        None => RecordBatch::new_empty(table.schema.clone()),
    };
    Ok(Snapshot::of_runs(batch, keys.into_iter().zip(rows.iter().map(|r| r.rows.len() as u32)).collect()))
}
