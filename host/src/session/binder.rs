//! Tables to what reads or writes them: the connector or a stand-in, with the format bound.

use super::JobRequest;
use crate::catalog::{TableDescriptor, TableFormat};
use crate::connectors::api::{FormatBinding, LookupSource, Sink, Source, TableContext};
use crate::connectors::native_format::NativeFormat;
use crate::connectors::stand_in::{ReadAs, StandIn};
use crate::data::{ChangelogMode, Column, FailurePolicy, PathStep, TableSchema};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::formats::{self, Decoder, Encoder, FormatContext, Framing};
use crate::plan::graph::{ConnectorAccess, TableAccess, TableBinding};
use crate::plan::settings::JobSettings;
use crate::plan::{TableBinder, TableRole};
use crate::sql::codes;
use crate::wasm::{DecoderPlugin, FormatterPlugin, Limits, PluginEngine};
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
        // A stand-in holds every column in its one record.
        let layout = match stand_in {
            Some(_) => Layout::all_in_value(table, &schema),
            None => Layout::of(table, &schema),
        };
        let context = TableContext {
            table: table.name.as_str().into(),
            dialect: table.dialect,
            schema: schema.clone(),
            primary_key: table.primary_key.clone(),
            options: table.options.clone(),
            base_dir: self.base_dir.to_path_buf(),
            time_zone: self.settings.time_zone,
            max_record_bytes: self.max_record_bytes(table),
            format: self.format(table, role, &layout, null_on_error)?,
            key_format: self.key_format(table, role, &layout, null_on_error)?,
            value_columns: layout.value.indexes,
            key_columns: layout.key.indexes,
            filters: vec![],
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
        layout: &Layout,
        null_on_error: bool,
    ) -> Result<Option<Arc<dyn FormatBinding>>> {
        let Some(format) = &table.format else { return Ok(None) };
        if format.identifier == "wasm" {
            return self.plugin_format(table, format, role, &layout.value.schema).map(Some);
        }
        let declared = layout.value.declared.columns.len();
        if format.identifier == "raw" && declared != 1 {
            return Err(Error::user(format!(
                "table {}: the raw format has exactly one column, not {declared}",
                table.name
            )));
        }
        self.native_format(table, format, role, &layout.value, null_on_error).map(Some)
    }

    fn key_format(
        &self,
        table: &TableDescriptor,
        role: TableRole,
        layout: &Layout,
        null_on_error: bool,
    ) -> Result<Option<Arc<dyn FormatBinding>>> {
        match &table.key {
            Some((_, format)) if !layout.key.indexes.is_empty() => {
                self.native_format(table, format, role, &layout.key, null_on_error).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn native_format(
        &self,
        table: &TableDescriptor,
        format: &TableFormat,
        role: TableRole,
        part: &RecordPart,
        null_on_error: bool,
    ) -> Result<Arc<dyn FormatBinding>> {
        let by_position = formats::find(&format.identifier).is_some_and(|f| f.by_position(&format.options))
            && role != TableRole::Sink;
        let mut schema = part.schema.clone();
        if by_position {
            place_columns(&part.declared.columns, &mut schema);
        }
        let cx = FormatContext {
            table: table.name.as_str().into(),
            schema,
            options: format.options.clone(),
            time_zone: self.settings.time_zone,
            null_on_error,
            declared: Some(part.declared.clone()),
            record_width: by_position.then_some(part.declared.columns.len()),
        };
        let bound = NativeFormat::bind(&format.identifier, cx)?;
        // What the format has against the table belongs to `check`.
        match role {
            TableRole::Sink => drop(bound.encoder()?),
            TableRole::Source | TableRole::Lookup => drop(bound.decoder()?),
        }
        Ok(bound)
    }

    /// `'format' = 'wasm'`: a plugin that decodes the records of a source or formats the rows of a sink.
    fn plugin_format(
        &self,
        table: &TableDescriptor,
        format: &TableFormat,
        role: TableRole,
        schema: &TableSchema,
    ) -> Result<Arc<dyn FormatBinding>> {
        let module = format
            .options
            .text("module")
            .ok_or_else(|| Error::user(format!("table {}: 'wasm.module' is missing", table.name)))?;
        let loaded = PluginEngine::shared().load_module(&self.base_dir.join(module))?;
        let given = format.options.prefixed.get("config").into_iter().flatten().map(|(k, v)| (k.as_str(), v.as_str()));
        let (limits, config) =
            Limits::from_options(given).map_err(|m| Error::user(format!("table {}: {}", table.name, m.join("; "))))?;
        let function = format.options.text("function");
        Ok(Arc::new(match role {
            TableRole::Sink => PluginFormat::Formatter(loaded.formatter(function, schema, config, limits)?),
            _ => PluginFormat::Decoder(loaded.decoder(function, schema, config, limits)?),
        }))
    }
}

/// The key or the value of a table's records.
#[derive(Default)]
struct RecordPart {
    /// What is read or written of it, by the names in the record.
    schema: TableSchema,
    /// Where these columns stand in the table's schema.
    indexes: Vec<usize>,
    /// All of it, as the table declares it.
    declared: TableSchema,
}

impl RecordPart {
    fn add(&mut self, index: usize, column: &Column) {
        self.schema.columns.push(column.clone());
        self.indexes.push(index);
    }
}

/// Which columns lie in a record's key and which in its value.
struct Layout {
    key: RecordPart,
    value: RecordPart,
}

impl Layout {
    fn all_in_value(table: &TableDescriptor, schema: &TableSchema) -> Self {
        let declared = TableSchema::new(table.readable_columns());
        let indexes = (0..schema.columns.len()).collect();
        Self { key: RecordPart::default(), value: RecordPart { schema: schema.clone(), indexes, declared } }
    }

    /// `schema`: the columns of the table that are in use.
    fn of(table: &TableDescriptor, schema: &TableSchema) -> Self {
        let key = table.key.as_ref().map(|(layout, _)| layout);
        let in_key = |name: &str| key.is_some_and(|k| k.columns.iter().any(|c| c == name));
        let in_value = |name: &str| !in_key(name) || key.is_none_or(|k| k.in_value);
        let mut layout = Self { key: RecordPart::default(), value: RecordPart::default() };
        let declared = physical(table);
        layout.value.declared.columns = declared.iter().filter(|c| in_value(&c.name)).cloned().collect();
        for (i, column) in schema.columns.iter().enumerate().filter(|(_, c)| c.metadata.is_none()) {
            if in_value(&column.name) {
                layout.value.add(i, column);
            }
        }
        let Some(key) = key else { return layout };
        let in_record = |name: &str| name.strip_prefix(key.prefix.as_str()).unwrap_or(name).to_string();
        let of_key = |name: &String| declared.iter().find(|c| c.name == *name);
        let named = |c: &Column| Column::new(in_record(&c.name), c.logical_type.clone(), c.nullable);
        layout.key.declared.columns = key.columns.iter().filter_map(of_key).map(named).collect();
        for name in &key.columns {
            if let Some(i) = schema.index_of(name) {
                let column = &schema.columns[i];
                let named = Column::new(in_record(name), column.logical_type.clone(), column.nullable);
                layout.key.add(i, &named);
            }
        }
        layout
    }
}

/// Records whose fields have no names: each column stands where the table declares it, whatever the query reads.
fn place_columns(declared: &[Column], schema: &mut TableSchema) {
    for column in &mut schema.columns {
        if let Some(place) = declared.iter().position(|c| c.name == column.name) {
            column.path = vec![PathStep::Index(place)];
        }
    }
}

fn physical(table: &TableDescriptor) -> Vec<Column> {
    table.readable_columns().into_iter().filter(|c| c.metadata.is_none()).collect()
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
}

/// A plugin does the one or the other, as its table is read or written.
enum PluginFormat {
    Decoder(DecoderPlugin),
    Formatter(FormatterPlugin),
}

impl FormatBinding for PluginFormat {
    fn identifier(&self) -> &str {
        "wasm"
    }
    fn framing(&self) -> Framing {
        Framing::Lines
    }
    /// A formatter sees the kind of each row; a decoder gives inserts.
    fn changelog_mode(&self) -> ChangelogMode {
        match self {
            Self::Decoder(_) => ChangelogMode::Append,
            Self::Formatter(_) => ChangelogMode::All,
        }
    }
    fn decoder(&self) -> Result<Box<dyn Decoder>> {
        match self {
            Self::Decoder(plugin) => plugin.decoder(),
            Self::Formatter(_) => Err(Error::internal("a formatter does not decode")),
        }
    }
    fn encoder(&self) -> Result<Box<dyn Encoder>> {
        match self {
            Self::Formatter(plugin) => plugin.encoder(),
            Self::Decoder(_) => Err(Error::internal("a decoder does not encode")),
        }
    }
}
