//! The lookup join as a node of the logical plan, and the analyzer rule that makes it from a plain join.
//!
//! It has two inputs, so that columns of both sides resolve and can be pruned; the key columns of the side table stay
//! out of `expressions()`, so that no rule rewrites them.

use super::context::TableHandle;
use super::correlate::{join_to_correlate, unnest_alone};
use super::side_query::join_with_query;
use arrow::datatypes::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{Column, DFSchema, DFSchemaRef, JoinType, Result, TableReference, plan_err};
use datafusion_expr::logical_plan::builder::build_join_schema;
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{
    Expr, ExprSchemable, Extension, Join, LogicalPlan, Operator, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
    try_cast,
};
use datafusion_optimizer::AnalyzerRule;
use sqlparser::ast as sp;
use std::fmt;
use std::sync::Arc;

/// One equality of the ON clause.
#[derive(Debug, PartialEq, Eq, Hash, Clone)]
pub struct LookupKey {
    /// Over the stream.
    pub stream: Expr,
    pub side: Column,
    /// The type that both are compared in; a value that does not fit it matches nothing.
    pub compare: DataType,
}

#[derive(Debug, PartialEq, Eq, Hash, Clone)]
pub struct LookupJoin {
    pub left: LogicalPlan,
    /// The scan of the side table, under its alias.
    pub right: LogicalPlan,
    pub keys: Vec<LookupKey>,
    pub residual: Option<Expr>,
    pub join_type: JoinType,
    pub as_of: Option<String>,
    pub schema: DFSchemaRef,
}

impl PartialOrd for LookupJoin {
    fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> {
        None
    }
}

impl UserDefinedLogicalNodeCore for LookupJoin {
    fn name(&self) -> &str {
        "LookupJoin"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }
    fn expressions(&self) -> Vec<Expr> {
        self.keys.iter().map(|k| k.stream.clone()).chain(self.residual.clone()).collect()
    }
    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Ok([left, right]) = <[LogicalPlan; 2]>::try_from(inputs) else {
            return plan_err!("a lookup join has two inputs");
        };
        let residual = if self.residual.is_some() { exprs.pop() } else { None };
        let schema = Arc::new(build_join_schema(left.schema(), right.schema(), &self.join_type)?);
        let keys = exprs.into_iter().zip(&self.keys).map(|(stream, k)| LookupKey { stream, ..k.clone() }).collect();
        Ok(Self { keys, residual, schema, left, right, ..self.clone() })
    }
    /// Which columns of the two inputs are needed for these output columns.
    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let (ls, rs) = (self.left.schema(), self.right.schema());
        let n = ls.fields().len();
        let mut left: Vec<usize> = output.iter().copied().filter(|i| *i < n).collect();
        let mut right: Vec<usize> = output.iter().copied().filter(|i| *i >= n).map(|i| i - n).collect();
        for e in &UserDefinedLogicalNodeCore::expressions(self) {
            for c in e.column_refs() {
                if let Some(i) = ls.maybe_index_of_column(c) {
                    left.push(i)
                } else if let Some(i) = rs.maybe_index_of_column(c) {
                    right.push(i)
                }
            }
        }
        right.extend(self.keys.iter().filter_map(|k| rs.maybe_index_of_column(&k.side)));
        for v in [&mut left, &mut right] {
            v.sort_unstable();
            v.dedup();
        }
        Some(vec![left, right])
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let keys: Vec<_> = self.keys.iter().map(|k| format!("{} = {}", k.stream, k.side)).collect();
        write!(f, "LookupJoin: {} keys=[{}]", self.join_type, keys.join(", "))?;
        if let Some(r) = &self.residual {
            write!(f, " residual={r}")?
        }
        Ok(())
    }
}

pub fn as_lookup_join(node: &Arc<dyn UserDefinedLogicalNode>) -> Option<&LookupJoin> {
    node.as_any().downcast_ref::<LookupJoin>()
}

/// The lookup table that a plan scans, under aliases only.
pub fn side_of(plan: &LogicalPlan) -> Option<&TableHandle> {
    match plan {
        LogicalPlan::SubqueryAlias(a) => side_of(&a.input),
        // A constant condition is pushed into both inputs; on the stream's side it has its effect.
        LogicalPlan::Filter(f) if f.predicate.column_refs().is_empty() => side_of(&f.input),
        LogicalPlan::TableScan(t) => t.source.downcast_ref::<TableHandle>().filter(|h| h.lookup),
        _ => None,
    }
}

/// All columns of the expression are of this schema (and there is one).
pub fn only_from(e: &Expr, schema: &DFSchema) -> bool {
    let columns = e.column_refs();
    !columns.is_empty() && columns.iter().all(|c| schema.has_column(c))
}

/// The type in which a stream value and a side column are compared: by value, so that INT meets BIGINT and a number
/// meets its text (what is no number matches nothing).
fn compare_type(stream: &DataType, side: &DataType) -> Option<DataType> {
    use DataType::*;
    if stream == side {
        return Some(side.clone());
    }
    let float = |t: &DataType| matches!(t, Float32 | Float64);
    let text = |t: &DataType| matches!(t, Utf8);
    match (stream, side) {
        (Null, t) | (t, Null) => Some(t.clone()),
        (a, b) if text(a) && (b.is_numeric() || b.is_temporal() || *b == Boolean) => Some(widest(b)),
        (a, b) if text(b) && (a.is_numeric() || a.is_temporal() || *a == Boolean) => Some(widest(a)),
        (a, b) if a.is_integer() && b.is_integer() => Some(Int64),
        (a, b) if a.is_numeric() && b.is_numeric() && (float(a) || float(b)) => Some(Float64),
        (a, b) if a.is_numeric() && b.is_numeric() => {
            let scale = |t: &DataType| if let Decimal128(_, s) = t { *s } else { 0 };
            Some(Decimal128(38, scale(a).max(scale(b))))
        }
        (Timestamp(a, za), Timestamp(b, zb)) if za.is_some() == zb.is_some() => Some(Timestamp(*a.max(b), za.clone())),
        (Date32, t @ Timestamp(..)) | (t @ Timestamp(..), Date32) => Some(t.clone()),
        _ => None,
    }
}

/// Room for every value of the other side: `'3000000000'` is no INT, but it is a number.
fn widest(t: &DataType) -> DataType {
    if t.is_integer() { DataType::Int64 } else { t.clone() }
}

pub(super) fn join_to_lookup(join: &Join) -> Result<Option<LogicalPlan>> {
    if let Some(h) = side_of(&join.left) {
        return plan_err!("lookup table '{}' must stand on the right of a join", h.name);
    }
    let Some(side) = side_of(&join.right) else { return join_with_query(join) };
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return plan_err!(
            "{} JOIN with lookup table '{}' is not supported: use JOIN or LEFT JOIN",
            join.join_type,
            side.name
        );
    }
    let (ls, rs) = (join.left.schema(), join.right.schema());
    let mut conjuncts: Vec<Expr> = join.on.iter().map(|(l, r)| l.clone().eq(r.clone())).collect();
    conjuncts.extend(join.filter.clone().into_iter().flat_map(split_conjunction_owned));
    let (mut keys, mut rest) = (vec![], vec![]);
    for e in conjuncts {
        match equality(&e, ls, rs) {
            Some((stream, column, side_cast)) => {
                let stream = may_miss(stream);
                let stream_type = stream.get_type(ls)?;
                let side_type = match &side_cast {
                    Some(t) => t,
                    None => rs.field(rs.index_of_column(column)?).data_type(),
                };
                match compare_type(&stream_type, side_type) {
                    Some(compare) => keys.push(LookupKey { stream, side: column.clone(), compare }),
                    None => {
                        return plan_err!("cannot compare {stream} ({stream_type}) with {column} ({side_type})");
                    }
                }
            }
            None => rest.push(e),
        }
    }
    if keys.is_empty() {
        return plan_err!(
            "the join with lookup table '{}' needs at least one equality between a stream expression and one of its columns",
            side.name
        );
    }
    if let Some(e) = &side.as_of {
        check_as_of(e, ls)?;
    }
    Ok(Some(LogicalPlan::Extension(Extension {
        node: Arc::new(LookupJoin {
            left: join.left.as_ref().clone(),
            right: join.right.as_ref().clone(),
            keys,
            residual: conjunction(rest),
            join_type: join.join_type,
            as_of: side.as_of.as_ref().map(|e| e.to_string()),
            schema: join.schema.clone(),
        }),
    })))
}

/// A value of the stream that does not fit the key matches nothing; it is no failure of the row.
fn may_miss(stream: &Expr) -> Expr {
    match crate::expr::as_cast(stream) {
        Some((value, to)) => try_cast(value.clone(), to),
        None => stream.clone(),
    }
}

/// `stream expression = side column`, either way round; the side may stand in a cast to the type of the comparison.
fn equality<'a>(e: &'a Expr, ls: &DFSchema, rs: &DFSchema) -> Option<(&'a Expr, &'a Column, Option<DataType>)> {
    let Expr::BinaryExpr(b) = e else { return None };
    if b.op != Operator::Eq {
        return None;
    }
    let side = |e: &'a Expr| match e {
        Expr::Column(c) if rs.has_column(c) => Some((c, None)),
        e => match crate::expr::as_cast(e)? {
            (Expr::Column(c), t) if rs.has_column(c) => Some((c, Some(t))),
            _ => None,
        },
    };
    let pair = |stream: &'a Expr, other: &'a Expr| {
        let (column, cast) = side(other)?;
        only_from(stream, ls).then_some((stream, column, cast))
    };
    pair(&b.left, &b.right).or_else(|| pair(&b.right, &b.left))
}

/// The time must be a processing-time column of the stream.
fn check_as_of(e: &sp::Expr, ls: &DFSchema) -> Result<()> {
    let parts: Vec<&str> = match e {
        sp::Expr::Identifier(i) => vec![&i.value],
        sp::Expr::CompoundIdentifier(v) => v.iter().map(|i| i.value.as_str()).collect(),
        sp::Expr::Function(f) if f.name.to_string().eq_ignore_ascii_case("proctime") => return Ok(()),
        e => return plan_err!("FOR SYSTEM_TIME AS OF takes a processing-time column, found {e}"),
    };
    let (table, column) = match parts.as_slice() {
        [c] => (None, *c),
        [t, c] => (Some(*t), *c),
        _ => return plan_err!("FOR SYSTEM_TIME AS OF {e}: not a column"),
    };
    let found = match table {
        Some(t) => ls.maybe_index_of_column(&Column::new(Some(TableReference::bare(t)), column)),
        None => ls.fields().iter().position(|f| f.name() == column),
    };
    match found {
        Some(i) if ls.field(i).metadata().get("time").map(String::as_str) == Some("proctime") => Ok(()),
        Some(_) => plan_err!(
            "FOR SYSTEM_TIME AS OF {e}: not a processing-time attribute; declare one with `{column} AS PROCTIME()`"
        ),
        // flinkStreamSQL gives every source a hidden PROCTIME.
        None if column.eq_ignore_ascii_case("proctime") => Ok(()),
        None => plan_err!("FOR SYSTEM_TIME AS OF {e}: no such column on the left side"),
    }
}

/// Joins with a lookup table on the right become [`LookupJoin`]; any other use of one is refused.
#[derive(Debug)]
pub struct LookupJoinRule;

impl AnalyzerRule for LookupJoinRule {
    fn name(&self) -> &str {
        "lookup_join"
    }
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan
            .transform_up_with_subqueries(|p| match &p {
                LogicalPlan::Join(j) => match join_to_correlate(j)?.map_or_else(|| join_to_lookup(j), |n| Ok(Some(n)))? {
                    Some(n) => Ok(Transformed::yes(n)),
                    None => plan_err!(
                        "a join of two streams is not supported yet: declare the right table PERIOD FOR SYSTEM_TIME or join it FOR SYSTEM_TIME AS OF"
                    ),
                },
                _ => Ok(Transformed::no(p)),
            })?
            .data;
        let plan = unnest_alone(plan)?;
        refuse_leftovers(&plan)?;
        Ok(plan)
    }
}

fn refuse_leftovers(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::TableScan(t) => match t.source.downcast_ref::<TableHandle>() {
            Some(h) if h.lookup => plan_err!("lookup table '{}' can only be used on the right of a join", h.name),
            _ => Ok(()),
        },
        LogicalPlan::Extension(e) => match as_lookup_join(&e.node) {
            Some(l) => refuse_leftovers(&l.left),
            None => Ok(()),
        },
        p => p.inputs().into_iter().try_for_each(refuse_leftovers),
    }
}
