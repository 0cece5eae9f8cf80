//! Tables as `wasmill check` prints them. Secrets are not shown.

use super::{TableColumn, TableColumnKind, TableDescriptor};
use crate::data::PathStep;
use crate::sql::ast::WatermarkSpec;
use crate::sql::options::ResolvedOptions;
use std::fmt::Write as _;

/// Dialect, connector, role, columns and options of a table, several lines, each ended. `role` is what
/// the script uses it for (`source`, `side table` ..).
pub fn describe(table: &TableDescriptor, role: &str) -> String {
    let mut text = format!("table {}\n", table.name);
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<12} {value}");
    };
    line("role", role);
    line("dialect", table.dialect.as_str());
    let absent = if table.connector.is_absent() { " (not here, runs with a --stand-in only)" } else { "" };
    line("connector", &format!("{}{absent}", table.connector.identifier()));
    if let Some(format) = &table.format {
        line("format", &format!("{}{}", format.identifier, if format.span.is_none() { " (default)" } else { "" }));
    }
    if !table.primary_key.is_empty() {
        line("primary key", &table.primary_key.join(", "));
    }
    if let Some(w) = &table.watermark {
        line("watermark", &watermark_text(w));
    }
    text.push_str("  columns\n");
    let width = table.columns.iter().map(|c| c.name.chars().count()).max().unwrap_or(0).min(40);
    for c in &table.columns {
        let _ = writeln!(text, "    {:<width$}  {}", c.name, column_text(c));
    }
    text.push_str("  options\n");
    // The defaults of options for another role say nothing about this table.
    let elsewhere = |name: &str| {
        (name.starts_with("lookup.") && !role.contains("side table"))
            || (name == "max-record-size" && !role.contains("source"))
    };
    let mut options = table.options.clone();
    options.entries.retain(|name, entry| entry.span.is_some() || !elsewhere(name));
    option_lines(&mut text, &options);
    if let Some(format) = &table.format {
        option_lines(&mut text, &format.options);
    }
    text
}

/// Type and nature of a column: `INT NOT NULL`, `AS a + 1`.
pub fn column_text(column: &TableColumn) -> String {
    match &column.kind {
        TableColumnKind::Physical { logical_type, nullable, path } => {
            let from = match path.as_slice() {
                [PathStep::Member(m)] if *m == column.name => String::new(),
                path => format!(" from {}", path_text(path)),
            };
            format!("{logical_type}{}{from}", if *nullable { "" } else { " NOT NULL" })
        }
        TableColumnKind::Computed(expr) => format!("AS {expr}"),
        TableColumnKind::Metadata { logical_type, key, is_virtual, .. } => {
            format!("{logical_type} METADATA FROM '{key}'{}", if *is_virtual { " VIRTUAL" } else { "" })
        }
    }
}

/// `a.b[0].c`
fn path_text(path: &[PathStep]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            PathStep::Member(m) if text.is_empty() => text.push_str(m),
            PathStep::Member(m) => {
                let _ = write!(text, ".{m}");
            }
            PathStep::Index(i) => {
                let _ = write!(text, "[{i}]");
            }
        }
    }
    text
}

fn watermark_text(w: &WatermarkSpec) -> String {
    match w {
        WatermarkSpec::Expr { column, expr, .. } => format!("{} AS {expr}", column.value),
        WatermarkSpec::WithOffset { column, millis, .. } => format!("{}, {millis} ms late", column.value),
    }
}

fn option_lines(text: &mut String, options: &ResolvedOptions) {
    for (key, value, given) in options.display() {
        let _ = writeln!(text, "    {key} = {value}{}", if given { "" } else { " (default)" });
    }
}
