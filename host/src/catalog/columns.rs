//! Columns, PRIMARY KEY and watermark of a declared table.

use super::{TableColumn, TableColumnKind};
use crate::connectors::api::ConnectorFactory;
use crate::data::{LogicalType, PathStep};
use crate::diagnostic::Diagnostic;
use crate::sql::ast::{ColumnKind, ColumnSpec, CreateTable, WatermarkSpec};
use crate::sql::codes;
use crate::sql::options::Dialect;
use crate::sql::suggest::did_you_mean;

pub(super) fn table_columns(table: &CreateTable, out: &mut Vec<Diagnostic>) -> Vec<TableColumn> {
    let mut columns: Vec<TableColumn> = Vec::with_capacity(table.columns.len());
    let mut lines = std::collections::HashMap::new();
    for spec in &table.columns {
        if let Some(line) = lines.insert(spec.name.value.clone(), spec.name.span.start.line) {
            let message = format!("column {} is declared twice", spec.name.value);
            let d = Diagnostic::error(codes::DUPLICATE_COLUMN, spec.name.span, message);
            out.push(d.hint(format!("the first one is in line {line}")));
        } else {
            columns.push(column(spec));
        }
    }
    if !columns.iter().any(|c| matches!(c.kind, TableColumnKind::Physical { .. })) {
        let message = format!("table {} has no column with a type", table.name.value);
        out.push(Diagnostic::error(codes::BAD_COLUMN, table.name.span, message));
    }
    columns
}

fn column(spec: &ColumnSpec) -> TableColumn {
    let name = spec.name.value.clone();
    let kind = match &spec.kind {
        ColumnKind::Physical { data_type, type_span: _, not_null, path } => TableColumnKind::Physical {
            logical_type: data_type.clone(),
            nullable: !not_null,
            path: path.clone().unwrap_or_else(|| vec![PathStep::Member(name.clone())]),
        },
        ColumnKind::Computed(expr) => TableColumnKind::Computed(expr.clone()),
        ColumnKind::Metadata { data_type, key, is_virtual } => TableColumnKind::Metadata {
            logical_type: data_type.clone(),
            // Until the connector is known.
            held_type: data_type.clone(),
            key: key.clone().unwrap_or_else(|| name.clone()),
            is_virtual: *is_virtual,
        },
    };
    TableColumn { name, span: spec.name.span, kind }
}

/// Metadata columns get the connector's types; one that it does not have is an error.
pub(super) fn metadata(
    columns: &mut [TableColumn],
    connector: &dyn ConnectorFactory,
    dialect: Dialect,
    is_sink: bool,
    out: &mut Vec<Diagnostic>,
) {
    let known = connector.metadata(dialect);
    for c in columns {
        let TableColumnKind::Metadata { held_type, key, is_virtual, .. } = &mut c.kind else { continue };
        let Some(found) = known.iter().find(|m| m.key == *key) else {
            let message = format!("connector {} has no metadata '{key}'", connector.identifier());
            let d = Diagnostic::error(codes::BAD_COLUMN, c.span, message);
            let all: Vec<&str> = known.iter().map(|m| m.key).collect();
            let near = did_you_mean(key, all.iter().copied()).map(|h| format!("{h} ")).unwrap_or_default();
            out.push(match all.is_empty() {
                true => d.hint("no table of this connector has METADATA columns"),
                false => d.hint(format!("{near}it has: {}", all.join(", "))),
            });
            continue;
        };
        if is_sink && !found.writable && !*is_virtual {
            let message = format!("metadata '{key}' can be read only, and the table is written");
            out.push(Diagnostic::error(codes::BAD_COLUMN, c.span, message).hint("declare the column VIRTUAL"));
        }
        *held_type = found.logical_type();
    }
}

/// The key's columns as they are spelled in the column list (flinkStreamSQL compares without case).
pub(super) fn primary_key(
    table: &CreateTable,
    dialect: Dialect,
    is_side: bool,
    columns: &mut Vec<TableColumn>,
    out: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let Some(key) = &table.primary_key else {
        if is_side {
            let message = format!("side table {} has no PRIMARY KEY", table.name.value);
            let d = Diagnostic::warning(codes::W_SIDE_KEY, table.name.span, message);
            out.push(d.hint("the columns that a join compares are taken as its key"));
        }
        return Vec::new();
    };
    if dialect == Dialect::Flink && !key.not_enforced {
        let d = Diagnostic::warning(codes::W_NOT_ENFORCED, key.span, "PRIMARY KEY without NOT ENFORCED");
        out.push(d.hint("Flink refuses it; keys of outside tables are never checked"));
    }
    let mut names: Vec<String> = Vec::new();
    for entry in &key.columns {
        let wanted = entry.value.trim();
        let ignore_case = dialect == Dialect::DtStack;
        let found = columns
            .iter()
            .position(|c| c.name == wanted)
            .or_else(|| columns.iter().position(|c| ignore_case && c.name.eq_ignore_ascii_case(wanted)));
        let name = match found.and_then(|i| columns.get(i)) {
            Some(c) => c.name.clone(),
            // flinkStreamSQL adds such a column to a side table.
            None if is_side && dialect == Dialect::DtStack => {
                let message = format!("key column {wanted} is not declared: it is added as STRING");
                out.push(Diagnostic::warning(codes::W_KEY_COLUMN_ADDED, entry.span, message));
                columns.push(string_column(wanted, entry.span));
                wanted.to_string()
            }
            None => {
                let message = format!("key column {wanted} is no column of table {}", table.name.value);
                let d = Diagnostic::error(codes::UNKNOWN_COLUMN, entry.span, message);
                let hint = did_you_mean(wanted, columns.iter().map(|c| c.name.as_str()));
                out.push(d.hint(hint.unwrap_or_else(|| "declare the column".to_string())));
                continue;
            }
        };
        if names.contains(&name) {
            let message = format!("PRIMARY KEY names column {name} twice");
            out.push(Diagnostic::error(codes::BAD_PRIMARY_KEY, entry.span, message));
        } else {
            names.push(name);
        }
    }
    check_key_columns(&names, dialect, columns, key.span, out);
    names
}

fn string_column(name: &str, span: crate::diagnostic::Span) -> TableColumn {
    let path = vec![PathStep::Member(name.to_string())];
    let kind = TableColumnKind::Physical { logical_type: LogicalType::STRING, nullable: true, path };
    TableColumn { name: name.to_string(), span, kind }
}

/// Key columns carry values of their own; Flink makes them NOT NULL.
fn check_key_columns(
    names: &[String],
    dialect: Dialect,
    columns: &mut [TableColumn],
    span: crate::diagnostic::Span,
    out: &mut Vec<Diagnostic>,
) {
    for column in columns.iter_mut().filter(|c| names.contains(&c.name)) {
        match &mut column.kind {
            TableColumnKind::Physical { nullable, .. } => *nullable &= dialect != Dialect::Flink,
            TableColumnKind::Computed(_) | TableColumnKind::Metadata { .. } => {
                let message = format!("key column {} is computed: a key needs stored columns", column.name);
                out.push(Diagnostic::error(codes::BAD_PRIMARY_KEY, span, message));
            }
        }
    }
}

/// The watermark's column exists and can carry a time.
pub(super) fn watermark(table: &CreateTable, dialect: Dialect, columns: &[TableColumn], out: &mut Vec<Diagnostic>) {
    let Some(WatermarkSpec::Expr { column, .. } | WatermarkSpec::WithOffset { column, .. }) = &table.watermark else {
        return;
    };
    let Some(found) = columns.iter().find(|c| c.name == column.value) else {
        let message = format!("watermark column {} is no column of table {}", column.value, table.name.value);
        let d = Diagnostic::error(codes::UNKNOWN_COLUMN, column.span, message);
        let hint = did_you_mean(&column.value, columns.iter().map(|c| c.name.as_str()));
        out.push(d.hint(hint.unwrap_or_else(|| "declare the column".to_string())));
        return;
    };
    let logical_type = match &found.kind {
        TableColumnKind::Physical { logical_type, .. } | TableColumnKind::Metadata { logical_type, .. } => logical_type,
        // Known only when the expression is planned.
        TableColumnKind::Computed(_) => return,
    };
    let is_time = matches!(logical_type, LogicalType::Timestamp(_) | LogicalType::TimestampLtz(_));
    let counts_millis = dialect == Dialect::DtStack && *logical_type == LogicalType::BigInt;
    if !is_time && !counts_millis {
        let message = format!("a watermark needs a TIMESTAMP column, {} is {logical_type}", column.value);
        let d = Diagnostic::error(codes::BAD_WATERMARK, column.span, message);
        out.push(if dialect == Dialect::DtStack { d.hint("BIGINT (milliseconds) works, too") } else { d });
    }
}
