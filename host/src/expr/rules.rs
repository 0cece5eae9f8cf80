//! Casts and divisions of the logical plan become functions of ours.

use super::ExprContext;
use super::functions::{cast_type, function, is_cast_free, types};
use arrow::datatypes::DataType;
use chrono_tz::Tz;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, Result, ScalarValue};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::FunctionRewrite;
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast, lit};
use datafusion_optimizer::AnalyzerRule;
use datafusion_optimizer::analyzer::function_rewrite::ApplyFunctionRewrites;
use std::sync::Arc;

/// To be run right after type coercion and before the optimizer, which would otherwise fold the casts that coercion
/// added with Arrow's rules (and refuse the job for a constant that a row would never reach).
pub fn flink_casts(cx: &ExprContext) -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(ApplyFunctionRewrites::new(vec![Arc::new(FlinkCasts(cx.time_zone))]))
}

/// To be run before type coercion: the branches of CASE (and IF, which is one) get Flink's common type where
/// DataFusion's is another one. DOUBLE wins over DECIMAL, a TIMESTAMP keeps its precision beside a DATE.
pub fn flink_branches() -> Arc<dyn AnalyzerRule + Send + Sync> {
    Arc::new(ApplyFunctionRewrites::new(vec![Arc::new(FlinkBranches)]))
}

#[derive(Debug)]
struct FlinkBranches;

impl FunctionRewrite for FlinkBranches {
    fn name(&self) -> &str {
        "flink_branches"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::Case(mut case) = expr else { return Ok(Transformed::no(expr)) };
        let mut branches: Vec<&mut Box<Expr>> = case.when_then_expr.iter_mut().map(|(_, then)| then).collect();
        branches.extend(case.else_expr.iter_mut());
        let types = branches.iter().map(|b| b.get_type(schema)).collect::<Result<Vec<_>>>()?;
        let Some(common) = branch_type(&types) else { return Ok(Transformed::no(Expr::Case(case))) };
        for (branch, from) in branches.into_iter().zip(types) {
            if from != common && !from.is_null() {
                let value = std::mem::replace(branch.as_mut(), Expr::Literal(ScalarValue::Null, None));
                **branch = cast(value, common.clone());
            }
        }
        Ok(Transformed::yes(Expr::Case(case)))
    }
}

/// None where DataFusion's choice is right.
fn branch_type(all: &[DataType]) -> Option<DataType> {
    let any = |f: fn(&DataType) -> bool| all.iter().any(f);
    if any(types::is_float) && any(types::is_decimal) && all.iter().all(|t| t.is_numeric() || t.is_null()) {
        return Some(DataType::Float64);
    }
    let is_timestamp = |t: &DataType| matches!(t, DataType::Timestamp(..));
    let timestamp = all.iter().filter(|t| is_timestamp(t)).max_by_key(|t| match t {
        DataType::Timestamp(unit, _) => *unit as u8,
        _ => 0,
    })?;
    let dates = all.contains(&DataType::Date32);
    (dates && all.iter().all(|t| is_timestamp(t) || *t == DataType::Date32 || t.is_null())).then(|| timestamp.clone())
}

#[derive(Debug)]
struct FlinkCasts(Tz);

impl FunctionRewrite for FlinkCasts {
    fn name(&self) -> &str {
        "flink_casts"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        to_flink(expr, schema, self.0)
    }
}

/// One node: a cast that can fail or that Arrow does otherwise, or a division of exact numbers.
pub(super) fn to_flink(expr: Expr, schema: &DFSchema, zone: Tz) -> Result<Transformed<Expr>> {
    if let Some(literal) = int_literal(&expr) {
        return Ok(Transformed::yes(literal));
    }
    let (name, value, field) = match &expr {
        Expr::Cast(c) => ("$cast", &c.expr, &c.field),
        Expr::TryCast(c) => ("$try_cast", &c.expr, &c.field),
        Expr::BinaryExpr(b) if matches!(b.op, Operator::Divide | Operator::Modulo) => {
            let exact = |e: &Expr| e.get_type(schema).map(|t| types::decimal_of(&t).is_some());
            if !exact(&b.left)? || !exact(&b.right)? {
                return Ok(Transformed::no(expr));
            }
            let name = if b.op == Operator::Divide { "$divide" } else { "$modulo" };
            let args = vec![b.left.as_ref().clone(), b.right.as_ref().clone()];
            return Ok(Transformed::yes(call(function(name, zone)?, args)));
        }
        // Negation wraps as all arithmetic on integers does; Arrow's refuses the smallest number.
        Expr::Negative(e) if e.get_type(schema)?.is_integer() => {
            let zero = Expr::Literal(ScalarValue::new_zero(&e.get_type(schema)?)?, None);
            return Ok(Transformed::yes(plain(Operator::Minus, zero, e.as_ref().clone())));
        }
        _ => return Ok(Transformed::no(expr)),
    };
    let to = field.data_type();
    match cast_type(to) {
        Some(target) if !is_cast_free(&value.get_type(schema)?, to) => {
            let args = vec![value.as_ref().clone(), lit(target)];
            Ok(Transformed::yes(call(function(name, zone)?, args)))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

/// `plan::ast_passes` types integer literals by a cast; here they become literals of their type.
fn int_literal(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Cast(c) if *c.field.data_type() == DataType::Int32 => match c.expr.as_ref() {
            Expr::Literal(ScalarValue::Int64(Some(v)), None) => i32::try_from(*v).ok().map(lit),
            _ => None,
        },
        _ => None,
    }
}

fn call(udf: Arc<datafusion_expr::ScalarUDF>, args: Vec<Expr>) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(udf, args))
}

/// `CAST(value AS target)` with Flink's rules, for the planners of this crate.
pub(super) fn cast_to(value: Expr, target: String, zone: Tz) -> Result<Expr> {
    Ok(call(function("$cast", zone)?, vec![value, lit(target)]))
}

/// An operator function over two operands.
pub(super) fn binary(name: &str, left: Expr, right: Expr, zone: Tz) -> Result<Expr> {
    Ok(call(function(name, zone)?, vec![left, right]))
}

/// The plain operator.
pub(super) fn plain(op: Operator, left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}
