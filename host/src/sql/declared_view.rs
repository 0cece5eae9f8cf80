//! flinkStreamSQL's view in two statements: declared with columns, filled by an INSERT.

use super::ast::{CreateView, DeclareView, Insert, Name};
use super::codes;
use super::cursor::DIALECT;
use crate::data::LogicalType;
use crate::diagnostic::Diagnostic;
use sqlparser::ast as sp;
use sqlparser::parser::Parser;

/// Whether the INSERT gives the view its columns; if not, where and what is wrong. What `*` gives only the planner knows.
pub(super) fn mismatch(view: &DeclareView, insert: &Insert) -> Option<Diagnostic> {
    let name = &view.path.name.value;
    let declared = |n: &Name| view.columns.iter().any(|(c, _)| c.value == n.value);
    if let Some(column) = insert.columns.iter().find(|n| !declared(n)) {
        let message = format!("view {name} has no column {}", column.value);
        return Some(Diagnostic::error(codes::UNKNOWN_COLUMN, column.span, message));
    }
    let wanted = if insert.columns.is_empty() { view.columns.len() } else { insert.columns.len() };
    let found = width(&insert.query.body).filter(|w| *w != wanted || view.columns.len() != wanted)?;
    let message = format!("the query has {found} columns, the view {name} has {}", view.columns.len());
    Some(Diagnostic::error(codes::INSERT_COLUMNS, insert.table.span, message))
}

/// How many columns a query gives, if its text says it.
fn width(body: &sp::SetExpr) -> Option<usize> {
    match body {
        sp::SetExpr::Select(select) => {
            let is_plain =
                |i: &sp::SelectItem| matches!(i, sp::SelectItem::UnnamedExpr(_) | sp::SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_plain).then_some(select.projection.len())
        }
        sp::SetExpr::SetOperation { left, .. } => width(left),
        sp::SetExpr::Query(query) => width(&query.body),
        _ => None,
    }
}

/// One view of both. Columns go by position, as there; a declared type is a CAST.
pub(super) fn fill(view: &DeclareView, insert: Insert) -> CreateView {
    let Insert { columns: listed, query, .. } = insert;
    let columns: Vec<Name> = view.columns.iter().map(|(n, _)| n.clone()).collect();
    let query = match cast_query(view, &listed) {
        Some(mut outer) => {
            set_input(&mut outer, query);
            outer
        }
        None => query,
    };
    CreateView {
        qualifier: Vec::new(),
        name: view.path.name.clone(),
        if_not_exists: false,
        columns,
        query,
        span: insert.span,
    }
}

/// `SELECT CAST(a AS type) AS a, b AS b FROM (..) AS v (a, b)`; an INSERT with a column list says which column of the
/// query is which. None: there is nothing to cast or to move.
fn cast_query(view: &DeclareView, listed: &[Name]) -> Option<Box<sp::Query>> {
    if listed.is_empty() && view.columns.iter().all(|(_, t)| t.is_none()) {
        return None;
    }
    let quoted = |n: &Name| format!("`{}`", n.value.replace('`', ""));
    let item = |(name, data_type): &(Name, Option<LogicalType>)| {
        let name = quoted(name);
        match data_type {
            Some(t) => format!("CAST({name} AS {t}) AS {name}"),
            None => format!("{name} AS {name}"),
        }
    };
    let items: Vec<String> = view.columns.iter().map(item).collect();
    let given: Vec<String> = match listed {
        [] => view.columns.iter().map(|(n, _)| quoted(n)).collect(),
        listed => listed.iter().map(quoted).collect(),
    };
    let sql = format!("SELECT {} FROM (SELECT 1) AS `input` ({})", items.join(", "), given.join(", "));
    Parser::new(&DIALECT).try_with_sql(&sql).and_then(|mut p| p.parse_query()).ok()
}

fn set_input(outer: &mut sp::Query, input: Box<sp::Query>) {
    if let sp::SetExpr::Select(select) = outer.body.as_mut()
        && let Some(table) = select.from.first_mut()
        && let sp::TableFactor::Derived { subquery, .. } = &mut table.relation
    {
        *subquery = input;
    }
}
