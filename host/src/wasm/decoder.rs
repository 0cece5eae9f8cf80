//! Decoders: a record of a source becomes any number of rows.

use super::limits::{Limits, PluginConfig};
use super::manifest::Function;
use super::module::ModuleCore;
use super::rows::{Asked, Gather, Opening, RowRunner, Rows, Taken};
use super::types::to_wire;
use crate::data::{Reason, RecordChunk, RowError, TableSchema};
use crate::error::{Error, Result};
use crate::formats::{Decoded, Decoder};
use arrow::array::{Array, ArrayRef, BinaryArray, BinaryBuilder, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, filter};
use arrow::datatypes::SchemaRef;
use std::sync::Arc;
use wasmill_abi::{Field, Frame, Type, section};

/// Rows of one answer. Rows can be tiny, so that the limit on bytes alone would let a batch grow large.
const ROWS_MAX: usize = 1 << 20;
/// What the rows of one chunk may take.
const CHUNK_MAX: usize = 1 << 29;

/// A plugin's decoder bound to a table; makes a decoder for each task.
pub struct DecoderPlugin {
    opening: Arc<Opening>,
    schema: TableSchema,
}

impl std::fmt::Debug for DecoderPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DecoderPlugin({})", self.name())
    }
}

impl DecoderPlugin {
    pub(super) fn new(
        core: Arc<ModuleCore>,
        function: &Function,
        schema: &TableSchema,
        limits: Limits,
        config: &PluginConfig,
    ) -> std::result::Result<DecoderPlugin, String> {
        let input = vec![Field::new("record", Type::BYTES, true)];
        // NOT NULL is checked by the host, so that a NULL costs its record and is not a malformed answer.
        let output = schema.columns.iter().map(|c| Field::new(&c.name, to_wire(&c.logical_type), true)).collect();
        let opening = Opening::checked(core, function, limits, config, input, output)?;
        Ok(DecoderPlugin { opening, schema: schema.clone() })
    }

    /// The exported name.
    pub fn name(&self) -> &str {
        self.opening.function()
    }

    /// A decoder for one task, on the task's thread.
    pub fn decoder(&self) -> Result<Box<dyn Decoder>> {
        let runner = RowRunner::new(self.opening.clone())?;
        Ok(Box::new(PluginDecoder { runner, rules: RowRules::new(&self.schema) }))
    }
}

struct PluginDecoder {
    runner: RowRunner,
    rules: RowRules,
}

/// What the table asks of rows.
struct RowRules {
    schema: SchemaRef,
    /// Columns that must not be NULL, with their names.
    required: Vec<(usize, String)>,
}

impl RowRules {
    fn new(schema: &TableSchema) -> RowRules {
        let required = schema.columns.iter().enumerate().filter(|(_, c)| !c.nullable);
        RowRules { schema: schema.to_arrow(), required: required.map(|(i, c)| (i, c.name.clone())).collect() }
    }
}

impl Decoder for PluginDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let mut decoded = Rowset { rules: &self.rules, batches: vec![], records: vec![], bytes: 0 };
        let mut errors = Vec::new();
        let input: ArrayRef = Arc::new(records_of(chunk)?);
        let rows = Rows { columns: &[input], kinds: None, len: chunk.len() };
        self.runner.gather(&rows, &mut decoded, &mut errors)?;
        // Refusals of NULLs come beside those of the plugin.
        errors.sort_by_key(|e| e.row);
        let columns = match &decoded.batches[..] {
            [only] => only.clone(),
            batches => concat_batches(&self.rules.schema, batches.iter())?,
        };
        Ok(Decoded { columns, records: Some(decoded.records), errors, kinds: None })
    }
}

/// The records of a chunk as a column; a record without a value (a tombstone) is NULL.
fn records_of(chunk: &RecordChunk) -> Result<BinaryArray> {
    let bytes: usize = chunk.records.iter().map(|r| (r.end - r.start) as usize).sum();
    if i32::try_from(bytes).is_err() {
        return Err(Error::data(format!(
            "{}: {bytes} bytes of records at once are too many for a plugin",
            chunk.split
        ))
        .with_hint("records are limited with max-record-size"));
    }
    let mut builder = BinaryBuilder::with_capacity(chunk.len(), bytes);
    (0..chunk.len()).for_each(|i| builder.append_option(chunk.value(i)));
    Ok(builder.finish())
}

/// The rows of consecutive answers, and the record of each.
struct Rowset<'a> {
    rules: &'a RowRules,
    batches: Vec<RecordBatch>,
    records: Vec<u32>,
    /// Of the answers so far.
    bytes: usize,
}

impl Gather for Rowset<'_> {
    fn answer(&mut self, opening: &Opening, payload: &[u8], asked: Asked, errors: &mut Vec<RowError>) -> Taken {
        let frame = Frame::parse(payload).map_err(|e| e.to_string())?;
        if frame.rows() > ROWS_MAX {
            return Err(format!("frame: {} rows in one answer, {ROWS_MAX} are possible", frame.rows()));
        }
        if frame.section(section::ROW_KIND).is_some() {
            return Err("frame: a section of row kinds; decoders give inserts only".into());
        }
        let sources = frame.source_rows(asked.len).map_err(|e| e.to_string())?;
        let sources = sources.ok_or("frame: no section of source rows, which says the record of each row")?;
        let refused = frame.row_errors(asked.len).map_err(|e| e.to_string())?;
        if let Some(both) = refused.iter().find(|e| sources.binary_search(&e.row).is_ok()) {
            return Err(format!("frame: record {} is refused and has rows", both.row));
        }
        if self.bytes + payload.len() > CHUNK_MAX {
            return Err("the rows of one batch of records take more than 512 MiB; set job.batch-rows lower".into());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(frame.rows()));
        let columns = opening.columns(&frame)?;
        let nulls = self.nulls(&columns, &sources);
        let columns: Vec<ArrayRef> = match &nulls.keep {
            Some(keep) => columns.iter().map(|c| filter(c, keep)).collect::<std::result::Result<_, _>>(),
            None => Ok(columns),
        }
        .map_err(|e| e.to_string())?;
        let options = match &nulls.keep {
            Some(keep) => options.with_row_count(Some(keep.true_count())),
            None => options,
        };
        let batch = RecordBatch::try_new_with_options(self.rules.schema.clone(), columns, &options);
        self.batches.push(batch.map_err(|e| e.to_string())?);
        self.bytes += payload.len();
        let kept = |row: usize| nulls.keep.as_ref().is_none_or(|k| k.value(row));
        let first = asked.first as u32;
        self.records.extend(sources.iter().enumerate().filter(|(row, _)| kept(*row)).map(|(_, s)| first + s));
        errors.extend(refused.iter().map(|e| opening.refusal(asked.first + e.row as usize, e.message)));
        errors.extend(nulls.refused.into_iter().map(|e| RowError { row: first + e.row, ..e }));
        Ok(())
    }

    fn failed(&mut self, _: &Opening) {}
}

/// NULLs where the table has none.
#[derive(Default)]
struct Nulls {
    /// Rows of records without such a NULL; None: all.
    keep: Option<BooleanArray>,
    refused: Vec<RowError>,
}

impl Rowset<'_> {
    /// A record with a NULL in a NOT NULL column gives no row at all, as in every format.
    fn nulls(&self, columns: &[ArrayRef], sources: &[u32]) -> Nulls {
        let mut refused: Vec<RowError> = Vec::new();
        for (column, name) in &self.rules.required {
            let Some(column) = columns.get(*column).filter(|c| c.null_count() > 0) else { continue };
            for (_, source) in sources.iter().enumerate().filter(|(row, _)| column.is_null(*row)) {
                let message = "is NULL or missing, but the column is NOT NULL";
                refused.push(RowError::new(*source, Reason::NotNull, message).column(name));
            }
        }
        if refused.is_empty() {
            return Nulls::default();
        }
        refused.sort_by_key(|e| e.row);
        refused.dedup_by_key(|e| e.row);
        let keep = sources.iter().map(|s| refused.binary_search_by_key(s, |e| e.row).is_err()).collect::<Vec<_>>();
        Nulls { keep: Some(keep.into()), refused }
    }
}
