//! Moves filters below a lookup join: fewer lookups. The stock push-down cannot: it hands a predicate to every input
//! of an extension node.

use super::lookup_join::{as_lookup_join, only_from};
use datafusion_common::tree_node::Transformed;
use datafusion_common::{JoinType, Result};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Extension, Filter, LogicalPlan};
use datafusion_optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Conditions on the stream alone go below the lookup (INNER and LEFT). For INNER the rest joins the residual; for LEFT
/// it stays above, where a padded row can still be rejected.
#[derive(Debug)]
pub struct FilterBelowLookup;

impl OptimizerRule for FilterBelowLookup {
    fn name(&self) -> &str {
        "filter_below_lookup"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }
    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(f) = &plan else { return Ok(Transformed::no(plan)) };
        let LogicalPlan::Extension(e) = f.input.as_ref() else { return Ok(Transformed::no(plan)) };
        let Some(l) = as_lookup_join(&e.node) else { return Ok(Transformed::no(plan)) };
        let (mut below, mut residual, mut above) = (vec![], vec![], vec![]);
        for c in split_conjunction_owned(f.predicate.clone()) {
            // What can refuse a row stays behind the conditions before it, which may be its guard.
            let guarded = crate::expr::is_fallible(&c) && !(residual.is_empty() && above.is_empty());
            if !c.is_volatile() && !guarded && only_from(&c, l.left.schema()) {
                below.push(c)
            } else if !c.is_volatile() && l.join_type == JoinType::Inner {
                residual.push(c)
            } else {
                above.push(c)
            }
        }
        if below.is_empty() && residual.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let mut node = l.clone();
        if let Some(p) = conjunction(below) {
            node.left = LogicalPlan::Filter(Filter::try_new(p, Arc::new(node.left))?);
        }
        node.residual = conjunction(node.residual.into_iter().chain(residual));
        let node = LogicalPlan::Extension(Extension { node: Arc::new(node) });
        Ok(Transformed::yes(match conjunction(above) {
            Some(p) => LogicalPlan::Filter(Filter::try_new(p, Arc::new(node))?),
            None => node,
        }))
    }
}
