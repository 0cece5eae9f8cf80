//! Formatters: a row of a sink's table becomes the bytes of a record, or no record.

use super::limits::{Limits, PluginConfig};
use super::manifest::Function;
use super::module::ModuleCore;
use super::rows::{Opening, RowRunner, Rows};
use super::types::to_wire;
use crate::data::{Batch, RowError, TableSchema};
use crate::error::{Error, Result};
use crate::formats::{Encoded, Encoder};
use arrow::array::{Array, AsArray};
use std::sync::Arc;
use wasmill_abi::{Field, Schema, Type};

/// A plugin's formatter bound to a table; makes an encoder for each task.
pub struct FormatterPlugin {
    core: Arc<ModuleCore>,
    function: Function,
    schema: TableSchema,
    limits: Limits,
    config: PluginConfig,
}

impl std::fmt::Debug for FormatterPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FormatterPlugin({})", self.function.name)
    }
}

impl FormatterPlugin {
    pub(super) fn new(
        core: Arc<ModuleCore>,
        function: Function,
        schema: &TableSchema,
        limits: Limits,
        config: PluginConfig,
    ) -> FormatterPlugin {
        FormatterPlugin { core, function, schema: schema.clone(), limits, config }
    }

    /// Opens the formatter once and throws it away.
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        self.opening()?.open().map(drop).map_err(|e| format!("formatter {}: {e}", self.function.name))
    }

    /// The exported name.
    pub fn name(&self) -> &str {
        &self.function.name
    }

    /// An encoder for one task, on the task's thread.
    pub fn encoder(&self) -> Result<Box<dyn Encoder>> {
        let opening = self.opening().map_err(|e| Error::user(format!("formatter {}: {e}", self.function.name)))?;
        Ok(Box::new(PluginEncoder(RowRunner::new(Arc::new(opening))?)))
    }

    fn opening(&self) -> std::result::Result<Opening, String> {
        let columns = &self.schema.columns;
        // A NULL may reach any column of a batch, so the wire calls all of them nullable.
        let input = columns.iter().map(|c| Field::new(&c.name, to_wire(&c.logical_type), true)).collect();
        let input = Schema::new(input).map_err(|e| e.to_string())?;
        let output = Schema::new(vec![Field::new("value", Type::BYTES, true)]).map_err(|e| e.to_string())?;
        let name = &self.function.name;
        Opening::new(self.core.clone(), name, name, self.limits, &self.config, input, output)
    }
}

struct PluginEncoder(RowRunner);

impl Encoder for PluginEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let known = errors.len();
        let rows = Rows { columns: batch.columns.columns(), kinds: batch.kinds.as_deref(), len: batch.num_rows() };
        let values = self.0.run(&rows, errors)?;
        debug_assert!(errors[known..].is_sorted_by_key(|e| e.row));
        let values = values.as_binary::<i32>();
        for row in (0..values.len()).filter(|row| values.is_valid(*row)) {
            out.bytes.extend_from_slice(values.value(row));
            out.finish_record(row as u32);
        }
        Ok(())
    }
}
