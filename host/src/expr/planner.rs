//! Binary operators with Flink's typing: text meets numbers, booleans and times by a cast of the text (Calcite's
//! `TypeCoercionImpl`), DECIMAL gets Flink's precision and scale.

use super::ExprContext;
use super::functions::{cast_type, function, types};
use super::rules::{binary, cast_to, plain};
use arrow::datatypes::{DataType, Field};
use chrono_tz::Tz;
use datafusion_common::{Column, DFSchema, Result, TableReference, plan_err};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion_expr::{Expr, ExprSchemable, Operator, lit};
use sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// The hooks that the SQL planner asks, in order.
pub fn expr_planners(cx: &ExprContext) -> Vec<Arc<dyn ExprPlanner>> {
    vec![Arc::new(FlinkOperators { zone: cx.time_zone })]
}

#[derive(Debug)]
struct FlinkOperators {
    zone: Tz,
}

impl ExprPlanner for FlinkOperators {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        let op = match &raw.op {
            B::StringConcat => {
                return Ok(PlannerResult::Planned(binary("concat", raw.left, raw.right, self.zone)?));
            }
            B::Plus => Operator::Plus,
            B::Minus => Operator::Minus,
            B::Multiply => Operator::Multiply,
            B::Divide => Operator::Divide,
            B::Modulo => Operator::Modulo,
            B::Eq => Operator::Eq,
            B::NotEq => Operator::NotEq,
            B::Lt => Operator::Lt,
            B::LtEq => Operator::LtEq,
            B::Gt => Operator::Gt,
            B::GtEq => Operator::GtEq,
            B::And | B::Or => return Ok(PlannerResult::Original(raw)),
            other => return plan_err!("the operator {other} is not supported"),
        };
        let (left, right) = (raw.left, raw.right);
        let (l, r) = (left.get_type(schema)?, right.get_type(schema)?);
        if !matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo) {
            let (left, right) = self.comparable(&raw.op, left, &l, right, &r)?;
            return Ok(PlannerResult::Planned(plain(op, left, right)));
        }
        self.arithmetic(&raw.op, op, left, &l, right, &r).map(PlannerResult::Planned)
    }

    /// `row.field.field`
    fn plan_compound_identifier(
        &self,
        column: &Field,
        qualifier: Option<&TableReference>,
        nested: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let column = Expr::Column(Column::new(qualifier.cloned(), column.name()));
        nested.iter().try_fold(column, |row, name| field_of(row, name, self.zone)).map(PlannerResult::Planned)
    }
}

/// A field of a ROW, by name.
fn field_of(row: Expr, name: &str, zone: Tz) -> Result<Expr> {
    let function = function("$field", zone)?;
    Ok(function.call(vec![row, lit(name)]))
}

impl FlinkOperators {
    /// Casts the text side of a comparison to the other side's type.
    fn comparable(
        &self,
        op: &BinaryOperator,
        left: Expr,
        l: &DataType,
        right: Expr,
        r: &DataType,
    ) -> Result<(Expr, Expr)> {
        let meets = |t: &DataType| types::is_numeric(t) || types::is_temporal(t) || *t == DataType::Boolean;
        match (types::is_text(l), types::is_text(r)) {
            (true, false) if meets(r) => Ok((self.cast(left, r)?, right)),
            (false, true) if meets(l) => Ok((left, self.cast(right, l)?)),
            _ if (*l == DataType::Boolean && types::is_numeric(r))
                || (types::is_numeric(l) && *r == DataType::Boolean) =>
            {
                plan_err!("{} {op} {}: a BOOLEAN cannot be compared with a number", types::name(l), types::name(r))
            }
            // An approximate number and an exact one are compared as DOUBLE: DataFusion would cut both to DECIMAL(30, 15).
            _ if types::is_float(l) && types::is_decimal(r) => Ok((left, self.cast(right, &DataType::Float64)?)),
            _ if types::is_decimal(l) && types::is_float(r) => Ok((self.cast(left, &DataType::Float64)?, right)),
            _ => Ok((left, right)),
        }
    }

    fn arithmetic(
        &self,
        sign: &BinaryOperator,
        op: Operator,
        left: Expr,
        l: &DataType,
        right: Expr,
        r: &DataType,
    ) -> Result<Expr> {
        if is_interval(l) || is_interval(r) {
            return self.with_interval(sign, op, left, l, right, r);
        }
        if types::is_text(l) && types::is_numeric(r) {
            return self.arithmetic(sign, op, self.cast(left, r)?, &read_as(r), right, r);
        }
        if types::is_numeric(l) && types::is_text(r) {
            return self.arithmetic(sign, op, left, l, self.cast(right, l)?, &read_as(l));
        }
        if types::is_text(l) || types::is_text(r) || *l == DataType::Boolean || *r == DataType::Boolean {
            return plan_err!(
                "{} {sign} {}: arithmetic needs numbers, CAST the text first",
                types::name(l),
                types::name(r)
            );
        }
        if types::is_temporal(l) && types::is_temporal(r) {
            return plan_err!("{} {sign} {}: write TIMESTAMPDIFF(unit, from, to)", types::name(l), types::name(r));
        }
        let exact = |t: &DataType| types::decimal_of(t).is_some() || *t == DataType::Null;
        let decimal = types::is_decimal(l) || types::is_decimal(r);
        let divides = matches!(op, Operator::Divide | Operator::Modulo);
        if exact(l) && exact(r) && (decimal || divides) {
            let name = match op {
                Operator::Plus => "$add",
                Operator::Minus => "$subtract",
                Operator::Multiply => "$multiply",
                Operator::Divide => "$divide",
                _ => "$modulo",
            };
            return binary(name, left, right, self.zone);
        }
        if decimal && (types::is_float(l) || types::is_float(r)) {
            let double =
                |e: Expr, t: &DataType| if *t == DataType::Float64 { Ok(e) } else { self.cast(e, &DataType::Float64) };
            return Ok(plain(op, double(left, l)?, double(right, r)?));
        }
        Ok(plain(op, left, right))
    }

    /// `timestamp + interval`, `interval + timestamp`, `timestamp - interval`.
    fn with_interval(
        &self,
        sign: &BinaryOperator,
        op: Operator,
        left: Expr,
        l: &DataType,
        right: Expr,
        r: &DataType,
    ) -> Result<Expr> {
        match (op, is_interval(l), is_interval(r)) {
            (Operator::Plus, false, true) => binary("$later", left, right, self.zone),
            (Operator::Plus, true, false) => binary("$later", right, left, self.zone),
            (Operator::Minus, false, true) => binary("$earlier", left, right, self.zone),
            _ => plan_err!(
                "{} {sign} {}: an INTERVAL can be added to a time, or taken from it",
                types::name(l),
                types::name(r)
            ),
        }
    }

    /// Casts text to meet a value of type `to`.
    fn cast(&self, value: Expr, to: &DataType) -> Result<Expr> {
        match cast_type(&read_as(to)) {
            Some(target) => cast_to(value, target, self.zone),
            None => plan_err!("text cannot be compared with {}", types::name(to)),
        }
    }
}

fn is_interval(t: &DataType) -> bool {
    matches!(t, DataType::Interval(_))
}

/// As what text is read that meets a value of type `t`. Digits of the text must not get lost to the few that a
/// DECIMAL on the other side has, so it gets the widest that compares with it (Calcite's
/// `getMaxPrecisionScaleDecimal`: half of the digits after the point).
fn read_as(t: &DataType) -> DataType {
    match t {
        DataType::Decimal128(p, s) => DataType::Decimal128(38, 38 - (*p as i8 - s).max(19)),
        t => t.clone(),
    }
}
