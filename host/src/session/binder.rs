//! Tables to what reads or writes them: the connector or a stand-in, with the format bound.

use super::JobRequest;
use crate::catalog::{TableColumn, TableColumnKind, TableDescriptor, TableFormat};
use crate::connectors::api::{FormatBinding, LookupSource, Sink, Source, TableContext};
use crate::connectors::native_format::NativeFormat;
use crate::connectors::stand_in::{ReadAs, StandIn};
use crate::data::{FailurePolicy, PathStep, TableSchema};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::formats::{self, Decoder, Encoder, FormatContext, Framing};
use crate::plan::graph::{ConnectorAccess, TableAccess, TableBinding};
use crate::plan::settings::JobSettings;
use crate::plan::{TableBinder, TableRole};
use crate::sql::codes;
use crate::wasm::{FormatterPlugin, Limits, PluginEngine};
use std::path::Path;
use std::sync::Arc;

pub struct Binder<'a> {
    pub request: &'a JobRequest,
    pub settings: &'a JobSettings,
    pub base_dir: &'a Path,
}

impl TableBinder for Binder<'_> {
    fn bind(
        &self,
        table: &TableDescriptor,
        role: TableRole,
        schema: TableSchema,
        policy: FailurePolicy,
    ) -> std::result::Result<TableBinding, Diagnostic> {
        self.bind_table(table, role, schema, policy).map_err(|e| {
            let span = table.format.as_ref().and_then(|f| f.span).unwrap_or(table.name_span);
            let d = Diagnostic::error(codes::CONNECTOR, span, e.message);
            match e.hint {
                Some(h) => d.hint(h),
                None => d,
            }
        })
    }
}

impl Binder<'_> {
    fn bind_table(
        &self,
        table: &TableDescriptor,
        role: TableRole,
        schema: TableSchema,
        policy: FailurePolicy,
    ) -> Result<TableBinding> {
        let null_on_error = policy == FailurePolicy::Null;
        let stand_in = self.request.stand_ins.iter().find(|s| s.table == table.name);
        let context = TableContext {
            table: table.name.as_str().into(),
            dialect: table.dialect,
            schema: schema.clone(),
            primary_key: table.primary_key.clone(),
            options: table.options.clone(),
            base_dir: self.base_dir.to_path_buf(),
            time_zone: self.settings.time_zone,
            max_record_bytes: self.max_record_bytes(table),
            format: self.format(table, role, &schema, null_on_error)?,
        };
        let Some(stand_in) = stand_in else {
            self.check_capability(table, role)?;
            return Ok(TableBinding { context, access: Arc::new(ConnectorAccess(table.connector)) });
        };
        let context = match role {
            TableRole::Source => stand_in.reading(&context, ReadAs::Source, null_on_error)?,
            TableRole::Lookup => stand_in.reading(&context, ReadAs::SideTable, null_on_error)?,
            TableRole::Sink => context,
        };
        Ok(TableBinding { context, access: Arc::new(StandInAccess(stand_in.clone())) })
    }

    fn check_capability(&self, table: &TableDescriptor, role: TableRole) -> Result<()> {
        let can = table.connector.capabilities();
        let (ok, what) = match role {
            TableRole::Source => (can.source, "read as a stream"),
            TableRole::Lookup => (can.lookup, "used as a side table"),
            TableRole::Sink => (can.sink, "written"),
        };
        if ok {
            return Ok(());
        }
        Err(Error::user(format!("table {}: connector {} cannot be {what}", table.name, table.connector.identifier())))
    }

    /// The table's own limit if it says one, else the job's.
    fn max_record_bytes(&self, table: &TableDescriptor) -> usize {
        match table.options.size("max-record-size") {
            Some(size) if table.options.is_set("max-record-size") => size as usize,
            _ => self.settings.max_record_bytes,
        }
    }

    fn format(
        &self,
        table: &TableDescriptor,
        role: TableRole,
        schema: &TableSchema,
        null_on_error: bool,
    ) -> Result<Option<Arc<dyn FormatBinding>>> {
        let Some(format) = &table.format else { return Ok(None) };
        if format.identifier == "wasm" {
            return self.plugin_format(table, format, role, schema).map(Some);
        }
        let mut schema = schema.clone();
        let by_position = formats::find(&format.identifier).is_some_and(|f| f.by_position(&format.options))
            && role != TableRole::Sink;
        if by_position {
            place_columns(table, &mut schema);
        }
        let declared = table.columns.iter().filter(|c| matches!(c.kind, TableColumnKind::Physical { .. })).count();
        if format.identifier == "raw" && declared != 1 {
            return Err(Error::user(format!(
                "table {}: the raw format has exactly one column, not {declared}",
                table.name
            )));
        }
        let cx = FormatContext {
            table: table.name.as_str().into(),
            schema,
            options: format.options.clone(),
            time_zone: self.settings.time_zone,
            null_on_error,
            record_width: by_position.then(|| physical(table).count()),
        };
        NativeFormat::bind(&format.identifier, cx).map(Some)
    }

    /// `'format' = 'wasm'`: a formatter plugin.
    fn plugin_format(
        &self,
        table: &TableDescriptor,
        format: &TableFormat,
        role: TableRole,
        schema: &TableSchema,
    ) -> Result<Arc<dyn FormatBinding>> {
        if role != TableRole::Sink {
            return Err(Error::user(format!(
                "table {}: not supported yet: a plugin that decodes records; plugins format the rows of sinks",
                table.name
            )));
        }
        let module = format
            .options
            .text("module")
            .ok_or_else(|| Error::user(format!("table {}: 'wasm.module' is missing", table.name)))?;
        let loaded = PluginEngine::shared().load_module(&self.base_dir.join(module))?;
        let given = format.options.prefixed.get("config").into_iter().flatten().map(|(k, v)| (k.as_str(), v.as_str()));
        let (limits, config) =
            Limits::from_options(given).map_err(|m| Error::user(format!("table {}: {}", table.name, m.join("; "))))?;
        let plugin = loaded.formatter(format.options.text("function"), schema, config, limits)?;
        Ok(Arc::new(PluginFormat(plugin)))
    }
}

/// Records whose fields have no names: each column stands where the table declares it, whatever the query reads.
fn place_columns(table: &TableDescriptor, schema: &mut TableSchema) {
    let declared: Vec<&str> = physical(table).map(|c| c.name.as_str()).collect();
    for column in &mut schema.columns {
        if let Some(place) = declared.iter().position(|n| *n == column.name) {
            column.path = vec![PathStep::Index(place)];
        }
    }
}

fn physical(table: &TableDescriptor) -> impl Iterator<Item = &TableColumn> {
    table.columns.iter().filter(|c| matches!(c.kind, TableColumnKind::Physical { .. }))
}

/// A local file instead of the table.
struct StandInAccess(StandIn);

impl TableAccess for StandInAccess {
    fn describe(&self) -> String {
        format!("stand-in {}", self.0.describe())
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        self.0.source(cx)
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        self.0.sink(cx, false)
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        self.0.lookup(cx)
    }
    fn has_runtime(&self) -> bool {
        true
    }
}

struct PluginFormat(FormatterPlugin);

impl FormatBinding for PluginFormat {
    fn identifier(&self) -> &str {
        "wasm"
    }
    fn framing(&self) -> Framing {
        Framing::Lines
    }
    fn decoder(&self) -> Result<Box<dyn Decoder>> {
        Err(Error::internal("a formatter does not decode"))
    }
    fn encoder(&self) -> Result<Box<dyn Encoder>> {
        self.0.encoder()
    }
}
