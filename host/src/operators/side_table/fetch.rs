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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The first pause before a query is tried again; it doubles.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);

/// The answer to a query that is under way: none as long as it is; the sender goes when the query has failed.
type Waiting = watch::Receiver<Option<Arc<Snapshot>>>;

pub struct Fetcher {
    settings: LookupSettings,
    /// The side table's columns that are compared.
    key_columns: Vec<String>,
    state: Mutex<State>,
}

struct State {
    cache: Option<Cache>,
    under_way: HashMap<Key, Waiting>,
}

/// The distinct keys of a batch and their typed values.
pub struct Keys<'a> {
    pub encoded: &'a [Option<Key>],
    /// As they are compared.
    pub columns: &'a [ArrayRef],
}

impl Fetcher {
    pub fn new(settings: LookupSettings, key_columns: Vec<String>) -> Self {
        let cache = match &settings.cache {
            LookupCache::Lru(spec) => Some(Cache::new(spec.clone())),
            LookupCache::None | LookupCache::All { .. } => None,
        };
        Self { settings, key_columns, state: Mutex::new(State { cache, under_way: HashMap::new() }) }
    }

    /// A panic elsewhere leaves whole entries behind, so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known without asking; the keys that are not are left in `missing` (index of their first row).
    pub fn cached(&self, keys: &Keys<'_>) -> (Vec<(Key, KeyRows)>, Vec<u32>) {
        let now = Instant::now();
        let mut state = self.lock();
        let (mut found, mut missing) = (vec![], vec![]);
        for (row, key) in distinct(keys.encoded) {
            match state.cache.as_mut().and_then(|c| c.get(key, now)) {
                Some(rows) => found.push((key.clone(), rows)),
                None => missing.push(row),
            }
        }
        (found, missing)
    }

    /// The rows of these keys (indexes of rows of `keys`), from the outside.
    pub async fn fetch(&self, table: &SideTable, keys: &Keys<'_>, rows: &[u32]) -> Result<Vec<(Key, KeyRows)>> {
        let mut found = Vec::with_capacity(rows.len());
        let mut open = rows.to_vec();
        while !open.is_empty() {
            let (mine, theirs) = self.claim(keys, &open);
            let answers = mine.chunks(self.settings.keys_per_query.max(1)).map(|chunk| self.ask(table, keys, chunk));
            let answers: Vec<Arc<Snapshot>> =
                futures::stream::iter(answers).buffered(self.settings.concurrency.max(1)).try_collect().await?;
            for (chunk, answer) in mine.chunks(self.settings.keys_per_query.max(1)).zip(&answers) {
                let batch = Arc::new(answer.rows.clone());
                found.extend(chunk.iter().map(|c| (c.key.clone(), rows_of(&batch, answer, &c.key))));
            }
            open.clear();
            for (row, key, mut waiting) in theirs {
                // A query that failed is tried again by whoever waits for it.
                match waiting.wait_for(Option::is_some).await.ok().and_then(|a| a.clone()) {
                    Some(answer) => found.push((key.clone(), rows_of(&Arc::new(answer.rows.clone()), &answer, &key))),
                    None => open.push(row),
                }
            }
        }
        Ok(found)
    }

    /// Which of the keys nobody asks for yet: from now on this caller does.
    fn claim(&self, keys: &Keys<'_>, rows: &[u32]) -> (Vec<Claim<'_>>, Vec<(u32, Key, Waiting)>) {
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

    async fn ask(&self, table: &SideTable, keys: &Keys<'_>, claims: &[Claim<'_>]) -> Result<Arc<Snapshot>> {
        let batch = self.key_batch(table, keys, claims)?;
        let answer = Arc::new(self.with_retries(table, &batch).await?);
        let mut state = self.lock();
        if let Some(cache) = &mut state.cache {
            cache.insert(&answer, claims.iter().map(|c| &c.key), Instant::now())?;
        }
        drop(state);
        for c in claims {
            c.answer.send_replace(Some(answer.clone()));
        }
        Ok(answer)
    }

    /// The keys as values of the side table's own columns. One that does not fit its column has no row; it is left out.
    fn key_batch(&self, table: &SideTable, keys: &Keys<'_>, claims: &[Claim<'_>]) -> Result<RecordBatch> {
        let rows = UInt32Array::from_iter_values(claims.iter().map(|c| c.row));
        let safe = CastOptions { safe: true, ..CastOptions::default() };
        let (mut fields, mut columns) = (vec![], vec![]);
        for (name, compared) in self.key_columns.iter().zip(keys.columns) {
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

    async fn with_retries(&self, table: &SideTable, keys: &RecordBatch) -> Result<Snapshot> {
        let mut pause = RETRY_PAUSE;
        let mut attempt = 0;
        loop {
            let error = match self.once(table, keys).await {
                Ok(answer) => return Ok(answer),
                Err(e) => e,
            };
            if attempt == self.settings.retries {
                return Err(error.context(format!("side table {}: asked {} time(s)", table.name, attempt + 1)));
            }
            attempt += 1;
            table.metrics.retries.add(1);
            tracing::warn!("side table {}: asked again in {} ms: {error}", table.name, pause.as_millis());
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
    }

    async fn once(&self, table: &SideTable, keys: &RecordBatch) -> Result<Snapshot> {
        if keys.num_rows() == 0 {
            return table.index(crate::connectors::api::Snapshot::default());
        }
        let asked = table.source.lookup(&self.key_columns, keys);
        let answer = match self.settings.timeout {
            None => asked.await?,
            Some(limit) => tokio::time::timeout(limit, asked).await.map_err(|_| {
                Error::external(format!("no answer within {} ms", limit.as_millis()))
                    .with_hint("asyncTimeout or lookup.timeout of the table sets this limit")
            })??,
        };
        table.index(answer)
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
pub fn assemble(table: &SideTable, found: Vec<(Key, KeyRows)>) -> Result<Snapshot> {
    let (keys, rows): (Vec<Key>, Vec<KeyRows>) = found.into_iter().unzip();
    let batch = match gather(&rows)? {
        Some(batch) => batch,
        None => RecordBatch::new_empty(table.schema.clone()),
    };
    Ok(Snapshot::of_runs(batch, keys.into_iter().zip(rows.iter().map(|r| r.rows.len() as u32)).collect()))
}
