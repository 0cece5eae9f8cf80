//! The format of a table.

use super::TableFormat;
use crate::connectors::api::{ConnectorFactory, KeyLayout};
use crate::diagnostic::Diagnostic;
use crate::formats::options::{FormatOptions, find, names};
use crate::sql::codes;
use crate::sql::options::{Dialect, OptionEntry, OptionValue, ResolvedOptions, Resolver, parse_value};
use crate::sql::suggest::did_you_mean;

/// The format that the options name, or the connector's default in this dialect, with its options. Messages about the
/// format's name go to `late`: the resolver holds the other list.
pub(super) fn table_format(
    resolver: &mut Resolver<'_>,
    connector: &dyn ConnectorFactory,
    dialect: Dialect,
    as_sink: bool,
    options: &ResolvedOptions,
    late: &mut Vec<Diagnostic>,
) -> Option<TableFormat> {
    if !connector.has_format() {
        return None;
    }
    let entry = options.get("format");
    let name = entry.and_then(|_| options.text("format")).or_else(|| connector.default_format(dialect, as_sink))?;
    let span = entry.and_then(|e| e.span);
    let Some(format) = find(dialect, name.trim()) else {
        let all: Vec<&str> = names(dialect).collect();
        let d = Diagnostic::error(codes::UNKNOWN_FORMAT, span, format!("unknown format {name}"));
        let near = did_you_mean(name, all.iter().copied()).map(|h| format!("{h} ")).unwrap_or_default();
        late.push(d.hint(format!("{near}formats are {}", all.join(", "))));
        return None;
    };
    let mut resolved = format_options(resolver, format, connector, dialect, as_sink);
    name_subject(format, &mut resolved, options, "value");
    if !format.supported {
        let d = Diagnostic::error(codes::UNSUPPORTED_FORMAT, span, format!("not supported yet: format {name}"));
        late.push(d.hint("a plugin can decode and write its records: 'format' = 'wasm'"));
        return None;
    }
    Some(TableFormat { identifier: format.identifier.to_string(), span, options: resolved })
}

/// The format of record keys, with its options (`key.json.*`).
pub(super) fn key_format(
    resolver: &mut Resolver<'_>,
    dialect: Dialect,
    layout: &KeyLayout,
    options: &ResolvedOptions,
    late: &mut Vec<Diagnostic>,
) -> Option<TableFormat> {
    let span = options.get("key.format").and_then(|e| e.span);
    let Some(format) = find(dialect, layout.format.trim()).filter(|f| f.supported && !f.own_prefix) else {
        let all: Vec<&str> = names(dialect).collect();
        let d = Diagnostic::error(codes::UNKNOWN_FORMAT, span, format!("{} is no format of keys", layout.format));
        late.push(d.hint(format!("formats are {}", all.join(", "))));
        return None;
    };
    let prefix = format!("key.{}.", format.identifier);
    let mut resolved = match dialect {
        Dialect::Flink => resolver.take(&[format.options], &[&prefix]),
        // These dialects have no options of the key's format; its defaults hold.
        Dialect::DtStack | Dialect::Legacy => resolver.take(&[format.options], &["key.format-options."]),
    };
    name_subject(format, &mut resolved, options, "key");
    Some(TableFormat { identifier: format.identifier.to_string(), span, options: resolved })
}

/// The subject of a schema registry is named after the topic, as Flink does, unless it is given.
fn name_subject(format: &FormatOptions, resolved: &mut ResolvedOptions, table: &ResolvedOptions, part: &str) {
    if let (true, Some([topic])) = (format.options.iter().any(|o| o.name == "subject"), table.list("topic")) {
        let text = format!("{topic}-{part}");
        resolved.entries.entry("subject").or_insert_with(|| OptionEntry {
            value: OptionValue::Text(text.clone()),
            text,
            key: format!("{}.subject", format.identifier),
            span: None,
            sensitive: false,
        });
    }
}

fn format_options(
    resolver: &mut Resolver<'_>,
    format: &'static FormatOptions,
    connector: &dyn ConnectorFactory,
    dialect: Dialect,
    as_sink: bool,
) -> ResolvedOptions {
    let prefixes = format.prefixes(dialect);
    let prefixes: Vec<&str> = prefixes.iter().map(String::as_str).collect();
    let mut resolved = resolver.take(&[format.options], &prefixes);
    for (name, text) in connector.format_defaults(dialect, as_sink) {
        let spec = format.options.iter().find(|o| o.name == *name);
        if let Some((spec, entry)) = spec.and_then(|s| Some((s, resolved.entries.get_mut(s.name)?)))
            && entry.span.is_none()
            && let Ok(value) = parse_value(spec.kind, text)
        {
            *entry = OptionEntry { value, text: text.to_string(), ..entry.clone() };
        }
    }
    resolved
}
