//! Runs a function over rows: batches of at most 1,024, cut by size too, and a fault traced down to its row. Shared
//! by all kinds; what they make of an answer is their [`Gather`].

use super::columns;
use super::instance::{Fault, PluginInstance, cut};
use super::limits::Limits;
use super::manifest::Function;
use super::module::ModuleCore;
use super::types::from_wire;
use crate::data::{Reason, RowError, RowKind};
use crate::error::{Error, Result};
use arrow::array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow::compute::{concat, nullif};
use arrow::datatypes::DataType;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wasmill_abi::{Check, Field, Frame, FramePlan, Schema, section, write_bundle};

/// Rows of one call.
const ROWS_PER_CALL: usize = 1024;
/// A call's frame is kept to this share of the guest's memory while it holds more than one row.
const MEMORY_SHARE: u64 = 8;
/// While a fault is traced, halves with several rows get this share of the CPU limit: that a half ran out of it is
/// only a hint where to look; a row alone always gets all of it.
const TRACING_SHARE: u32 = 8;
const MESSAGE_MAX: usize = 1000;

/// A function with its types and configuration, ready to be opened in any number of instances.
pub(super) struct Opening {
    core: Arc<ModuleCore>,
    function: String,
    /// As messages and row errors call the function.
    shown: String,
    limits: Limits,
    config: Vec<u8>,
    input: Schema,
    output: Schema,
    results: Vec<DataType>,
}

impl Opening {
    pub fn new(
        core: Arc<ModuleCore>,
        function: &str,
        shown: &str,
        limits: Limits,
        config: &[(String, String)],
        input: Schema,
        output: Schema,
    ) -> std::result::Result<Opening, String> {
        let results = output.fields().iter().map(|f| from_wire(&f.ty).to_arrow()).collect();
        let config = encode_config(config)?;
        Ok(Opening { core, function: function.into(), shown: shown.into(), limits, config, input, output, results })
    }

    /// A function of a table, once its schemas are known; opened and thrown away, so that what it refuses is known now.
    pub fn checked(
        core: Arc<ModuleCore>,
        function: &Function,
        limits: Limits,
        config: &[(String, String)],
        input: Vec<Field>,
        output: Vec<Field>,
    ) -> std::result::Result<Arc<Opening>, String> {
        let schema = |fields| Schema::new(fields).map_err(|e| e.to_string());
        let name = &function.name;
        let checked = || {
            let opening = Opening::new(core, name, name, limits, config, schema(input)?, schema(output)?)?;
            opening.open().map(|_| Arc::new(opening))
        };
        checked().map_err(|e: String| format!("{} {name}: {e}", function.kind.as_str()))
    }

    /// The exported name.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// A fresh instance with the function opened, and its handle.
    pub fn open(&self) -> std::result::Result<(PluginInstance, u32), String> {
        let mut instance = PluginInstance::start(&self.core, self.limits)?;
        let parts = [self.function.as_bytes(), &self.config, self.output.bytes(), self.input.bytes()];
        let handle = instance.open(&parts)?;
        Ok((instance, handle))
    }
}

/// Configuration as a bundle of names and values in turn.
pub(super) fn encode_config(config: &[(String, String)]) -> std::result::Result<Vec<u8>, String> {
    let parts: Vec<&[u8]> = config.iter().flat_map(|(k, v)| [k.as_bytes(), v.as_bytes()]).collect();
    write_bundle(&parts).map_err(|e| e.to_string())
}

/// The rows of one call of the operator.
pub(super) struct Rows<'a> {
    pub columns: &'a [ArrayRef],
    pub kinds: Option<&'a [RowKind]>,
    pub len: usize,
}

/// Runs rows through an instance, which it replaces when it breaks.
pub(super) struct RowRunner {
    opening: Arc<Opening>,
    running: Option<(PluginInstance, u32)>,
    plan: FramePlan,
    /// Time spent on calls that failed since one succeeded.
    wasted: Duration,
}

/// A plugin that fails at every row, slowly, would hold its job for hours: after this many times its CPU limit
/// without one good call the job ends.
const WASTED_LIMITS_MAX: u32 = 30;

/// What a kind makes of the answers to consecutive ranges of rows.
pub(super) trait Gather {
    /// Takes the answer to the rows `first..first + len`: all of it, or nothing and why. Rows that the plugin refused
    /// go to `errors`.
    fn answer(&mut self, opening: &Opening, payload: &[u8], rows: Asked, errors: &mut Vec<RowError>) -> Taken;
    /// The next row has no answer: it failed alone.
    fn failed(&mut self, opening: &Opening);
}

pub(super) type Taken = std::result::Result<(), String>;

/// The rows that an answer is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub first: usize,
    pub len: usize,
}

/// What came of a range of rows.
enum Attempt {
    Done,
    /// Not tried: the frame would be too large for comfort, and there is more than one row.
    TooLarge,
    Failed(Fault),
}

/// One column with a value for each row.
#[derive(Default)]
struct Parts {
    arrays: Vec<ArrayRef>,
}

impl RowRunner {
    pub fn new(opening: Arc<Opening>) -> Result<RowRunner> {
        let mut runner = RowRunner { opening, running: None, plan: FramePlan::default(), wasted: Duration::ZERO };
        runner.running()?;
        Ok(runner)
    }

    fn running(&mut self) -> Result<&mut (PluginInstance, u32)> {
        if self.running.is_none() {
            let fresh = self.opening.open();
            self.running =
                Some(fresh.map_err(|e| Error::user(format!("plugin function {}: {e}", self.opening.shown)))?);
        }
        self.running.as_mut().ok_or_else(|| Error::internal("no plugin instance"))
    }

    /// One value a row; rows that failed are NULL and in `errors`. An `Err` means that the plugin does not even start.
    pub fn run(&mut self, rows: &Rows, errors: &mut Vec<RowError>) -> Result<ArrayRef> {
        let mut parts = Parts::default();
        self.gather(rows, &mut parts, errors)?;
        let result = self.opening.results.first().ok_or_else(|| Error::internal("a plugin call without a result"))?;
        parts.joined(result)
    }

    /// As [`Self::run`], for kinds whose answers are other than one value a row.
    pub fn gather(&mut self, rows: &Rows, into: &mut dyn Gather, errors: &mut Vec<RowError>) -> Result<()> {
        for first in (0..rows.len).step_by(ROWS_PER_CALL) {
            let len = ROWS_PER_CALL.min(rows.len - first);
            self.range(rows, Asked { first, len }, false, into, errors)?;
        }
        Ok(())
    }

    /// Halves the range until the rows at fault stand alone; the recursion is at most log2(1,024) deep.
    fn range(
        &mut self,
        rows: &Rows,
        asked: Asked,
        tracing: bool,
        into: &mut dyn Gather,
        errors: &mut Vec<RowError>,
    ) -> Result<()> {
        let Asked { first, len } = asked;
        let traced = match self.attempt(rows, asked, tracing, into, errors)? {
            Attempt::Done => return Ok(()),
            Attempt::Failed(fault) if len == 1 => {
                errors.push(self.row_error(first as u32, &fault));
                into.failed(&self.opening);
                return Ok(());
            }
            Attempt::TooLarge => tracing,
            Attempt::Failed(_) => true,
        };
        let half = len / 2;
        self.range(rows, Asked { first, len: half }, traced, into, errors)?;
        self.range(rows, Asked { first: first + half, len: len - half }, traced, into, errors)
    }

    fn attempt(
        &mut self,
        rows: &Rows,
        asked: Asked,
        tracing: bool,
        into: &mut dyn Gather,
        errors: &mut Vec<RowError>,
    ) -> Result<Attempt> {
        let Asked { first, len } = asked;
        let opening = self.opening.clone();
        let sliced: Vec<ArrayRef>;
        let columns = if len == rows.len {
            rows.columns
        } else {
            sliced = rows.columns.iter().map(|c| c.slice(first, len)).collect();
            &sliced
        };
        let kinds = rows.kinds.map(|k| &k[first..first + len]);
        let size = match self.plan(columns, kinds, len) {
            Ok(size) if len > 1 && size as u64 > opening.limits.memory / MEMORY_SHARE => return Ok(Attempt::TooLarge),
            Ok(size) => size,
            Err(e) => return Ok(Attempt::Failed(Fault::Request(e))),
        };
        self.running()?;
        let Some((instance, handle)) = &mut self.running else { return Err(Error::internal("no plugin instance")) };
        let plan = &self.plan;
        let fill = |place: &mut [u8]| {
            let mut out = plan.start(place).map_err(|e| e.to_string())?;
            for (column, field) in columns.iter().zip(opening.input.fields()) {
                columns::fill(column, &field.ty, &mut out).map_err(|e| format!("argument {}: {e}", field.name))?;
            }
            if let Some(kinds) = kinds {
                out.buffer().iter_mut().zip(kinds).for_each(|(byte, kind)| *byte = *kind as u8);
            }
            Ok(())
        };
        let known = errors.len();
        let started = Instant::now();
        let read = |payload: &[u8]| into.answer(&opening, payload, asked, errors);
        let answer = instance.process(*handle, size, cpu_for(&opening.limits, len, tracing), fill, read);
        Ok(match answer {
            Ok(()) => {
                self.wasted = Duration::ZERO;
                Attempt::Done
            }
            Err(fault) => {
                errors.truncate(known);
                self.wasted += started.elapsed();
                if self.wasted > opening.limits.cpu * WASTED_LIMITS_MAX {
                    return Err(Error::data(format!(
                        "plugin function {}: {:.0} s went into calls that failed and none succeeded; the last: {}",
                        opening.shown,
                        self.wasted.as_secs_f64(),
                        cut(fault.message(), MESSAGE_MAX)
                    )));
                }
                if fault.breaks_instance() {
                    self.running = None;
                }
                Attempt::Failed(fault)
            }
        })
    }

    fn plan(
        &mut self,
        columns: &[ArrayRef],
        kinds: Option<&[RowKind]>,
        len: usize,
    ) -> std::result::Result<usize, String> {
        let input = &self.opening.input;
        self.plan.reset(len, input.fingerprint());
        for (column, field) in columns.iter().zip(input.fields()) {
            columns::plan(column, &field.ty, &mut self.plan);
        }
        if kinds.is_some() {
            self.plan.section(section::ROW_KIND, len);
        }
        self.plan.layout().map_err(|e| e.to_string())
    }

    fn row_error(&self, row: u32, fault: &Fault) -> RowError {
        let reason = if fault.breaks_instance() { Reason::PluginTrap } else { Reason::Plugin };
        RowError::new(row, reason, cut(fault.message(), MESSAGE_MAX)).function(&self.opening.shown)
    }
}

fn cpu_for(limits: &Limits, rows: usize, tracing: bool) -> Duration {
    if tracing && rows > 1 { limits.cpu / TRACING_SHARE } else { limits.cpu }
}

impl Opening {
    /// The columns of an answer, everything checked.
    pub fn columns(&self, frame: &Frame) -> std::result::Result<Vec<ArrayRef>, String> {
        let columns = frame.columns(&self.output, Check::Full).map_err(|e| e.to_string())?;
        columns.iter().zip(&self.results).map(|(column, ty)| columns::read(column, ty)).collect()
    }

    /// An error of the plugin's own about a row.
    pub fn refusal(&self, row: usize, message: &str) -> RowError {
        RowError::new(row as u32, Reason::Plugin, cut(message, MESSAGE_MAX)).function(&self.shown)
    }
}

impl Gather for Parts {
    /// The answer's one column; the rows that the plugin refused become NULL.
    fn answer(&mut self, opening: &Opening, payload: &[u8], rows: Asked, errors: &mut Vec<RowError>) -> Taken {
        let frame = Frame::parse(payload).map_err(|e| e.to_string())?;
        if frame.rows() != rows.len {
            return Err(format!("frame: {} rows in answer to {}", frame.rows(), rows.len));
        }
        let array = opening.columns(&frame)?.into_iter().next().ok_or("frame: no column")?;
        let refused = frame.row_errors(rows.len).map_err(|e| e.to_string())?;
        if refused.is_empty() {
            self.arrays.push(array);
            return Ok(());
        }
        let mut mask = vec![false; rows.len];
        for error in refused {
            mask[error.row as usize] = true;
            errors.push(opening.refusal(rows.first + error.row as usize, error.message));
        }
        self.arrays.push(nullif(&array, &BooleanArray::from(mask)).map_err(|e| e.to_string())?);
        Ok(())
    }

    fn failed(&mut self, opening: &Opening) {
        if let Some(result) = opening.results.first() {
            self.arrays.push(new_null_array(result, 1));
        }
    }
}

impl Parts {
    fn joined(mut self, data_type: &DataType) -> Result<ArrayRef> {
        match self.arrays.len() {
            0 => Ok(new_null_array(data_type, 0)),
            1 => Ok(self.arrays.remove(0)),
            _ => Ok(concat(&self.arrays.iter().map(|a| a as &dyn Array).collect::<Vec<_>>())?),
        }
    }
}
