//! A side table as its join sees it: loaded whole, or asked for keys as they come.

mod asked;
mod cache;
mod fetch;
mod snapshot;

pub use asked::{Answer, Asked};
pub use fetch::{Keys, Rows};
pub use snapshot::{Key, Snapshot, converter, encode};

use super::failures::{FailureHandler, StagePolicy};
use super::lookup_join::project;
use crate::connectors::api::{LookupCache, LookupSettings, LookupSource};
use crate::error::{Error, Result};
use crate::expr::program::ProgramPlan;
use crate::metrics::OperatorMetrics;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use fetch::{Fetcher, assemble};
use std::sync::Arc;
use std::time::Instant;

/// A side table for one join: the connector, which of its columns are keys, and the snapshot all subtasks share.
pub struct SideTable {
    pub name: Arc<str>,
    source: Arc<dyn LookupSource>,
    schema: SchemaRef,
    /// Projects the key columns, cast to the types that both sides are compared in.
    keys: ProgramPlan,
    bytes_max: usize,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
    snapshot: tokio::sync::Mutex<Option<Loaded>>,
    /// None: the table is loaded whole.
    fetcher: Option<Fetcher>,
    /// Rows whose answer is known go on before the others of their batch.
    ordered: bool,
}

#[derive(Clone)]
struct Loaded {
    snapshot: Arc<Snapshot>,
    /// When to load anew; None: never, or it is being loaded.
    next: Option<Instant>,
}

impl SideTable {
    /// `settings`: the source's, as far as the job does not say otherwise.
    #[expect(clippy::too_many_arguments, reason = "plain data of one declaration")]
    pub fn new(
        name: Arc<str>,
        source: Arc<dyn LookupSource>,
        settings: LookupSettings,
        schema: SchemaRef,
        key_columns: Vec<String>,
        keys: ProgramPlan,
        bytes_max: usize,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        let snapshot = tokio::sync::Mutex::new(None);
        let ordered = settings.ordered;
        let fetcher = match settings.cache {
            LookupCache::All { .. } => None,
            LookupCache::Lru(_) | LookupCache::None => Some(Fetcher::new(settings, key_columns)),
        };
        Self { name, source, schema, keys, bytes_max, stage, failures, metrics, snapshot, fetcher, ordered }
    }

    /// What can be done before the first row: a table that is loaded whole is loaded.
    pub async fn open(self: &Arc<Self>) -> Result<()> {
        match self.fetcher {
            Some(_) => Ok(()),
            None => self.current().await.map(|_| ()),
        }
    }

    /// Rows leave the join in the order in which they came.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// What is known of these keys without asking the outside.
    pub async fn known(self: &Arc<Self>, keys: &Keys) -> Result<Known> {
        let Some(fetcher) = &self.fetcher else { return Ok(Known::All(self.current().await?)) };
        let (found, missing) = fetcher.cached(keys);
        self.metrics.hits.add(found.len() as u64);
        self.metrics.misses.add(missing.len() as u64);
        match missing.is_empty() {
            true => Ok(Known::All(self.assemble(found)?)),
            false => Ok(Known::Some(found, missing)),
        }
    }

    pub fn assemble(&self, found: Rows) -> Result<Arc<Snapshot>> {
        Ok(Arc::new(assemble(self, found)?))
    }

    /// Asks for the keys that `known` left open, beside the caller's thread. The answer holds the rows of `known`, too.
    pub fn ask(self: &Arc<Self>, keys: Arc<Keys>, known: Rows, missing: Vec<u32>) -> Asked {
        let table = self.clone();
        Asked::spawn(async move {
            let fetcher = table.fetcher.as_ref();
            let fetcher = fetcher.ok_or_else(|| Error::internal("a loaded side table has no open keys"))?;
            let mut fetched = fetcher.fetch(&table, &keys, &missing).await?;
            fetched.rows.extend(known);
            let why = if fetched.unanswered.is_empty() { String::new() } else { fetcher.too_late() };
            let unanswered = fetched.unanswered.into_iter().collect();
            Ok(Answer { rows: table.assemble(fetched.rows)?, unanswered, why })
        })
    }

    /// The current snapshot; the first call loads it. When its interval has passed, it is loaded anew beside the stream,
    /// which goes on with the old one until then. A failed reload keeps the old one; the next interval tries again.
    async fn current(self: &Arc<Self>) -> Result<Arc<Snapshot>> {
        let mut slot = self.snapshot.lock().await;
        match &mut *slot {
            None => {
                let loaded = Arc::new(self.load().await?);
                *slot = Some(Loaded { snapshot: loaded.clone(), next: self.next_reload() });
                Ok(loaded)
            }
            Some(loaded) => {
                if loaded.next.is_some_and(|next| next <= Instant::now()) {
                    loaded.next = None;
                    tokio::spawn(self.clone().reload());
                }
                Ok(loaded.snapshot.clone())
            }
        }
    }

    fn next_reload(&self) -> Option<Instant> {
        match self.source.settings().cache {
            LookupCache::All { reload } => reload.map(|interval| Instant::now() + interval),
            LookupCache::Lru(_) | LookupCache::None => None,
        }
    }

    async fn reload(self: Arc<Self>) {
        let loaded = self.load().await;
        let mut slot = self.snapshot.lock().await;
        let Some(current) = &mut *slot else { return };
        current.next = self.next_reload();
        match loaded {
            Ok(snapshot) => current.snapshot = Arc::new(snapshot),
            Err(e) => {
                self.metrics.retries.add(1);
                tracing::warn!("side table {}: reload failed, the rows loaded before stay in use: {e}", self.name);
            }
        }
    }

    async fn load(&self) -> Result<Snapshot> {
        let loaded = self.source.load_all().await.map_err(|e| e.context(format!("side table {}", self.name)))?;
        let bytes: usize = loaded.batches.iter().map(|b| b.get_array_memory_size()).sum();
        if bytes > self.bytes_max {
            return Err(Error::external(format!(
                "side table {}: its rows take {bytes} bytes, more than the limit of {}",
                self.name, self.bytes_max
            ))
            .with_hint("raise 'lookup.cache.max-bytes' ('cacheMaxBytes') of the table or join fewer of its columns"));
        }
        self.index(loaded)
    }

    /// Counts the rows, refuses those that could not be read, and indexes the rest by key.
    fn index(&self, loaded: crate::connectors::api::Snapshot) -> Result<Snapshot> {
        for f in loaded.failed {
            self.metrics.rows_in.add(1);
            self.failures.refuse(&self.stage, &f.error, f.origin, &self.metrics)?;
        }
        let rows = concat_batches(&self.schema, &loaded.batches)?;
        self.metrics.rows_in.add(rows.num_rows() as u64);
        self.metrics.decoded.add(rows.num_rows() as u64);
        self.metrics.rows_out.add(rows.num_rows() as u64);
        let key_columns = project(&mut self.keys.instantiate()?, &rows)?.0;
        Snapshot::build(rows, &key_columns)
    }
}

/// What is known of a batch's keys.
pub enum Known {
    /// Rows that hold (at least) those of all keys.
    All(Arc<Snapshot>),
    /// The rows of some keys; and rows of the batch, the first of each key that has to be asked for.
    Some(Rows, Vec<u32>),
}

#[cfg(test)]
mod tests;
