//! Expressions over batches with Flink's meaning. Only this module and `plan` name a DataFusion crate.
//!
//! How an expression comes to run: `plan::ast_passes` rewrites what SQL's grammar says and DataFusion would lose; the
//! planner resolves functions from [`scalar_functions`] and operators through [`expr_planners`]; after type coercion
//! [`flink_casts`] puts our casts in the place of Arrow's; the optimizer folds and shares; [`compile`] binds row
//! numbers to everything that can refuse a row and makes AND, OR and COALESCE lazy.

mod cast;
mod clock;
mod compile;
mod errors;
pub mod function;
mod functions;
mod java_format;
mod java_printf;
mod java_regex;
mod json_path;
mod json_text;
mod lazy;
mod planner;
pub mod program;
mod rounding;
mod rules;
mod type_name;
mod user_function;

#[cfg(test)]
mod golden;

pub use cast::check as check_cast;
pub use compile::{CompiledExprs, CompiledFilter, Evaluated, compile, compile_filter, fold_error, is_fallible};
pub use functions::{names, scalar_functions};
pub use planner::expr_planners;
pub use rules::{flink_branches, flink_casts};
pub use user_function::user_function;

use arrow::datatypes::DataType;
use chrono_tz::Tz;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::Expr;

/// What expressions need to know about the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExprContext {
    /// TIMESTAMP_LTZ is read and shown in this zone.
    pub time_zone: Tz,
}

impl ExprContext {
    pub fn new(time_zone: Tz) -> Self {
        Self { time_zone }
    }
}

impl Default for ExprContext {
    fn default() -> Self {
        Self::new(Tz::UTC)
    }
}

/// The expression as EXPLAIN shows it.
pub fn show(expr: &Expr) -> String {
    let quoted = expr.clone().transform(|e| {
        Ok(match &e {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => {
                Transformed::yes(Expr::Column(Column::new_unqualified(format!("'{}'", text.replace('\'', "''")))))
            }
            // The type of a cast travels as text.
            Expr::ScalarFunction(f) if f.func.name() == "$cast" || f.func.name() == "$try_cast" => {
                let mut f = f.clone();
                if let Some(Expr::Column(to)) = f.args.get_mut(1) {
                    to.name = to.name.trim_matches('\'').to_string();
                }
                Transformed::yes(Expr::ScalarFunction(f))
            }
            _ => Transformed::no(e),
        })
    });
    quoted.map_or_else(|_| expr.human_display().to_string(), |q| q.data.human_display().to_string())
}

/// The value and the type of a cast, explicit or added for a comparison; None for anything else.
pub fn as_cast(expr: &Expr) -> Option<(&Expr, DataType)> {
    match expr {
        Expr::Cast(c) => Some((&c.expr, c.field.data_type().clone())),
        Expr::ScalarFunction(f) if f.func.name() == "$cast" => match f.args.as_slice() {
            [value, Expr::Literal(ScalarValue::Utf8(Some(name)), _)] => {
                Some((value, type_name::parse(name)?.to_arrow()))
            }
            _ => None,
        },
        _ => None,
    }
}
