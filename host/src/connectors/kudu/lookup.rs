//! The side table: rows by keys, many at once, or the whole table.

use super::read::ReadTable;
use super::types::to_kudu;
use crate::connectors::api::{LookupCache, LookupSettings, LookupSource, LruSpec, Snapshot, TableContext};
use crate::connectors::lookup_options;
use crate::error::{Error, Result};
use arrow::array::RecordBatch;
use async_trait::async_trait;
use kudu_rs::{Lookup, Value};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Tablets that a whole load reads at the same time.
const LOAD_CONCURRENCY: usize = 4;

pub struct KuduLookup {
    table: ReadTable,
    settings: LookupSettings,
    /// By the columns that it is by.
    lookup: Mutex<Option<(Vec<String>, Lookup)>>,
}

impl KuduLookup {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let settings = lookup_options::settings(&cx.options, LookupCache::None);
        Ok(Self { table: ReadTable::new(cx)?, settings: bahir(cx, settings), lookup: Mutex::default() })
    }

    /// The client's look-up by these columns, made once.
    async fn by(&self, key_columns: &[String]) -> Result<Option<Lookup>> {
        if let Some((by, lookup)) = &*self.lookup.lock().unwrap_or_else(PoisonError::into_inner)
            && by == key_columns
        {
            return Ok(Some(lookup.clone()));
        }
        let opened = self.table.opened().await?;
        let Some(predicates) = opened.predicates() else { return Ok(None) };
        let names = key_columns.iter().map(|name| {
            let at = self.table.reading.schema.index_of(name);
            let at = at.ok_or_else(|| Error::internal(format!("the key column {name} is not read")))?;
            Ok(opened.table.schema().columns()[opened.places[at]].name.clone())
        });
        let mut builder = opened.table.lookup().by(names.collect::<Result<Vec<_>>>()?).project(opened.columns());
        for p in predicates {
            builder = builder.predicate(p.clone());
        }
        let lookup = builder.build().map_err(|e| self.table.error(&e))?;
        let made = (key_columns.to_vec(), lookup.clone());
        *self.lookup.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(Some(lookup))
    }
}

/// The options of Bahir's newer tables, where -1 is no cache.
fn bahir(cx: &TableContext, settings: LookupSettings) -> LookupSettings {
    let count = |name: &str| cx.options.int(name).filter(|n| *n > 0);
    let Some(rows) = count("lookup.cache.max-rows") else { return settings };
    if !matches!(settings.cache, LookupCache::None) || cx.options.is_set("lookup.cache") {
        return settings;
    }
    let ttl = count("lookup.cache.ttl-millis").and_then(|n| u64::try_from(n).ok()).map(Duration::from_millis);
    let cache = LookupCache::Lru(LruSpec {
        max_keys: usize::try_from(rows).unwrap_or(usize::MAX),
        expire_after_write: ttl,
        expire_after_access: None,
        cache_missing: true,
    });
    LookupSettings { cache, ..settings }
}

#[async_trait]
impl LookupSource for KuduLookup {
    fn settings(&self) -> LookupSettings {
        self.settings.clone()
    }

    async fn probe(&self) -> Result<()> {
        self.table.look_at().await.map(|_| ())
    }

    async fn load_all(&self) -> Result<Snapshot> {
        let opened = self.table.look_at().await?;
        let mut snapshot = Snapshot::default();
        let Some(scan) = self.table.scan(&opened)? else { return Ok(snapshot) };
        let mut scan = scan.concurrency(LOAD_CONCURRENCY).build().map_err(|e| self.table.error(&e))?;
        while let Some(batch) = scan.next().await {
            self.table.reading.add(&batch.map_err(|e| self.table.error(&e))?, &mut snapshot)?;
        }
        Ok(snapshot)
    }

    async fn lookup(&self, key_columns: &[String], keys: &RecordBatch) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        let Some(lookup) = self.by(key_columns).await? else { return Ok(snapshot) };
        let opened = self.table.opened().await?;
        let types: Vec<_> = key_columns
            .iter()
            .filter_map(|name| self.table.reading.schema.index_of(name))
            .map(|at| opened.table.schema().columns()[opened.places[at]].data_type)
            .collect();
        let mut wanted: Vec<Vec<Value>> = Vec::with_capacity(keys.num_rows());
        for row in 0..keys.num_rows() {
            let key = keys.columns().iter().zip(&types).map(|(c, t)| to_kudu(c, row, *t, self.table.reading.zone));
            // A key that Kudu cannot hold has no row.
            wanted.extend(key.collect::<Result<Vec<_>, _>>().ok());
        }
        // With a limit, each key has its own rows.
        let groups: Vec<Vec<Vec<Value>>> = match self.table.limit {
            None => vec![wanted],
            Some(_) => wanted.into_iter().map(|k| vec![k]).collect(),
        };
        for group in groups {
            let mut left = self.table.limit.unwrap_or(u64::MAX);
            for batch in lookup.get(group).await.map_err(|e| self.table.error(&e))? {
                let rows = (batch.num_rows() as u64).min(left);
                left -= rows;
                self.table.reading.add(&batch.slice(0, rows as usize), &mut snapshot)?;
            }
        }
        Ok(snapshot)
    }
}
