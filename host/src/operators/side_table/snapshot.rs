//! Rows of a side table with an index over their keys.

use crate::error::Result;
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::row::{RowConverter, SortField};
use std::collections::HashMap;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// A key's bytes: equal exactly where all its components are.
pub type Key = Box<[u8]>;

/// Rows of the table and, by key, which of them match.
pub struct Snapshot {
    pub rows: RecordBatch,
    /// Encoded key -> range in `matches`.
    index: HashMap<Key, (u32, u32), Xxh3DefaultBuilder>,
    matches: Vec<u32>,
}

impl Snapshot {
    pub fn build(rows: RecordBatch, keys: &[ArrayRef]) -> Result<Self> {
        let encoded = encode(&converter(keys)?, keys)?;
        // Group ids in order of first appearance, then a counting sort: two flat vectors instead of one per key.
        let mut groups: HashMap<Key, u32, Xxh3DefaultBuilder> = HashMap::default();
        let mut sizes: Vec<u32> = Vec::new();
        let mut group_of: Vec<Option<u32>> = Vec::with_capacity(rows.num_rows());
        for key in &encoded {
            group_of.push(key.as_deref().map(|k| match groups.get(k) {
                Some(&g) => {
                    sizes[g as usize] += 1;
                    g
                }
                None => {
                    groups.insert(k.into(), sizes.len() as u32);
                    sizes.push(1);
                    sizes.len() as u32 - 1
                }
            }));
        }
        let mut starts: Vec<u32> = Vec::with_capacity(sizes.len());
        let mut total = 0;
        for s in &sizes {
            starts.push(total);
            total += s;
        }
        let mut matches = vec![0; total as usize];
        let mut next = starts.clone();
        for (row, group) in group_of.iter().enumerate() {
            if let Some(g) = group {
                matches[next[*g as usize] as usize] = row as u32;
                next[*g as usize] += 1;
            }
        }
        let index = groups.into_iter().map(|(k, g)| (k, (starts[g as usize], sizes[g as usize]))).collect();
        Ok(Self { rows, index, matches })
    }

    /// Of rows whose keys are known: each key with the run of rows that it has.
    pub fn of_runs(rows: RecordBatch, runs: Vec<(Key, u32)>) -> Self {
        let mut start = 0;
        let index = runs.into_iter().map(|(key, len)| {
            let run = (start, len);
            start += len;
            (key, run)
        });
        Self { index: index.collect(), matches: (0..rows.num_rows() as u32).collect(), rows }
    }

    /// Indexes of the rows with this key.
    pub fn matches(&self, key: &[u8]) -> &[u32] {
        match self.index.get(key) {
            Some(&(start, len)) => &self.matches[start as usize..(start + len) as usize],
            None => &[],
        }
    }
}

pub fn converter(keys: &[ArrayRef]) -> Result<RowConverter> {
    Ok(RowConverter::new(keys.iter().map(|k| SortField::new(k.data_type().clone())).collect())?)
}

/// The byte form of each key; None where a component is NULL.
pub fn encode(converter: &RowConverter, keys: &[ArrayRef]) -> Result<Vec<Option<Key>>> {
    let rows = converter.convert_columns(keys)?;
    Ok((0..rows.num_rows()).map(|i| keys.iter().all(|k| k.is_valid(i)).then(|| rows.row(i).as_ref().into())).collect())
}
