//! `UNNEST(..)` in FROM: the parser takes it for a table with arguments where the dialect does not know the word.

use sqlparser::ast::{self as sp, VisitMut, VisitorMut};
use std::ops::ControlFlow;

/// Gives every UNNEST of the query its own form.
pub fn name_unnests(query: &mut sp::Query) {
    let _ = query.visit(&mut Unnests);
}

struct Unnests;

impl VisitorMut for Unnests {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut sp::TableFactor) -> ControlFlow<()> {
        let sp::TableFactor::Table { name, alias, args: Some(args), with_ordinality, version: None, .. } = factor
        else {
            return ControlFlow::Continue(());
        };
        if name.0.len() != 1 || !name.to_string().eq_ignore_ascii_case("UNNEST") {
            return ControlFlow::Continue(());
        }
        let value = |a: &sp::FunctionArg| match a {
            sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => Some(e.clone()),
            _ => None,
        };
        if let Some(array_exprs) = args.args.iter().map(value).collect::<Option<Vec<_>>>() {
            *factor = sp::TableFactor::UNNEST {
                alias: alias.take(),
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality: *with_ordinality,
            };
        }
        ControlFlow::Continue(())
    }
}
