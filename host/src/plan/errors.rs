//! DataFusion's errors in our words, with their place in the job file.

use crate::diagnostic::{Diagnostic, Span};
use crate::sql::codes;
use crate::sql::suggest::did_you_mean;
use datafusion_common::{Column, DataFusionError, SchemaError};
use sqlparser::ast::{self as sp, Spanned};
use std::ops::ControlFlow;

/// What the planner refused, at the place in the query that it speaks of: DataFusion knows places in the select list
/// only, so names are looked up in the query's text.
pub fn in_query(error: DataFusionError, query: &sp::Query, tables: &[&str], statement: Span) -> Vec<Diagnostic> {
    if let DataFusionError::SchemaError(e, _) = error.find_root()
        && let SchemaError::FieldNotFound { field, .. } | SchemaError::AmbiguousReference { field } = &**e
        && error.diagnostic().and_then(|d| d.span).is_none()
        && let Some(place) = place_of_column(query, field)
    {
        return to_diagnostics(error, place);
    }
    if let Some(unknown) = unknown_table(query, &error.to_string()) {
        let d = Diagnostic::error(
            codes::UNKNOWN_TABLE,
            unknown.1.unwrap_or(statement),
            format!("unknown table {}", unknown.0),
        );
        return vec![match did_you_mean(&unknown.0, tables.iter().copied()) {
            Some(hint) => d.hint(hint),
            None => d.hint(format!("declared are {}", tables.join(", "))),
        }];
    }
    let mut all = to_diagnostics(error, statement);
    for d in all.iter_mut().filter(|d| d.span == Some(statement)) {
        d.span = place_of_call(query, &d.message).or(d.span);
    }
    all
}

/// The call that `NAME: ..` speaks of, where the query has one of that name only.
fn place_of_call(query: &sp::Query, message: &str) -> Option<Span> {
    let (wanted, _) = message.split_once(": ")?;
    let mut places = vec![];
    let _ = sp::visit_expressions(query, |e| {
        let (name, span) = match e {
            sp::Expr::Function(f) => (f.name.to_string(), f.name.span()),
            sp::Expr::Extract { .. } => ("EXTRACT".to_string(), e.span()),
            sp::Expr::Position { .. } => ("POSITION".to_string(), e.span()),
            sp::Expr::Overlay { .. } => ("OVERLAY".to_string(), e.span()),
            sp::Expr::Ceil { .. } => ("CEIL".to_string(), e.span()),
            sp::Expr::Floor { .. } => ("FLOOR".to_string(), e.span()),
            sp::Expr::Substring { .. } => ("SUBSTRING".to_string(), e.span()),
            sp::Expr::Array(_) => ("ARRAY".to_string(), e.span()),
            sp::Expr::SimilarTo { .. } => ("SIMILAR".to_string(), e.span()),
            sp::Expr::Cast { .. } => ("CAST".to_string(), e.span()),
            _ => return ControlFlow::<()>::Continue(()),
        };
        if name.trim_start_matches('$').eq_ignore_ascii_case(wanted) {
            places.push(span);
        }
        ControlFlow::Continue(())
    });
    match places.as_slice() {
        [one] if one.start.line > 0 => Some((*one).into()),
        _ => None,
    }
}

fn place_of_column(query: &sp::Query, field: &Column) -> Option<Span> {
    let mut place = None;
    let _ = sp::visit_expressions(query, |e| {
        let parts: &[sp::Ident] = match e {
            sp::Expr::Identifier(i) => std::slice::from_ref(i),
            sp::Expr::CompoundIdentifier(parts) => parts,
            _ => &[],
        };
        let named = parts.last().is_some_and(|i| i.value == field.name);
        let table = parts.len().checked_sub(2).map(|t| parts[t].value.as_str());
        let wanted = field.relation.as_ref().map(|r| r.table());
        let span = e.span();
        if named && (wanted.is_none() || table == wanted) && span.start.line > 0 {
            place = Some(span.into());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    place
}

/// The table that `table 'x' is not declared` means, and its place.
fn unknown_table(query: &sp::Query, message: &str) -> Option<(String, Option<Span>)> {
    let name = message.split_once("table '")?.1.split_once("' is not declared")?.0.to_string();
    let mut place = None;
    let _ = sp::visit_relations(query, |r| {
        let span = r.span();
        if r.0.last().and_then(|p| p.as_ident()).is_some_and(|i| i.value == name) && span.start.line > 0 {
            place = Some(span.into());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    Some((name, place))
}

/// What the planner refused. `fallback` is the statement, for errors that have no place of their own.
pub fn to_diagnostics(error: DataFusionError, fallback: Span) -> Vec<Diagnostic> {
    match error {
        DataFusionError::Collection(errors) => errors.into_iter().flat_map(|e| to_diagnostics(e, fallback)).collect(),
        e => vec![one(e, fallback)],
    }
}

/// An error of the optimizer: a constant expression was evaluated and failed.
pub fn folding(error: DataFusionError, fallback: Span) -> Vec<Diagnostic> {
    vec![Diagnostic::error(codes::PLANNER, fallback, crate::expr::fold_error(error))]
}

fn one(error: DataFusionError, fallback: Span) -> Diagnostic {
    let span = error
        .diagnostic()
        .and_then(|d| d.span)
        .map(|s| {
            let pos = |l: datafusion_common::Location| crate::diagnostic::Pos {
                line: l.line as u32,
                column: l.column as u32,
            };
            Span::new(pos(s.start), pos(s.end))
        })
        .unwrap_or(fallback);
    match error.find_root() {
        DataFusionError::SchemaError(e, _) => schema_error(e, span),
        root => {
            let text = match root {
                DataFusionError::Plan(m) | DataFusionError::NotImplemented(m) | DataFusionError::Internal(m) => {
                    m.clone()
                }
                e => e.strip_backtrace(),
            };
            Diagnostic::error(codes::PLANNER, span, clean(&text))
        }
    }
}

fn schema_error(e: &SchemaError, span: Span) -> Diagnostic {
    match e {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let d =
                Diagnostic::error(codes::UNKNOWN_COLUMN, span, format!("column '{}' does not exist here", show(field)));
            match nearest(field, valid_fields) {
                Some(n) => d.hint(format!("did you mean '{n}'? names are case-sensitive")),
                None if valid_fields.is_empty() => d,
                None => d.hint(format!(
                    "columns are {}",
                    valid_fields.iter().take(20).map(show).collect::<Vec<_>>().join(", ")
                )),
            }
        }
        SchemaError::AmbiguousReference { field } => Diagnostic::error(
            codes::AMBIGUOUS_COLUMN,
            span,
            format!("column '{}' is ambiguous: more than one table has it", field.name),
        )
        .hint(format!("write its table in front: t.{}", field.name)),
        e => Diagnostic::error(codes::PLANNER, span, clean(&e.to_string())),
    }
}

fn show(c: &Column) -> String {
    match &c.relation {
        Some(r) => format!("{}.{}", r.table(), c.name),
        None => c.name.clone(),
    }
}

fn nearest(field: &Column, valid: &[Column]) -> Option<String> {
    let wanted = field.name.to_lowercase();
    // A column of the table that is named comes before namesakes elsewhere.
    let same_table = |c: &Column| field.relation.is_some() && c.relation == field.relation;
    let pool: Vec<&Column> = match valid.iter().any(same_table) {
        true => valid.iter().filter(|c| same_table(c)).collect(),
        false => valid.iter().collect(),
    };
    pool.into_iter()
        .map(|c| (strsim::damerau_levenshtein(&wanted, &c.name.to_lowercase()), c))
        .filter(|(d, _)| *d <= 1 + wanted.chars().count() / 4)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| show(c))
}

/// Arrow's names of the types that users write.
fn sql_type(arrow: &str) -> &str {
    match arrow {
        "Utf8" => "STRING",
        "Int8" => "TINYINT",
        "Int16" => "SMALLINT",
        "Int32" => "INT",
        "Int64" => "BIGINT",
        "Float32" => "FLOAT",
        "Float64" => "DOUBLE",
        "Boolean" => "BOOLEAN",
        "Binary" => "BYTES",
        "Date32" => "DATE",
        other => other,
    }
}

/// Without the wrappers and the advice that speak of DataFusion.
fn clean(text: &str) -> String {
    let mut t = text.trim();
    // Our own words, wrapped by DataFusion: `Execution error: Function 'f' user-defined coercion failed with: ..`
    if let Some((_, ours)) = t.split_once("user-defined coercion failed with: ") {
        t = ours;
    }
    for prefix in ["Error during planning: ", "This feature is not implemented: ", "Schema error: ", "Internal error: "]
    {
        while let Some(rest) = t.strip_prefix(prefix) {
            t = rest;
        }
    }
    if let Some(rest) = t.strip_prefix("There isn't a common type to coerce ")
        && let Some((types, operator)) = rest.split_once(" in ")
    {
        let types: Vec<&str> = types.split(" and ").map(sql_type).collect();
        return format!("{} do not fit together in {}", types.join(" and "), operator.trim_end_matches(" expression"));
    }
    if let Some(rest) = t.strip_prefix("could not parse compound identifier from ") {
        let path = rest.replace(['[', ']', '"'], "").replace(", ", ".");
        return format!("not supported yet: {path}, a field of a ROW in a query");
    }
    let t = t.split(".\nThis issue was likely caused by a bug in DataFusion").next().unwrap_or(t);
    let t = t.split(" No function matches the given name and argument types").next().unwrap_or(t);
    t.lines().next().unwrap_or_default().trim_end_matches('.').to_string()
}
