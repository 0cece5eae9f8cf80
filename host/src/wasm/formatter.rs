//! Formatters: a row of a sink's table becomes the bytes of a record, or no record.

use super::limits::{Limits, PluginConfig};
use super::manifest::Function;
use super::module::ModuleCore;
use super::rows::{Opening, RowRunner, Rows};
use super::types::to_wire;
use crate::data::{Batch, RowError, TableSchema};
use crate::error::Result;
use crate::formats::{Encoded, Encoder};
use arrow::array::{Array, AsArray};
use std::sync::Arc;
use wasmill_abi::{Field, Type};

/// A plugin's formatter bound to a table; makes an encoder for each task.
pub struct FormatterPlugin(Arc<Opening>);

impl std::fmt::Debug for FormatterPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FormatterPlugin({})", self.name())
    }
}

impl FormatterPlugin {
    pub(super) fn new(
        core: Arc<ModuleCore>,
        function: &Function,
        schema: &TableSchema,
        limits: Limits,
        config: &PluginConfig,
    ) -> std::result::Result<FormatterPlugin, String> {
        // A NULL may reach any column of a batch, so the wire calls all of them nullable.
        let input = schema.columns.iter().map(|c| Field::new(&c.name, to_wire(&c.logical_type), true)).collect();
        let output = vec![Field::new("value", Type::BYTES, true)];
        Opening::checked(core, function, limits, config, input, output).map(FormatterPlugin)
    }

    /// The exported name.
    pub fn name(&self) -> &str {
        self.0.function()
    }

    /// An encoder for one task, on the task's thread.
    pub fn encoder(&self) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(PluginEncoder(RowRunner::new(self.0.clone())?)))
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
