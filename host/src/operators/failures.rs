//! What happens to a row that cannot be processed: dead letter, failure of the job, NULL or a counted drop.

use crate::connectors::api::{DeadLetter, DeadLetterOutput};
use crate::data::{FailurePolicy, Origin, RowError, RowOrigin};
use crate::error::{Error, Result};
use crate::files::append_lines;
use crate::metrics::OperatorMetrics;
use base64::Engine as _;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Without an output for dead letters, this many are printed.
const PRINTED_MAX: u64 = 5;
/// A dead letter holds at most this much of its record; `message` then says how long it was.
const RAW_BYTES_MAX: usize = 1 << 20;

/// Where dead letters go.
pub enum DeadLetters {
    /// Counted, the first few printed on stderr.
    Printed,
    File(Mutex<BufWriter<File>>),
    Output(Mutex<Box<dyn DeadLetterOutput>>),
}

impl DeadLetters {
    pub fn to_output(output: Box<dyn DeadLetterOutput>) -> Self {
        Self::Output(Mutex::new(output))
    }

    /// `append`: the job goes on from a checkpoint, and so does the file.
    pub fn to_file(path: &Path, append: bool) -> Result<Self> {
        let opened = if append { append_lines(path) } else { File::create(path) };
        let file =
            opened.map_err(|e| Error::external(format!("dead letters: cannot write {}: {e}", path.display())))?;
        Ok(Self::File(Mutex::new(BufWriter::new(file))))
    }
}

/// The failure policy of a table as one stage of the job applies it.
#[derive(Debug, Clone)]
pub struct StagePolicy {
    pub table: Arc<str>,
    pub policy: FailurePolicy,
    /// More refused rows than this fail the job; None: no limit.
    pub limit: Option<u64>,
    /// Shared by all stages that refuse rows of this table.
    refused: Arc<AtomicU64>,
}

impl StagePolicy {
    pub fn new(table: impl Into<Arc<str>>, policy: FailurePolicy, limit: Option<u64>) -> Self {
        Self { table: table.into(), policy, limit, refused: Arc::default() }
    }

    /// Another policy for the same table: the count of refused rows is shared.
    pub fn with_policy(&self, policy: FailurePolicy) -> Self {
        Self { policy, ..self.clone() }
    }
}

/// What becomes of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on, with NULL where the failure was.
    Keep,
    Drop,
}

/// One per job; applies policies and writes dead letters.
pub struct FailureHandler {
    job: Arc<str>,
    output: DeadLetters,
    printed: AtomicU64,
}

impl FailureHandler {
    pub fn new(job: impl Into<Arc<str>>, output: DeadLetters) -> Self {
        Self { job: job.into(), output, printed: AtomicU64::new(0) }
    }

    /// Decides about one refused row and counts it. An `Err` ends the job.
    pub fn refuse(
        &self,
        stage: &StagePolicy,
        error: &RowError,
        origin: RowOrigin,
        metrics: &OperatorMetrics,
    ) -> Result<Verdict> {
        let policy = error.policy.unwrap_or(stage.policy);
        match policy {
            FailurePolicy::Fail => return Err(failure(stage, error, &origin)),
            FailurePolicy::Null => {
                metrics.nulled.add(1);
                return Ok(Verdict::Keep);
            }
            FailurePolicy::Skip => metrics.skipped.add(1),
            FailurePolicy::DeadLetter => {
                metrics.dead.add(1);
                self.write(stage, error, &origin)?;
            }
        }
        let refused = stage.refused.fetch_add(1, Relaxed) + 1;
        match stage.limit {
            Some(0) => Err(Error::data(format!("table {}: {}", stage.table, describe(error, &origin))).with_hint(
                "no row may be refused; 'errorLimit' ('on-error.limit') of the table allows some, -1 any number",
            )),
            Some(limit) if refused > limit => Err(Error::data(format!(
                "table {}: more than {limit} rows were refused; the last one: {}",
                stage.table,
                describe(error, &origin)
            ))
            .with_hint("the limit is the table's 'errorLimit' or 'on-error.limit'")),
            _ => Ok(Verdict::Drop),
        }
    }

    /// Applies [`Self::refuse`] to the failed rows of a batch; returns the rows to drop, ascending.
    pub fn refuse_all(
        &self,
        stage: &StagePolicy,
        errors: &[RowError],
        origin: &Origin,
        metrics: &OperatorMetrics,
    ) -> Result<Vec<u32>> {
        let mut dropped: Vec<u32> = Vec::new();
        let mut by_row: Vec<&RowError> = errors.iter().collect();
        by_row.sort_by_key(|e| e.row);
        for e in by_row {
            // Several columns of a row may fail: once it is dropped, it is counted once.
            if dropped.last() == Some(&e.row) {
                continue;
            }
            if self.refuse(stage, e, origin.of_row(e.row as usize), metrics)? == Verdict::Drop {
                dropped.push(e.row);
            }
        }
        Ok(dropped)
    }

    fn write(&self, stage: &StagePolicy, error: &RowError, origin: &RowOrigin) -> Result<()> {
        match &self.output {
            DeadLetters::Printed => {
                let n = self.printed.fetch_add(1, Relaxed);
                if n < PRINTED_MAX {
                    tracing::warn!("dead letter: table {}: {}", stage.table, describe(error, origin));
                } else if n == PRINTED_MAX {
                    tracing::warn!("more dead letters are counted only; --dead-letters PATH keeps them");
                }
                Ok(())
            }
            DeadLetters::Output(output) => {
                let table = if origin.table.is_empty() { &stage.table } else { &origin.table };
                let letter = DeadLetter { job: &self.job, table, origin, error };
                output.lock().unwrap_or_else(PoisonError::into_inner).write(&letter)
            }
            DeadLetters::File(file) => {
                let mut line = serde_json::to_vec(&self.envelope(stage, error, origin))
                    .map_err(|e| Error::internal(format!("dead letter: {e}")))?;
                line.push(b'\n');
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(&line).map_err(|e| Error::external(format!("dead letters: {e}")))
            }
        }
    }

    fn envelope(&self, stage: &StagePolicy, error: &RowError, origin: &RowOrigin) -> serde_json::Value {
        let table = if origin.table.is_empty() { &stage.table } else { &origin.table };
        let raw = origin
            .raw
            .as_ref()
            .map(|r| base64::engine::general_purpose::STANDARD.encode(&r[..r.len().min(RAW_BYTES_MAX)]));
        let mut place = serde_json::Map::new();
        place.insert("split".into(), json!(&*origin.split));
        if !origin.unit.is_empty() {
            place.insert(origin.unit.into(), json!(origin.position));
        }
        json!({
            "job": &*self.job,
            "table": &**table,
            "origin": place,
            "reason": error.reason.as_str(),
            "column": error.column,
            "function": error.function,
            "message": error.message,
            "raw": raw,
        })
    }

    /// Everything written so far is durable when this returns.
    pub fn sync(&self) -> Result<()> {
        self.flush()?;
        let DeadLetters::File(file) = &self.output else { return Ok(()) };
        match file.lock().unwrap_or_else(PoisonError::into_inner).get_ref().sync_data() {
            // A pipe or a terminal.
            Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
            other => other.map_err(|e| Error::external(format!("dead letters: {e}"))),
        }
    }

    /// Everything written so far is in the file when this returns.
    pub fn flush(&self) -> Result<()> {
        match &self.output {
            DeadLetters::Printed => Ok(()),
            DeadLetters::Output(output) => output.lock().unwrap_or_else(PoisonError::into_inner).flush(),
            DeadLetters::File(file) => file
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .flush()
                .map_err(|e| Error::external(format!("dead letters: {e}"))),
        }
    }
}

/// `flights.csv line 12: column dep_delay: 'x' is not an INT`
fn describe(error: &RowError, origin: &RowOrigin) -> String {
    let mut s = String::new();
    if !origin.split.is_empty() {
        s += &format!("{origin}: ");
    }
    if let Some(f) = &error.function {
        s += &format!("function {f}: ");
    }
    if let Some(c) = &error.column {
        s += &format!("column {c}: ");
    }
    s + &error.message
}

fn failure(stage: &StagePolicy, error: &RowError, origin: &RowOrigin) -> Error {
    Error::data(format!("table {}: {}", stage.table, describe(error, origin)))
        .with_hint("to go on without such records set 'on-error' = 'dead-letter' or give --dead-letters PATH")
}
