//! Joins of two streams, refused where they stand. (The planner refuses those that are behind views and sub-queries.)

use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Span};
use crate::sql::codes;
use sqlparser::ast::{self as sp, Spanned, Visit, Visitor};
use std::ops::ControlFlow;

/// `statement` is where to point for a table without a place of its own.
pub(super) fn check(query: &sp::Query, statement: Span, catalog: &Catalog, out: &mut Vec<Diagnostic>) {
    let _ = query.visit(&mut Joins { statement, catalog, out });
}

struct Joins<'a> {
    statement: Span,
    catalog: &'a Catalog,
    out: &'a mut Vec<Diagnostic>,
}

impl Visitor for Joins<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &sp::Select) -> ControlFlow<()> {
        for from in &select.from {
            // A side table on the left is joined as if it stood on the right.
            if from.joins.is_empty() || self.stream(&from.relation).is_none() {
                continue;
            }
            for join in &from.joins {
                let Some(name) = self.stream(&join.relation).filter(|_| is_supported_kind(join)) else { continue };
                let span = name.span();
                let span = if span.start.line == 0 { self.statement } else { span.into() };
                let message = "not supported yet: a join of two streams";
                let hint = "a side table is declared PERIOD FOR SYSTEM_TIME, or joined FOR SYSTEM_TIME AS OF";
                self.out.push(Diagnostic::error(codes::UNSUPPORTED_JOIN, span, message).hint(hint));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Joins<'_> {
    /// The name of a declared table that is not looked up.
    fn stream<'f>(&self, factor: &'f sp::TableFactor) -> Option<&'f sp::ObjectName> {
        let sp::TableFactor::Table { name, version: None, args: None, .. } = factor else { return None };
        let table = self.catalog.tables.get(&name.0.last()?.as_ident()?.value)?;
        (!table.is_side).then_some(name)
    }
}

/// Other kinds are refused as such.
fn is_supported_kind(join: &sp::Join) -> bool {
    use sp::JoinOperator as J;
    matches!(
        &join.join_operator,
        J::Join(c) | J::Inner(c) | J::Left(c) | J::LeftOuter(c)
            if matches!(c, sp::JoinConstraint::On(_) | sp::JoinConstraint::Using(_))
    )
}
