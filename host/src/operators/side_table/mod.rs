//! A side table as its join sees it: loaded whole, or asked for keys as they come.

mod cache;
mod fetch;
mod snapshot;

pub use fetch::Keys;
pub use snapshot::{Key, Snapshot, converter, encode};

use super::failures::{FailureHandler, StagePolicy};
use super::lookup_join::project;
use crate::connectors::api::{LookupCache, LookupSource};
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
    #[expect(clippy::too_many_arguments, reason = "plain data of one declaration")]
    pub fn new(
        name: Arc<str>,
        source: Arc<dyn LookupSource>,
        schema: SchemaRef,
        key_columns: Vec<String>,
        keys: ProgramPlan,
        bytes_max: usize,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        let snapshot = tokio::sync::Mutex::new(None);
        let settings = source.settings();
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

    /// Rows that hold (at least) those of these keys. `Partly`: only of the keys that are known already, and the rows
    /// of the batch that have to wait for theirs.
    pub async fn rows_of(self: &Arc<Self>, keys: &Keys<'_>) -> Result<Found> {
        let Some(fetcher) = &self.fetcher else { return Ok(Found::All(self.current().await?)) };
        let (mut found, missing) = fetcher.cached(keys);
        if missing.is_empty() || self.ordered {
            found.extend(fetcher.fetch(self, keys, &missing).await?);
            return Ok(Found::All(Arc::new(assemble(self, found)?)));
        }
        Ok(Found::Partly(Arc::new(assemble(self, found)?), missing))
    }

    /// The rows of the keys that `rows_of` left open.
    pub async fn rest_of(&self, keys: &Keys<'_>, missing: &[u32]) -> Result<Arc<Snapshot>> {
        let fetcher = self.fetcher.as_ref().ok_or_else(|| Error::internal("a loaded side table has no open keys"))?;
        Ok(Arc::new(assemble(self, fetcher.fetch(self, keys, missing).await?)?))
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

/// What a side table says of a batch's keys.
pub enum Found {
    All(Arc<Snapshot>),
    /// Of some keys; and rows of the batch, the first of each key that has to be asked for.
    Partly(Arc<Snapshot>, Vec<u32>),
}

#[cfg(test)]
mod tests;
