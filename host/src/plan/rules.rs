//! The lists of rules, ours: each is here for a reason, and none comes with an upgrade unseen.

use super::filter_below_lookup::FilterBelowLookup;
use super::lookup_join::LookupJoinRule;
use crate::expr::{ExprContext, flink_branches, flink_casts};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::{Analyzer, ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Lookup joins first: the rule needs the ON clause as it is written, before coercion wraps its columns in casts.
pub fn analyze(plan: LogicalPlan, options: &ConfigOptions, cx: &ExprContext) -> Result<LogicalPlan> {
    Analyzer::with_rules(vec![
        Arc::new(LookupJoinRule),
        flink_branches(),
        Arc::new(TypeCoercion::new()),
        flink_casts(cx),
    ])
    .execute_and_check(plan, options, |_, _| {})
}

/// The casts to the sink's columns, which come after the analysis of the query.
pub fn sink_casts(plan: LogicalPlan, cx: &ExprContext) -> Result<LogicalPlan> {
    Analyzer::with_rules(vec![flink_casts(cx)]).execute_and_check(plan, &ConfigOptions::default(), |_, _| {})
}

/// Left out on purpose: EliminateOuterJoin and FilterNullJoinKeys (change what a stream join keeps in state),
/// SingleDistinctToGroupBy (splits an aggregate into two stateful ones), ExtractLeafExpressions (only invents columns),
/// the limit and empty-relation rules.
pub fn optimize(plan: LogicalPlan) -> Result<LogicalPlan> {
    use datafusion_optimizer::*;
    let rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = vec![
        // COALESCE and some others must pass it, they cannot be evaluated otherwise.
        Arc::new(simplify_expressions::SimplifyExpressions::new()),
        Arc::new(RemoveTrueFilter),
        Arc::new(push_down_filter::PushDownFilter::new()),
        Arc::new(FilterBelowLookup),
        Arc::new(common_subexpr_eliminate::CommonSubexprEliminate::new()),
        // Column pruning: sources decode and side tables load only what is used.
        Arc::new(optimize_projections::OptimizeProjections::new()),
    ];
    Optimizer::with_rules(rules).optimize(plan, &OptimizerContext::new(), |_, _| {})
}

/// `WHERE TRUE` is no filter. A condition that is never true stays one (the stock rule puts an empty relation in the
/// place of its input): the job keeps its source, and what is dropped is counted.
#[derive(Debug)]
struct RemoveTrueFilter;

impl OptimizerRule for RemoveTrueFilter {
    fn name(&self) -> &str {
        "remove_true_filter"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }
    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(f) if matches!(f.predicate, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) => {
                Ok(Transformed::yes(Arc::unwrap_or_clone(f.input)))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}
