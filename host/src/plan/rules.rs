//! The lists of rules, ours: each is here for a reason, and none comes with an upgrade unseen.

use super::filter_below_lookup::FilterBelowLookup;
use super::lookup_join::LookupJoinRule;
use crate::data::LogicalType;
use crate::expr::{ExprContext, flink_branches, flink_casts};
use arrow::datatypes::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::{Analyzer, ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Lookup joins first: the rule needs the ON clause as it is written, before coercion wraps its columns in casts.
pub fn analyze(plan: LogicalPlan, options: &ConfigOptions, cx: &ExprContext) -> Result<LogicalPlan> {
    check_unions(&plan)?;
    Analyzer::with_rules(vec![
        Arc::new(LookupJoinRule),
        flink_branches(),
        Arc::new(TypeCoercion::new()),
        flink_casts(cx),
    ])
    .execute_and_check(plan, options, |_, _| {})
}

/// Branches of a union whose columns are of different kinds: DataFusion would make text of numbers, Flink refuses.
pub fn check_unions(plan: &LogicalPlan) -> Result<()> {
    plan.apply(|p| {
        let LogicalPlan::Union(union) = p else { return Ok(TreeNodeRecursion::Continue) };
        let Some((first, others)) = union.inputs.split_first() else { return Ok(TreeNodeRecursion::Continue) };
        for other in others {
            for (at, (a, b)) in first.schema().fields().iter().zip(other.schema().fields()).enumerate() {
                if !unites(a.data_type(), b.data_type()) {
                    let name = |t: &DataType| LogicalType::from_arrow(t).map_or(t.to_string(), |l| l.to_string());
                    return plan_err!(
                        "UNION ALL: column {} is {} in one branch and {} in another: write a CAST",
                        at + 1,
                        name(a.data_type()),
                        name(b.data_type())
                    );
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map(|_| ())
}

fn unites(a: &DataType, b: &DataType) -> bool {
    a == b
        || a.is_null()
        || b.is_null()
        || (a.is_numeric() && b.is_numeric())
        || (a.is_temporal() && b.is_temporal() && !matches!((a, b), (DataType::Time32(_) | DataType::Time64(_), _)))
        || (a.is_nested() && b.is_nested())
        || (matches!(a, DataType::Binary | DataType::FixedSizeBinary(_))
            && matches!(b, DataType::Binary | DataType::FixedSizeBinary(_)))
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
        // A union of unions is one union.
        Arc::new(optimize_unions::OptimizeUnions::new()),
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
