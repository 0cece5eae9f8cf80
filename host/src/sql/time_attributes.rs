//! flinkStreamSQL gives each source columns that no one declares: PROCTIME, and ROWTIME where there is a watermark. Here
//! they are not in `*`; a query that names one gets the expression it stands for.

use super::ast::{ColumnKind, CreateTable, Explain, Explained, Script, Statement, WatermarkSpec};
use super::special_forms::call;
use crate::data::LogicalType;
use sqlparser::ast::{self as sp, VisitMut, VisitorMut};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Puts what they stand for into all queries.
pub(super) fn expand(script: &mut Script) {
    let declared = |s: &Statement| match s {
        Statement::CreateTable(t) => Some((t.name.value.clone(), Table::of(t))),
        _ => None,
    };
    let tables: HashMap<String, Table> = script.statements.iter().filter_map(declared).collect();
    if !tables.values().any(|t| t.is_source) {
        return;
    }
    let mut attributes = Attributes { tables };
    for s in &mut script.statements {
        let query = match s {
            Statement::Insert(i) | Statement::Explain(Explain { what: Explained::Insert(i), .. }) => &mut i.query,
            Statement::Explain(Explain { what: Explained::Query(q), .. }) => q,
            Statement::CreateView(v) => &mut v.query,
            _ => continue,
        };
        let _ = query.visit(&mut attributes);
    }
}

/// What is to be known of a table.
struct Table {
    /// Of flinkStreamSQL, and no side table.
    is_source: bool,
    columns: Vec<String>,
    /// The watermark's column, and whether it counts milliseconds.
    watermark: Option<(String, bool)>,
}

impl Table {
    fn of(table: &CreateTable) -> Self {
        let is_dtstack = table.options.entries.iter().any(|e| e.key.eq_ignore_ascii_case("type"));
        let named = |name: &str| table.columns.iter().find(|c| c.name.value == name).map(|c| &c.kind);
        let watermark = table.watermark.as_ref().map(|w| {
            let (WatermarkSpec::Expr { column, .. } | WatermarkSpec::WithOffset { column, .. }) = w;
            let kind = named(&column.value);
            let counts = matches!(kind, Some(ColumnKind::Physical { data_type: LogicalType::BigInt, .. }));
            (column.value.clone(), counts)
        });
        Self {
            is_source: is_dtstack && table.period_for_system_time.is_none(),
            columns: table.columns.iter().map(|c| c.name.value.clone()).collect(),
            watermark,
        }
    }

    /// The expression of a column that is not declared. `qualifier` is the table's name in the query.
    fn hidden(&self, name: &sp::Ident, qualifier: Option<&sp::Ident>) -> Option<sp::Expr> {
        let declared = self.columns.iter().any(|c| c.eq_ignore_ascii_case(&name.value));
        if declared || !self.is_source {
            return None;
        }
        if name.value.eq_ignore_ascii_case("PROCTIME") {
            return Some(call(sp::Ident::with_span(name.span, "PROCTIME"), []));
        }
        let (column, counts_millis) = self.watermark.as_ref().filter(|_| is_rowtime(name))?;
        let column = sp::Ident { value: column.clone(), quote_style: Some('`'), span: name.span };
        let column = match qualifier {
            Some(q) => sp::Expr::CompoundIdentifier(vec![q.clone(), column]),
            None => sp::Expr::Identifier(column),
        };
        Some(if *counts_millis { local_time(column, name) } else { column })
    }
}

fn is_rowtime(name: &sp::Ident) -> bool {
    name.value.eq_ignore_ascii_case("ROWTIME")
}

/// `CAST(TO_TIMESTAMP_LTZ(millis, 3) AS TIMESTAMP(3))`: the wall clock in the job's zone, as there.
fn local_time(millis: sp::Expr, name: &sp::Ident) -> sp::Expr {
    let three = sp::Expr::Value(sp::Value::Number("3".to_string(), false).with_empty_span());
    let instant = call(sp::Ident::with_span(name.span, "TO_TIMESTAMP_LTZ"), [millis, three]);
    sp::Expr::Cast {
        kind: sp::CastKind::Cast,
        expr: Box::new(instant),
        data_type: sp::DataType::Timestamp(Some(3), sp::TimezoneInfo::None),
        array: false,
        format: None,
    }
}

struct Attributes {
    tables: HashMap<String, Table>,
}

/// A table of a FROM clause: what the query calls it, and what it is, if it is declared as a table.
type Scope<'a> = Vec<(sp::Ident, Option<&'a Table>)>;

impl VisitorMut for Attributes {
    type Break = ();

    /// Inner queries were visited before: what is left belongs to this one.
    fn post_visit_select(&mut self, select: &mut sp::Select) -> ControlFlow<()> {
        let scope = self.scope(&select.from);
        if !scope.iter().any(|(_, t)| t.is_some_and(|t| t.is_source)) {
            return ControlFlow::Continue(());
        }
        for item in &mut select.projection {
            if let sp::SelectItem::UnnamedExpr(e) = item
                && let (Some(expr), Some(alias)) = (stands_for(e, &scope), last_name(e))
            {
                *item = sp::SelectItem::ExprWithAlias { expr, alias };
            }
        }
        let _ = sp::visit_expressions_mut(select, |e| {
            if let Some(expr) = stands_for(e, &scope) {
                *e = expr;
            }
            ControlFlow::<()>::Continue(())
        });
        ControlFlow::Continue(())
    }
}

impl Attributes {
    fn scope(&self, from: &[sp::TableWithJoins]) -> Scope<'_> {
        let relations =
            from.iter().flat_map(|f| std::iter::once(&f.relation).chain(f.joins.iter().map(|j| &j.relation)));
        relations
            .filter_map(|r| match r {
                sp::TableFactor::Table { name, alias, .. } => {
                    let name = name.0.last()?.as_ident()?;
                    let called = alias.as_ref().map_or(name, |a| &a.name);
                    Some((called.clone(), self.tables.get(&name.value)))
                }
                sp::TableFactor::Derived { alias: Some(alias), .. } => Some((alias.name.clone(), None)),
                _ => None,
            })
            .collect()
    }
}

fn last_name(e: &sp::Expr) -> Option<sp::Ident> {
    match e {
        sp::Expr::Identifier(i) => Some(i.clone()),
        sp::Expr::CompoundIdentifier(parts) => parts.last().cloned(),
        _ => None,
    }
}

fn stands_for(e: &sp::Expr, scope: &Scope<'_>) -> Option<sp::Expr> {
    match e {
        sp::Expr::Identifier(name) => {
            // A column that somebody declares is meant rather.
            let declares = |t: &Table| t.columns.iter().any(|c| c.eq_ignore_ascii_case(&name.value));
            if scope.iter().any(|(_, t)| t.is_some_and(declares)) {
                return None;
            }
            scope.iter().find_map(|(_, t)| t.and_then(|t| t.hidden(name, None)))
        }
        sp::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] => {
                let (_, found) = scope.iter().find(|(called, _)| called.value == table.value)?;
                found.and_then(|t| t.hidden(name, Some(table)))
            }
            _ => None,
        },
        _ => None,
    }
}
