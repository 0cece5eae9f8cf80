//! Answers to single keys, kept for a while: least recently used first out, each key with all its rows.

use super::snapshot::{Key, Snapshot};
use crate::connectors::api::LruSpec;
use crate::error::Result;
use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;
use hashlink::LruCache;
use std::sync::Arc;
use std::time::Instant;

/// Rows that no key needs any more may be kept alive by their neighbours up to this many, or as many as are needed.
const GARBAGE_ROWS_MAX: usize = 8192;

/// The rows of one key: some of a batch that other keys share.
#[derive(Clone)]
pub struct KeyRows {
    pub batch: Arc<RecordBatch>,
    pub rows: Box<[u32]>,
}

struct Entry {
    found: KeyRows,
    written: Instant,
    accessed: Instant,
}

pub struct Cache {
    spec: LruSpec,
    entries: LruCache<Key, Entry>,
    /// Rows of all entries, and of the batches that they keep alive (as far as they came since the last compaction).
    live_rows: usize,
    held_rows: usize,
}

impl Cache {
    pub fn new(spec: LruSpec) -> Self {
        Self { entries: LruCache::new_unbounded(), spec, live_rows: 0, held_rows: 0 }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.len()
    }

    /// The rows of the key if it is here and not too old; no rows: that there are none is what is known.
    pub fn get(&mut self, key: &[u8], now: Instant) -> Option<KeyRows> {
        let entry = self.entries.get_mut(key)?;
        let older = |since: Instant, limit: Option<std::time::Duration>| {
            limit.is_some_and(|l| now.saturating_duration_since(since) >= l)
        };
        if older(entry.written, self.spec.expire_after_write) || older(entry.accessed, self.spec.expire_after_access) {
            self.remove(key);
            return None;
        }
        entry.accessed = now;
        Some(entry.found.clone())
    }

    fn remove(&mut self, key: &[u8]) {
        if let Some(old) = self.entries.remove(key) {
            self.live_rows -= old.found.rows.len();
        }
    }

    /// Keeps what an answer says of these keys.
    pub fn insert<'a>(&mut self, answer: &Snapshot, keys: impl Iterator<Item = &'a Key>, now: Instant) -> Result<()> {
        let batch = Arc::new(answer.rows.clone());
        self.held_rows += batch.num_rows();
        for key in keys {
            let rows: Box<[u32]> = answer.matches(key).into();
            if rows.is_empty() && !self.spec.cache_missing {
                continue;
            }
            self.remove(key);
            self.live_rows += rows.len();
            let found = KeyRows { batch: batch.clone(), rows };
            self.entries.insert(key.clone(), Entry { found, written: now, accessed: now });
        }
        while self.entries.len() > self.spec.max_keys {
            if let Some((_, old)) = self.entries.remove_lru() {
                self.live_rows -= old.found.rows.len();
            }
        }
        if self.held_rows > 2 * self.live_rows + GARBAGE_ROWS_MAX {
            self.compact()?;
        }
        Ok(())
    }

    /// Moves all rows into one batch, so that those of removed keys go.
    fn compact(&mut self) -> Result<()> {
        let all: Vec<KeyRows> = self.entries.iter().map(|(_, e)| e.found.clone()).collect();
        let rows = match gather(&all)? {
            Some(rows) => Arc::new(rows),
            None => {
                self.held_rows = 0;
                return Ok(());
            }
        };
        let mut next = 0;
        for (_, entry) in self.entries.iter_mut() {
            let len = entry.found.rows.len() as u32;
            entry.found = KeyRows { batch: rows.clone(), rows: (next..next + len).collect() };
            next += len;
        }
        self.held_rows = rows.num_rows();
        Ok(())
    }
}

/// The rows of all keys one after the other, as one batch; None where there is no key at all.
pub fn gather(keys: &[KeyRows]) -> Result<Option<RecordBatch>> {
    let mut batches: Vec<&RecordBatch> = Vec::new();
    let mut places: std::collections::HashMap<*const RecordBatch, usize> = std::collections::HashMap::new();
    let mut picked = Vec::with_capacity(keys.len());
    for key in keys {
        let place = *places.entry(Arc::as_ptr(&key.batch)).or_insert_with(|| {
            batches.push(&key.batch);
            batches.len() - 1
        });
        picked.extend(key.rows.iter().map(|row| (place, *row as usize)));
    }
    if batches.is_empty() {
        return Ok(None);
    }
    Ok(Some(interleave_record_batch(&batches, &picked)?))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{converter, encode};
    use super::*;
    use arrow::array::{ArrayRef, AsArray, Int32Array};
    use arrow::datatypes::Int32Type;
    use std::time::Duration;

    fn spec(max_keys: usize) -> LruSpec {
        LruSpec { max_keys, expire_after_write: None, expire_after_access: None, cache_missing: true }
    }

    fn answer(rows: &[(i32, i32)]) -> Snapshot {
        let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.0)));
        let values: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.1)));
        let batch = RecordBatch::try_from_iter([("k", keys.clone()), ("v", values)]).unwrap();
        Snapshot::build(batch, &[keys]).unwrap()
    }

    fn key(k: i32) -> Key {
        let keys: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![k]))];
        encode(&converter(&keys).unwrap(), &keys).unwrap().remove(0).unwrap()
    }

    fn values(cache: &mut Cache, k: i32, now: Instant) -> Option<Vec<i32>> {
        let found = cache.get(&key(k), now)?;
        let column = found.batch.column(1).as_primitive::<Int32Type>().clone();
        Some(found.rows.iter().map(|r| column.value(*r as usize)).collect())
    }

    #[test]
    fn a_key_has_all_its_rows_and_a_missing_one_none() {
        let now = Instant::now();
        let mut cache = Cache::new(spec(10));
        cache.insert(&answer(&[(1, 10), (2, 20), (1, 11)]), [key(1), key(2), key(3)].iter(), now).unwrap();
        assert_eq!(values(&mut cache, 1, now), Some(vec![10, 11]));
        assert_eq!(values(&mut cache, 3, now), Some(vec![]));
        assert_eq!(values(&mut cache, 4, now), None);
        let mut cache = Cache::new(LruSpec { cache_missing: false, ..spec(10) });
        cache.insert(&answer(&[(1, 10)]), [key(1), key(3)].iter(), now).unwrap();
        assert_eq!(values(&mut cache, 3, now), None);
    }

    #[test]
    fn the_key_that_was_not_asked_for_longest_goes_first() {
        let now = Instant::now();
        let mut cache = Cache::new(spec(2));
        cache.insert(&answer(&[(1, 10), (2, 20)]), [key(1), key(2)].iter(), now).unwrap();
        values(&mut cache, 1, now);
        cache.insert(&answer(&[(3, 30)]), [key(3)].iter(), now).unwrap();
        assert_eq!((cache.len(), values(&mut cache, 2, now)), (2, None));
        assert_eq!(values(&mut cache, 1, now), Some(vec![10]));
    }

    #[test]
    fn keys_expire_by_their_age_and_by_their_last_use() {
        let now = Instant::now();
        let at = |s: u64| now + Duration::from_secs(s);
        let mut cache = Cache::new(LruSpec { expire_after_write: Some(Duration::from_secs(10)), ..spec(10) });
        cache.insert(&answer(&[(1, 10)]), [key(1)].iter(), now).unwrap();
        assert!(values(&mut cache, 1, at(9)).is_some());
        assert_eq!(values(&mut cache, 1, at(10)), None);
        let mut cache = Cache::new(LruSpec { expire_after_access: Some(Duration::from_secs(10)), ..spec(10) });
        cache.insert(&answer(&[(1, 10)]), [key(1)].iter(), now).unwrap();
        assert!(values(&mut cache, 1, at(9)).is_some());
        assert!(values(&mut cache, 1, at(18)).is_some());
        assert_eq!(values(&mut cache, 1, at(28)), None);
    }

    #[test]
    fn rows_of_removed_keys_do_not_stay() {
        let now = Instant::now();
        let mut cache = Cache::new(spec(100));
        for round in 0..200 {
            let rows: Vec<(i32, i32)> = (0..1000).map(|i| (round * 1000 + i, i)).collect();
            let keys: Vec<Key> = rows.iter().map(|r| key(r.0)).collect();
            cache.insert(&answer(&rows), keys.iter(), now).unwrap();
            assert!(cache.held_rows <= 2 * cache.live_rows + GARBAGE_ROWS_MAX + 1000);
        }
        assert_eq!((cache.len(), cache.live_rows), (100, 100));
        assert_eq!(values(&mut cache, 199_999, now), Some(vec![999]));
    }
}
