//! Names of the columns of a SELECT, as Flink gives them: `EXPR$0` for an expression without alias, the last part of
//! a compound name, `a0` for the second `a`.

use sqlparser::ast as sp;
use std::collections::HashSet;

/// Gives every item of every SELECT in the query a unique name (wildcards stay as they are).
pub fn name_columns(query: &mut sp::Query) {
    if let Some(with) = &mut query.with {
        for cte in &mut with.cte_tables {
            name_columns(&mut cte.query);
        }
    }
    name_set_expr(&mut query.body);
}

fn name_set_expr(body: &mut sp::SetExpr) {
    match body {
        sp::SetExpr::Select(select) => name_select(select),
        sp::SetExpr::Query(q) => name_columns(q),
        sp::SetExpr::SetOperation { left, right, .. } => {
            name_set_expr(left);
            name_set_expr(right);
        }
        _ => {}
    }
}

fn name_select(select: &mut sp::Select) {
    for from in &mut select.from {
        name_factor(&mut from.relation);
        for join in &mut from.joins {
            name_factor(&mut join.relation);
        }
    }
    let mut taken = HashSet::new();
    let has_wildcard = select
        .projection
        .iter()
        .any(|i| matches!(i, sp::SelectItem::Wildcard(_) | sp::SelectItem::QualifiedWildcard(..)));
    for (at, item) in select.projection.iter_mut().enumerate() {
        match item {
            sp::SelectItem::ExprWithAlias { alias, .. } => {
                taken.insert(alias.value.clone());
            }
            sp::SelectItem::UnnamedExpr(e) => {
                let (wanted, is_column) = match e {
                    sp::Expr::Identifier(i) => (i.value.clone(), true),
                    sp::Expr::CompoundIdentifier(parts) => match parts.last() {
                        Some(last) => (last.value.clone(), true),
                        None => continue,
                    },
                    _ => (format!("EXPR${at}"), false),
                };
                let mut name = wanted.clone();
                let mut n = 0;
                while !taken.insert(name.clone()) {
                    name = format!("{wanted}{n}");
                    n += 1;
                }
                // Beside a wildcard a plain column keeps its qualifier, so that DataFusion tells the two apart.
                if is_column && name == wanted && (has_wildcard || matches!(e, sp::Expr::Identifier(_))) {
                    continue;
                }
                let alias = sp::Ident::with_quote('`', name);
                *item = sp::SelectItem::ExprWithAlias { expr: e.clone(), alias };
            }
            _ => {}
        }
    }
}

fn name_factor(factor: &mut sp::TableFactor) {
    match factor {
        sp::TableFactor::Derived { subquery, .. } => name_columns(subquery),
        sp::TableFactor::NestedJoin { table_with_joins, .. } => {
            name_factor(&mut table_with_joins.relation);
            for join in &mut table_with_joins.joins {
                name_factor(&mut join.relation);
            }
        }
        _ => {}
    }
}
