//! A query over a side table as the right side of a join: its columns and conditions move into the join and above it, so
//! that the join itself is one with the table.

use super::lookup_join::{join_to_lookup, side_of};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, JoinType, Result, TableReference, plan_err};
use datafusion_expr::logical_plan::builder::build_join_schema;
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, when};
use std::sync::Arc;

/// A query that only chooses, renames and computes columns of one side table, and filters its rows.
struct SideQuery {
    /// The table under the query's alias.
    scan: LogicalPlan,
    filters: Vec<Expr>,
    /// The query's columns, in order, over the scan.
    columns: Vec<Expr>,
}

/// The join with such a query; None if the right side is none.
pub fn join_with_query(join: &Join) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::SubqueryAlias(right) = join.right.as_ref() else { return Ok(None) };
    let Some(query) = peel(&right.input, &right.alias)? else { return Ok(None) };
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return plan_err!("{} JOIN with a side table is not supported: use JOIN or LEFT JOIN", join.join_type);
    }
    let over_scan = |e: Expr| substitute(e, join.right.schema(), &query.columns);
    let mut conditions = query.filters.clone();
    for (l, r) in &join.on {
        conditions.push(l.clone().eq(over_scan(r.clone())?));
    }
    for e in join.filter.clone().into_iter().flat_map(split_conjunction_owned) {
        conditions.push(over_scan(e)?);
    }
    let schema = Arc::new(build_join_schema(join.left.schema(), query.scan.schema(), &join.join_type)?);
    let with_table = Join {
        right: Arc::new(query.scan.clone()),
        on: vec![],
        filter: conjunction(conditions),
        schema,
        ..join.clone()
    };
    let Some(lookup) = join_to_lookup(&with_table)? else { return Ok(None) };
    // A row without a match has NULLs, also where the query's expression gives something for NULLs. What was compared
    // in the join is not NULL in a match.
    let matched = match &lookup {
        LogicalPlan::Extension(e) => super::lookup_join::as_lookup_join(&e.node)
            .and_then(|l| l.keys.first())
            .map(|k| Expr::Column(k.side.clone()).is_not_null()),
        _ => None,
    };
    let mut columns: Vec<Expr> = join.left.schema().columns().into_iter().map(Expr::Column).collect();
    for (e, (qualifier, field)) in query.columns.into_iter().zip(join.right.schema().iter()) {
        let value = match (&e, &matched) {
            (Expr::Column(_), _) | (_, None) => e,
            _ if join.join_type == JoinType::Inner => e,
            (_, Some(matched)) => when(matched.clone(), e).end()?,
        };
        columns.push(value.alias_qualified(qualifier.cloned(), field.name()));
    }
    LogicalPlanBuilder::from(lookup).project(columns)?.build().map(Some)
}

fn peel(plan: &LogicalPlan, alias: &TableReference) -> Result<Option<SideQuery>> {
    if side_of(plan).is_some() {
        let scan = LogicalPlanBuilder::from(plan.clone()).alias(alias.clone())?.build()?;
        let columns = scan.schema().columns().into_iter().map(Expr::Column).collect();
        return Ok(Some(SideQuery { scan, filters: vec![], columns }));
    }
    match plan {
        LogicalPlan::SubqueryAlias(a) => peel(&a.input, alias),
        LogicalPlan::Filter(f) => {
            let Some(mut query) = peel(&f.input, alias)? else { return Ok(None) };
            for e in split_conjunction_owned(f.predicate.clone()) {
                query.filters.push(substitute(e, f.input.schema(), &query.columns)?);
            }
            Ok(Some(query))
        }
        LogicalPlan::Projection(p) => {
            let Some(query) = peel(&p.input, alias)? else { return Ok(None) };
            let over = |e: &Expr| substitute(e.clone().unalias(), p.input.schema(), &query.columns);
            let columns = p.expr.iter().map(over).collect::<Result<Vec<_>>>()?;
            Ok(Some(SideQuery { columns, ..query }))
        }
        _ => Ok(None),
    }
}

/// Columns of `schema` by what they stand for; others stay.
fn substitute(e: Expr, schema: &DFSchema, columns: &[Expr]) -> Result<Expr> {
    let stands_for = |c: &Column| schema.maybe_index_of_column(c).and_then(|i| columns.get(i)).cloned();
    e.transform(|e| match &e {
        Expr::Column(c) => Ok(stands_for(c).map_or_else(|| Transformed::no(e.clone()), Transformed::yes)),
        _ => Ok(Transformed::no(e)),
    })
    .map(|t| t.data)
}
