//! Lookup join against a snapshot of the whole side table (cache ALL). Keys are typed tuples; NULL never matches.

use super::calc::without_rows;
use super::chain::{Collector, Operator};
use super::failures::{FailureHandler, StagePolicy};
use crate::connectors::api::LookupSource;
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::expr::program::{Program, ProgramPlan, StepResult};
use crate::metrics::OperatorMetrics;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, SortField};
use async_trait::async_trait;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

/// Candidate pairs that are built at once; bounds memory when one key has very many rows.
const PAIRS_MAX: usize = 8192;

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
}

#[derive(Clone)]
struct Loaded {
    snapshot: Arc<Snapshot>,
    at: Instant,
}

/// The rows of the table and, by key, which of them match.
struct Snapshot {
    rows: RecordBatch,
    /// Encoded key -> range in `matches`.
    index: HashMap<Box<[u8]>, (u32, u32), Xxh3DefaultBuilder>,
    matches: Vec<u32>,
}

impl SideTable {
    #[expect(clippy::too_many_arguments, reason = "plain data of one declaration")]
    pub fn new(
        name: Arc<str>,
        source: Arc<dyn LookupSource>,
        schema: SchemaRef,
        keys: ProgramPlan,
        bytes_max: usize,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Self {
        let snapshot = tokio::sync::Mutex::new(None);
        Self { name, source, schema, keys, bytes_max, stage, failures, metrics, snapshot }
    }

    /// The current snapshot; loads it first, and anew when its interval has passed. A failed reload keeps the old one.
    async fn current(&self) -> Result<Arc<Snapshot>> {
        let mut slot = self.snapshot.lock().await;
        let due = match &*slot {
            None => true,
            Some(l) => self.source.reload_interval().is_some_and(|i| l.at.elapsed() >= i),
        };
        if due {
            match (self.load().await, &mut *slot) {
                (Ok(s), _) => *slot = Some(Loaded { snapshot: Arc::new(s), at: Instant::now() }),
                (Err(e), None) => return Err(e),
                (Err(e), Some(old)) => {
                    tracing::warn!("side table {}: reload failed, the rows loaded before stay in use: {e}", self.name);
                    old.at = Instant::now();
                }
            }
        }
        match &*slot {
            Some(l) => Ok(l.snapshot.clone()),
            None => Err(Error::internal(format!("side table {} not loaded", self.name))),
        }
    }

    async fn load(&self) -> Result<Snapshot> {
        let loaded = self.source.load_all().await.map_err(|e| e.context(format!("side table {}", self.name)))?;
        for f in loaded.failed {
            self.metrics.rows_in.add(1);
            self.failures.refuse(&self.stage, &f.error, f.origin, &self.metrics)?;
        }
        let bytes: usize = loaded.batches.iter().map(|b| b.get_array_memory_size()).sum();
        if bytes > self.bytes_max {
            return Err(Error::external(format!(
                "side table {}: its rows take {bytes} bytes, more than the limit of {}",
                self.name, self.bytes_max
            ))
            .with_hint("raise 'lookup.cache.max-bytes' ('cacheMaxBytes') of the table or join fewer of its columns"));
        }
        let rows = concat_batches(&self.schema, &loaded.batches)?;
        self.metrics.rows_in.add(rows.num_rows() as u64);
        self.metrics.decoded.add(rows.num_rows() as u64);
        self.metrics.rows_out.add(rows.num_rows() as u64);
        let key_columns = project(&mut self.keys.instantiate()?, &rows)?.0;
        Snapshot::build(rows, &key_columns)
    }
}

impl Snapshot {
    fn build(rows: RecordBatch, keys: &[ArrayRef]) -> Result<Self> {
        let encoded = encode(&converter(keys)?, keys)?;
        // Group ids in order of first appearance, then a counting sort: two flat vectors instead of one per key.
        let mut groups: HashMap<Box<[u8]>, u32, Xxh3DefaultBuilder> = HashMap::default();
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

    fn matches(&self, key: &[u8]) -> &[u32] {
        match self.index.get(key) {
            Some(&(start, len)) => &self.matches[start as usize..(start + len) as usize],
            None => &[],
        }
    }
}

fn converter(keys: &[ArrayRef]) -> Result<RowConverter> {
    Ok(RowConverter::new(keys.iter().map(|k| SortField::new(k.data_type().clone())).collect())?)
}

/// The byte form of each key; None where a component is NULL.
fn encode(converter: &RowConverter, keys: &[ArrayRef]) -> Result<Vec<Option<Box<[u8]>>>> {
    let rows = converter.convert_columns(keys)?;
    Ok((0..rows.num_rows()).map(|i| keys.iter().all(|k| k.is_valid(i)).then(|| rows.row(i).as_ref().into())).collect())
}

/// Runs a program that only projects; gives its columns and the rows that failed.
fn project(program: &mut Program, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Vec<crate::data::RowError>)> {
    match program.run(0, batch)? {
        StepResult::Project { columns, errors } => Ok((columns.columns().to_vec(), errors)),
        StepResult::Filter { .. } => Err(Error::internal("key program has a filter")),
    }
}

/// What a lookup join is, for every subtask.
#[derive(Clone)]
pub struct LookupJoinSpec {
    pub side: Arc<SideTable>,
    /// Projects the keys of the stream, cast to the types that both sides are compared in.
    pub keys: ProgramPlan,
    /// Over the joined columns.
    pub residual: Option<ProgramPlan>,
    /// LEFT JOIN: rows without a match go on with NULLs.
    pub left_outer: bool,
    /// Columns of the stream, then of the side table.
    pub output: SchemaRef,
}

pub struct LookupJoinOperator {
    name: String,
    spec: LookupJoinSpec,
    keys: Program,
    residual: Option<Program>,
    stage: StagePolicy,
    failures: Arc<FailureHandler>,
    metrics: Arc<OperatorMetrics>,
}

impl LookupJoinOperator {
    pub fn new(
        name: impl Into<String>,
        spec: LookupJoinSpec,
        stage: StagePolicy,
        failures: Arc<FailureHandler>,
        metrics: Arc<OperatorMetrics>,
    ) -> Result<Self> {
        let keys = spec.keys.instantiate()?;
        let residual = spec.residual.as_ref().map(ProgramPlan::instantiate).transpose()?;
        Ok(Self { name: name.into(), spec, keys, residual, stage, failures, metrics })
    }

    /// Columns of the stream rows beside those of the side rows; None on the right gives NULLs.
    fn join(&self, left: &RecordBatch, right: &RecordBatch, pairs: &Pairs) -> Result<RecordBatch> {
        let l = UInt32Array::from(pairs.left.clone());
        let r = UInt32Array::from(pairs.right.clone());
        let mut columns = Vec::with_capacity(left.num_columns() + right.num_columns());
        for c in left.columns() {
            columns.push(take(c, &l, None)?);
        }
        for c in right.columns() {
            columns.push(take(c, &r, None)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(pairs.left.len()));
        Ok(RecordBatch::try_new_with_options(self.spec.output.clone(), columns, &options)?)
    }

    /// Turns what was gathered into output: residual, then padding of rows that matched nothing.
    async fn flush(&mut self, batch: &Batch, side: &Snapshot, g: &mut Gathered, out: &mut dyn Collector) -> Result<()> {
        let keep = self.residual_mask(batch, side, g)?;
        let mut result = Pairs::default();
        let mut pair = 0;
        for entry in g.entries.drain(..) {
            match entry {
                Entry::Pair(left, right) => {
                    if keep.as_ref().is_none_or(|k| k[pair]) {
                        g.matched = true;
                        result.push(left, Some(right));
                    }
                    pair += 1;
                }
                Entry::EndOfRow(left) => {
                    if !g.matched && !g.refused.contains(&left) {
                        if self.spec.left_outer {
                            result.push(left, None);
                        } else {
                            self.metrics.no_match.add(1);
                        }
                    }
                    g.matched = false;
                }
            }
        }
        if result.left.is_empty() {
            return Ok(());
        }
        let mut joined = batch.take(&result.left)?;
        joined.columns = self.join(&batch.columns, &side.rows, &result)?;
        self.metrics.rows_out.add(joined.num_rows() as u64);
        out.emit(joined).await
    }

    /// Which of the gathered pairs pass the residual; None without one.
    fn residual_mask(&mut self, batch: &Batch, side: &Snapshot, g: &mut Gathered) -> Result<Option<Vec<bool>>> {
        let Some(mut residual) = self.residual.take() else { return Ok(None) };
        let mut pairs = Pairs::default();
        for e in &g.entries {
            if let Entry::Pair(l, r) = e {
                pairs.push(*l, Some(*r));
            }
        }
        let result = self.join(&batch.columns, &side.rows, &pairs).and_then(|candidates| residual.run(0, &candidates));
        self.residual = Some(residual);
        let StepResult::Filter { keep, errors } = result? else {
            return Err(Error::internal("residual is not a filter"));
        };
        let mut mask: Vec<bool> = (0..keep.len()).map(|i| keep.is_valid(i) && keep.value(i)).collect();
        let mut errors = errors;
        for e in &mut errors {
            e.row = pairs.left[e.row as usize];
        }
        g.refused.extend(self.failures.refuse_all(&self.stage, &errors, &batch.origin, &self.metrics)?);
        for (i, left) in pairs.left.iter().enumerate() {
            mask[i] &= !g.refused.contains(left);
        }
        Ok(Some(mask))
    }
}

#[derive(Default)]
struct Pairs {
    left: Vec<u32>,
    right: Vec<Option<u32>>,
}

impl Pairs {
    fn push(&mut self, left: u32, right: Option<u32>) {
        self.left.push(left);
        self.right.push(right);
    }
}

enum Entry {
    Pair(u32, u32),
    /// All pairs of this stream row were gathered.
    EndOfRow(u32),
}

#[derive(Default)]
struct Gathered {
    entries: Vec<Entry>,
    /// The row at hand has matched already (its pairs may be spread over several flushes).
    matched: bool,
    refused: std::collections::HashSet<u32>,
}

#[async_trait(?Send)]
impl Operator for LookupJoinOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&mut self) -> Result<()> {
        self.spec.side.current().await.map(|_| ())
    }

    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        let side = self.spec.side.current().await?;
        let (mut keys, errors) = project(&mut self.keys, &batch.columns)?;
        let dropped = self.failures.refuse_all(&self.stage, &errors, &batch.origin, &self.metrics)?;
        let batch = without_rows(&batch, &dropped)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if !dropped.is_empty() {
            keys = project(&mut self.keys, &batch.columns)?.0;
        }
        let encoded = encode(&converter(&keys)?, &keys)?;
        let mut g = Gathered::default();
        for (row, key) in encoded.iter().enumerate() {
            let row = row as u32;
            for &m in key.as_deref().map_or(&[][..], |k| side.matches(k)) {
                g.entries.push(Entry::Pair(row, m));
                if g.entries.len() >= PAIRS_MAX {
                    self.flush(&batch, &side, &mut g, out).await?;
                }
            }
            g.entries.push(Entry::EndOfRow(row));
        }
        self.flush(&batch, &side, &mut g, out).await
    }
}
