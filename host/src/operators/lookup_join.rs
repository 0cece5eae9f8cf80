//! Lookup join with a side table. Keys are typed tuples; NULL never matches.

use super::calc::without_rows;
use super::chain::{Collector, Operator, OperatorSnapshot};
use super::failures::{FailureHandler, StagePolicy};
use super::in_flight::{InFlight, Waiting};
use super::side_table::{Answer, Asked, Key, Keys, Known, Rows, SideTable, Snapshot, converter, encode};
use crate::data::{Batch, Epoch, FailurePolicy, Reason, RowError};
use crate::error::{Error, Result};
use crate::expr::program::{Program, ProgramPlan, StepResult};
use crate::metrics::OperatorMetrics;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use std::collections::HashSet;
use std::sync::Arc;

/// Candidate pairs that are built at once; bounds memory when one key has very many rows.
const PAIRS_MAX: usize = 8192;

/// Runs a program that only projects; gives its columns and the rows that failed.
pub(super) fn project(program: &mut Program, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Vec<RowError>)> {
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
    waiting: InFlight,
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
        let waiting = InFlight::default();
        Ok(Self { name: name.into(), spec, keys, residual, stage, failures, metrics, waiting })
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

    /// Joins the rows of the batch whose key passes `which`.
    async fn match_rows(
        &mut self,
        batch: &Batch,
        side: &Snapshot,
        encoded: &[Option<Key>],
        which: impl Fn(&Option<Key>) -> bool,
        out: &mut dyn Collector,
    ) -> Result<()> {
        let mut g = Gathered::default();
        for (row, key) in encoded.iter().enumerate().filter(|(_, key)| which(key)) {
            let row = row as u32;
            for &m in key.as_deref().map_or(&[][..], |k| side.matches(k)) {
                g.entries.push(Entry::Pair(row, m));
                if g.entries.len() >= PAIRS_MAX {
                    self.flush(batch, side, &mut g, out).await?;
                }
            }
            g.entries.push(Entry::EndOfRow(row));
        }
        self.flush(batch, side, &mut g, out).await
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
    refused: HashSet<u32>,
}

#[async_trait(?Send)]
impl Operator for LookupJoinOperator {
    fn name(&self) -> &str {
        &self.name
    }

    async fn open(&mut self) -> Result<()> {
        self.spec.side.open().await
    }

    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()> {
        self.metrics.rows_in.add(batch.num_rows() as u64);
        let (mut columns, errors) = project(&mut self.keys, &batch.columns)?;
        let dropped = self.failures.refuse_all(&self.stage, &errors, &batch.origin, &self.metrics)?;
        let batch = without_rows(&batch, &dropped)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if !dropped.is_empty() {
            columns = project(&mut self.keys, &batch.columns)?.0;
        }
        let keys = Keys { encoded: encode(&converter(&columns)?, &columns)?, columns };
        let side = self.spec.side.clone();
        match side.known(&keys).await? {
            Known::All(rows) if self.waiting.is_empty() || !side.is_ordered() => {
                self.match_rows(&batch, &rows, &keys.encoded, |_| true, out).await?;
            }
            // Those before it go first.
            Known::All(rows) => self.waiting.push(Waiting::new(batch, Arc::new(keys), None, Asked::done(rows))),
            Known::Some(known, missing) => {
                let keys = Arc::new(keys);
                let open = match side.is_ordered() {
                    true => None,
                    false => Some(self.match_known(&batch, &keys, &known, &missing, out).await?),
                };
                let known = if open.is_some() { vec![] } else { known };
                let asked = side.ask(keys.clone(), known, missing);
                self.waiting.push(Waiting::new(batch, keys, open, asked));
            }
        }
        self.emit_answered(out).await?;
        while self.waiting.is_full() {
            self.emit_next(out).await?;
        }
        Ok(())
    }

    async fn watermark(&mut self, _watermark: i64, out: &mut dyn Collector) -> Result<()> {
        self.emit_all(out).await
    }

    fn in_flight(&self) -> bool {
        !self.waiting.is_empty()
    }

    async fn answered(&mut self) {
        self.waiting.answered(self.spec.side.is_ordered()).await
    }

    async fn emit_answered(&mut self, out: &mut dyn Collector) -> Result<()> {
        while let Some(waiting) = self.waiting.take_done(self.spec.side.is_ordered()) {
            self.emit(waiting, out).await?;
        }
        Ok(())
    }

    async fn snapshot(&mut self, _epoch: Epoch, out: &mut dyn Collector) -> Result<OperatorSnapshot> {
        self.emit_all(out).await?;
        Ok(OperatorSnapshot { operator: self.name.clone(), ..OperatorSnapshot::default() })
    }
}

impl LookupJoinOperator {
    /// The rows whose keys are known go on; gives the keys that the others wait for.
    async fn match_known(
        &mut self,
        batch: &Batch,
        keys: &Keys,
        known: &Rows,
        missing: &[u32],
        out: &mut dyn Collector,
    ) -> Result<HashSet<Key>> {
        let open: HashSet<Key> = missing.iter().filter_map(|r| keys.encoded[*r as usize].clone()).collect();
        let rows = self.spec.side.assemble(known.clone())?;
        let goes_on = |key: &Option<Key>| key.as_ref().is_none_or(|k| !open.contains(k));
        self.match_rows(batch, &rows, &keys.encoded, goes_on, out).await?;
        Ok(open)
    }

    /// Waits for an answer (the oldest one, if rows leave in order), and lets its rows go on.
    async fn emit_next(&mut self, out: &mut dyn Collector) -> Result<()> {
        self.answered().await;
        self.emit_answered(out).await
    }

    async fn emit_all(&mut self, out: &mut dyn Collector) -> Result<()> {
        while !self.waiting.is_empty() {
            self.emit_next(out).await?;
        }
        Ok(())
    }

    async fn emit(&mut self, mut waiting: Waiting, out: &mut dyn Collector) -> Result<()> {
        let answer = waiting.asked.answer().await?;
        let (batch, encoded) = (&waiting.batch, &waiting.keys.encoded);
        self.refuse_unanswered(batch, encoded, &answer)?;
        let open = waiting.open.as_ref();
        let is_answered = |key: &Option<Key>| match key {
            Some(key) => open.is_none_or(|open| open.contains(key)) && !answer.unanswered.contains(key),
            // A row without a key matches nothing, which was known before.
            None => open.is_none(),
        };
        self.match_rows(batch, &answer.rows, encoded, is_answered, out).await
    }

    /// Rows that got no answer in time fail one by one: they are neither dropped nor taken for rows without a match.
    fn refuse_unanswered(&self, batch: &Batch, encoded: &[Option<Key>], answer: &Answer) -> Result<()> {
        if answer.unanswered.is_empty() {
            return Ok(());
        }
        let message = format!("side table {}: {}", self.spec.side.name, answer.why);
        let hint = "asyncTimeout or table.exec.async-lookup.timeout sets this limit";
        if self.stage.policy == FailurePolicy::Fail {
            // The outside is to blame, which may be well again after a restart.
            return Err(Error::external(message).retryable().with_hint(hint));
        }
        // There is no value to make NULL: a row padded with NULLs would say that there is no match.
        let stage = match self.stage.policy {
            FailurePolicy::Null => self.stage.with_policy(FailurePolicy::Skip),
            _ => self.stage.clone(),
        };
        let late =
            encoded.iter().enumerate().filter(|(_, k)| k.as_ref().is_some_and(|k| answer.unanswered.contains(k)));
        let errors: Vec<RowError> =
            late.map(|(row, _)| RowError::new(row as u32, Reason::Lookup, message.clone())).collect();
        self.failures.refuse_all(&stage, &errors, &batch.origin, &self.metrics).map(|_| ())
    }
}
