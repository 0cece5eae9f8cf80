//! Rewrites of a query's syntax tree before DataFusion plans it: what its SQL planner would type otherwise than Flink
//! or drop (literal types, lengths of CHAR and VARCHAR), and forms that are others written short.

use super::cast_target::logical_type;
use crate::data::LogicalType;
use crate::sql::interval::Interval;
use crate::sql::special_forms;
use sqlparser::ast::{self as sp, VisitMut, VisitorMut};
use std::ops::ControlFlow;

/// Applies all rewrites to a query and everything inside it.
pub fn apply(query: &mut sp::Query) {
    let _ = query.visit(&mut Passes);
}

/// As [`apply`], for an expression outside a query (a computed column, say).
pub fn apply_to_expr(expr: &mut sp::Expr) {
    let _ = expr.visit(&mut Passes);
}

struct Passes;

impl VisitorMut for Passes {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut sp::Expr) -> ControlFlow<()> {
        fold_sign(expr);
        if let sp::Expr::Function(f) = expr {
            name_unit(f);
        }
        ControlFlow::Continue(())
    }

    /// Inner expressions were rewritten before.
    fn post_visit_expr(&mut self, expr: &mut sp::Expr) -> ControlFlow<()> {
        if let Some(new) = rewritten(expr) {
            *expr = new;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut sp::Select) -> ControlFlow<()> {
        if let sp::GroupByExpr::Expressions(exprs, _) = &mut select.group_by {
            exprs.iter_mut().for_each(bare_number);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut sp::Query) -> ControlFlow<()> {
        if let Some(sp::OrderBy { kind: sp::OrderByKind::Expressions(exprs), .. }) = &mut query.order_by {
            exprs.iter_mut().for_each(|e| bare_number(&mut e.expr));
        }
        match &mut query.limit_clause {
            Some(sp::LimitClause::LimitOffset { limit, offset, limit_by }) => {
                limit.iter_mut().chain(limit_by).for_each(bare_number);
                offset.iter_mut().for_each(|o| bare_number(&mut o.value));
            }
            Some(sp::LimitClause::OffsetCommaLimit { offset, limit }) => {
                bare_number(offset);
                bare_number(limit);
            }
            None => {}
        }
        if let Some(quantity) = query.fetch.as_mut().and_then(|f| f.quantity.as_mut()) {
            bare_number(quantity);
        }
        ControlFlow::Continue(())
    }
}

/// `-5` is one literal: so the least BIGINT can be written, and -2147483648 is an INT.
fn fold_sign(expr: &mut sp::Expr) {
    if let sp::Expr::UnaryOp { op: sp::UnaryOperator::Minus, expr: inner } = expr
        && let sp::Expr::Value(v) = inner.as_ref()
        && let sp::Value::Number(n, long) = &v.value
        && !n.starts_with('-')
    {
        *expr = sp::Expr::Value(sp::Value::Number(format!("-{n}"), *long).with_span(v.span));
    }
}

/// The unit of TIMESTAMPADD and TIMESTAMPDIFF is a keyword, which would be looked up as a column.
fn name_unit(f: &mut sp::Function) {
    if (is_named(f, "timestampadd") || is_named(f, "timestampdiff"))
        && let sp::FunctionArguments::List(list) = &mut f.args
        && let Some(sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(unit))) = list.args.first_mut()
        && let sp::Expr::Identifier(ident) = unit
        && ident.quote_style.is_none()
    {
        *unit = text(&ident.value, ident.span);
    }
}

fn is_named(f: &sp::Function, name: &str) -> bool {
    matches!(f.name.0.as_slice(), [sp::ObjectNamePart::Identifier(i)] if i.value.eq_ignore_ascii_case(name))
}

fn rewritten(expr: &mut sp::Expr) -> Option<sp::Expr> {
    match expr {
        sp::Expr::Value(v) => typed_number(v),
        sp::Expr::Cast { kind, expr, data_type, array: false, format: None } => {
            let name = match kind {
                sp::CastKind::Cast | sp::CastKind::DoubleColon => "$cast",
                sp::CastKind::TryCast | sp::CastKind::SafeCast => "$try_cast",
            };
            // An unknown type goes on as it is written: the cast refuses it by that name.
            let target = logical_type(data_type).map_or_else(|| data_type.to_string(), |t| t.to_string());
            Some(call(name, [take(expr), text(&target, sqlparser::tokenizer::Span::empty())]))
        }
        // `DATE '2024-01-02'`: the precision of a TIMESTAMP literal is that of its text.
        sp::Expr::TypedString(t) => {
            let value = t.value.value.clone().into_string()?;
            let target = match logical_type(&t.data_type)? {
                LogicalType::Timestamp(_) => LogicalType::Timestamp(fraction_digits(&value)),
                LogicalType::TimestampLtz(_) => LogicalType::TimestampLtz(fraction_digits(&value)),
                LogicalType::Time(_) => LogicalType::Time(fraction_digits(&value)),
                other => other,
            };
            Some(call("$cast", [text(&value, t.value.span), text(&target.to_string(), t.value.span)]))
        }
        sp::Expr::Substring { expr, substring_from, substring_for, .. } => {
            let from = substring_from.as_mut().map_or_else(typed_one, take);
            let args = [Some(take(expr)), Some(from), substring_for.as_mut().map(take)];
            Some(call("substring", args.into_iter().flatten()))
        }
        sp::Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            let name = match trim_where {
                None | Some(sp::TrimWhereField::Both) => "btrim",
                Some(sp::TrimWhereField::Leading) => "ltrim",
                Some(sp::TrimWhereField::Trailing) => "rtrim",
            };
            let listed = trim_characters.take().unwrap_or_default();
            Some(call(name, std::iter::once(take(expr)).chain(trim_what.as_mut().map(take)).chain(listed)))
        }
        // Calcite's expansion; BETWEEN itself would bypass the typing of our comparison operators.
        sp::Expr::Between { expr, negated, low, high } => {
            let (value, negated) = (take(expr), *negated);
            let (first, second, joined) = match negated {
                false => (sp::BinaryOperator::GtEq, sp::BinaryOperator::LtEq, sp::BinaryOperator::And),
                true => (sp::BinaryOperator::Lt, sp::BinaryOperator::Gt, sp::BinaryOperator::Or),
            };
            let low = binary(value.clone(), first, take(low));
            let high = binary(value, second, take(high));
            Some(sp::Expr::Nested(Box::new(binary(low, joined, high))))
        }
        sp::Expr::Like { any: false, negated: _, expr: _, pattern, escape_char } => {
            let escape = escape_char.take().and_then(|e| e.value.into_string()).and_then(|e| e.chars().next());
            if let sp::Expr::Value(p) = pattern.as_mut()
                && let sp::Value::SingleQuotedString(text) = &mut p.value
                // A pattern that cannot be rewritten was refused by `sql::unsupported`.
                && let Some(new) = crate::sql::like::with_backslash_escapes(text, escape)
            {
                *text = new;
            }
            None
        }
        sp::Expr::SimilarTo { negated, expr, pattern, escape_char } => {
            let escape = escape_char.take().map(sp::Expr::Value);
            let test = call("$similar", [take(expr), take(pattern)].into_iter().chain(escape));
            Some(if *negated { sp::Expr::UnaryOp { op: sp::UnaryOperator::Not, expr: Box::new(test) } } else { test })
        }
        sp::Expr::Position { expr, r#in } => Some(call("position", [take(expr), take(r#in)])),
        sp::Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let args = [take(expr), take(overlay_what), take(overlay_from)];
            Some(call("$overlay", args.into_iter().chain(overlay_for.as_mut().map(take))))
        }
        sp::Expr::Extract { field, expr, .. } => Some(call("$extract", [unit(field), take(expr)])),
        sp::Expr::Ceil { expr, field: sp::CeilFloorKind::DateTimeField(field) } => Some(rounded("ceil", expr, field)),
        sp::Expr::Floor { expr, field: sp::CeilFloorKind::DateTimeField(field) } => Some(rounded("floor", expr, field)),
        sp::Expr::Array(sp::Array { elem, named: true }) => Some(call("$array", std::mem::take(elem))),
        sp::Expr::CompoundFieldAccess { root, access_chain } => {
            let names = leading_names(root, access_chain);
            let root = if names.is_empty() { take(root) } else { sp::Expr::CompoundIdentifier(names) };
            Some(access_chain.iter_mut().fold(root, |whole, access| match access {
                sp::AccessExpr::Subscript(sp::Subscript::Index { index }) => {
                    let constant = written_integer(index).map(|n| text(&n, sqlparser::tokenizer::Span::empty()));
                    call("$element", [whole, take_expr(index)].into_iter().chain(constant))
                }
                sp::AccessExpr::Dot(sp::Expr::Identifier(i)) => call("$field", [whole, text(&i.value, i.span)]),
                // Refused by `sql::unsupported`.
                _ => whole,
            }))
        }
        sp::Expr::Interval(i) => interval(i).map(sp::Expr::Interval),
        sp::Expr::Function(f) => short_form(f),
        _ => None,
    }
}

/// The names in front of `t.a[1].b`: `t.a`, of which only the planner knows whether `t` is a table. They are taken out
/// of the chain. Empty if there is but one.
fn leading_names(root: &sp::Expr, chain: &mut Vec<sp::AccessExpr>) -> Vec<sp::Ident> {
    let sp::Expr::Identifier(first) = root else { return vec![] };
    let name = |a: &sp::AccessExpr| match a {
        sp::AccessExpr::Dot(sp::Expr::Identifier(i)) => Some(i.clone()),
        _ => None,
    };
    let names: Vec<sp::Ident> = chain.iter().map_while(name).collect();
    if names.is_empty() {
        return names;
    }
    chain.drain(..names.len());
    std::iter::once(first.clone()).chain(names).collect()
}

/// The integer literal that an expression is: here still known as such, while the planner sees a cast. It goes on as
/// text beside (or in the place of) the value, where a type or a check depends on it.
fn written_integer(expr: &sp::Expr) -> Option<String> {
    match expr {
        sp::Expr::Cast { expr: inner, .. } => match inner.as_ref() {
            sp::Expr::Value(v) => match &v.value {
                sp::Value::Number(n, _) if n.parse::<i32>().is_ok() => Some(n.clone()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn unit(field: &sp::DateTimeField) -> sp::Expr {
    text(&field.to_string(), sqlparser::tokenizer::Span::empty())
}

/// CEIL and FLOOR of a number, or of a time to a unit.
fn rounded(name: &str, value: &mut Box<sp::Expr>, field: &sp::DateTimeField) -> sp::Expr {
    match field {
        sp::DateTimeField::NoDateTime => call(name, [take(value)]),
        field => call(&format!("${name}"), [unit(field), take(value)]),
    }
}

/// Every literal as `INTERVAL 'n MONTH'` or `INTERVAL 'n DAY m MILLISECOND'`, which DataFusion reads. What cannot be
/// read was refused by `sql::unsupported`.
fn interval(i: &sp::Interval) -> Option<sp::Interval> {
    const DAY: i64 = 86_400_000;
    let value = match crate::sql::interval::read(i).ok()? {
        Interval::Months(n) => format!("{n} MONTH"),
        Interval::Millis(n) => format!("{} DAY {} MILLISECOND", n / DAY, n % DAY),
    };
    Some(sp::Interval {
        value: Box::new(text(&value, sqlparser::tokenizer::Span::empty())),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}

/// A number's type by its form: INT, BIGINT, DECIMAL of its digits, DOUBLE with an exponent.
fn typed_number(v: &sp::ValueWithSpan) -> Option<sp::Expr> {
    let sp::Value::Number(n, _) = &v.value else { return None };
    let digits = n.trim_start_matches('-');
    if n.contains(['e', 'E']) {
        return Some(call("$cast", [text(n, v.span), text("DOUBLE", v.span)]));
    }
    if n.parse::<i32>().is_ok() {
        return Some(int_literal(sp::Expr::Value(v.clone())));
    }
    if n.parse::<i64>().is_ok() {
        return None;
    }
    // As Calcite counts: `0.10` has three digits, two of them after the point.
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let precision = digits.len() - usize::from(digits.contains('.'));
    // More than 38 digits make a type that the cast refuses.
    let target = format!("DECIMAL({precision}, {scale})");
    Some(call("$cast", [text(n, v.span), text(&target, v.span)]))
}

/// Stays a cast of the syntax tree, so that [`bare_number`] can tell it from casts that were written.
fn int_literal(number: sp::Expr) -> sp::Expr {
    sp::Expr::Cast {
        kind: sp::CastKind::Cast,
        expr: Box::new(number),
        data_type: sp::DataType::Int(None),
        array: false,
        format: None,
    }
}

fn typed_one() -> sp::Expr {
    int_literal(sp::Expr::Value(sp::Value::Number("1".to_string(), false).with_empty_span()))
}

/// Ordinals and row counts are no INT expressions.
fn bare_number(expr: &mut sp::Expr) {
    if let sp::Expr::Cast { expr: inner, .. } = expr
        && matches!(inner.as_ref(), sp::Expr::Value(v) if matches!(v.value, sp::Value::Number(..)))
    {
        *expr = take(inner);
    }
}

/// IF, IFNULL, NULLIF and MOD are CASE, COALESCE and `%`.
fn short_form(f: &mut sp::Function) -> Option<sp::Expr> {
    let plain = f.over.is_none() && f.filter.is_none() && f.within_group.is_empty() && f.null_treatment.is_none();
    let sp::FunctionArguments::List(list) = &mut f.args else { return None };
    if !plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    let args = list.args.iter_mut().map(|a| match a {
        sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => Some(e),
        _ => None,
    });
    let args = args.collect::<Option<Vec<_>>>()?;
    let name = match f.name.0.as_slice() {
        [sp::ObjectNamePart::Identifier(i)] => i.value.to_ascii_lowercase(),
        _ => return None,
    };
    let arity = args.len();
    let mut args = args.into_iter();
    let mut next = || args.next().map(take_expr);
    match (name.as_str(), arity) {
        ("if", 3) => Some(case(next()?, next()?, next())),
        ("ifnull", 2) => Some(call("coalesce", [next()?, next()?])),
        ("nullif", 2) => {
            let (value, other) = (next()?, next()?);
            let equal = binary(value.clone(), sp::BinaryOperator::Eq, other);
            Some(case(equal, sp::Expr::Value(sp::Value::Null.with_empty_span()), Some(value)))
        }
        ("round" | "truncate", 2) => {
            let (value, digits) = (next()?, next()?);
            // The digits decide the type of a DECIMAL.
            let digits = match written_integer(&digits) {
                Some(n) => text(&n, sqlparser::tokenizer::Span::empty()),
                None => digits,
            };
            Some(call(&format!("${name}"), [value, digits]))
        }
        ("unix_timestamp", 1 | 2) => Some(call("$unix_timestamp", std::iter::from_fn(next).take(2))),
        ("mod", 2) => Some(sp::Expr::Nested(Box::new(binary(next()?, sp::BinaryOperator::Modulo, next()?)))),
        _ => None,
    }
}

fn binary(left: sp::Expr, op: sp::BinaryOperator, right: sp::Expr) -> sp::Expr {
    sp::Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn case(condition: sp::Expr, result: sp::Expr, otherwise: Option<sp::Expr>) -> sp::Expr {
    sp::Expr::Case {
        case_token: sp::helpers::attached_token::AttachedToken::empty(),
        end_token: sp::helpers::attached_token::AttachedToken::empty(),
        operand: None,
        conditions: vec![sp::CaseWhen { condition, result }],
        else_result: otherwise.map(Box::new),
    }
}

fn call(name: &str, args: impl IntoIterator<Item = sp::Expr>) -> sp::Expr {
    special_forms::call(sp::Ident::with_quote('`', name), args)
}

fn text(value: &str, span: sqlparser::tokenizer::Span) -> sp::Expr {
    sp::Expr::Value(sp::Value::SingleQuotedString(value.to_string()).with_span(span))
}

fn take(expr: &mut Box<sp::Expr>) -> sp::Expr {
    take_expr(expr)
}

fn take_expr(expr: &mut sp::Expr) -> sp::Expr {
    std::mem::replace(expr, sp::Expr::Value(sp::Value::Null.with_empty_span()))
}

fn fraction_digits(text: &str) -> u8 {
    text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(9) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::dialect::GenericDialect;
    use sqlparser::parser::Parser;

    fn query(sql: &str) -> String {
        let statement = Parser::parse_sql(&GenericDialect {}, sql).unwrap().remove(0);
        let sp::Statement::Query(mut query) = statement else { panic!("not a query") };
        apply(&mut query);
        query.to_string()
    }

    fn expr(sql: &str) -> String {
        let all = query(&format!("SELECT {sql} FROM t"));
        all.strip_prefix("SELECT ").unwrap().strip_suffix(" FROM t").unwrap().to_string()
    }

    #[test]
    fn numbers_get_the_type_of_their_form() {
        assert_eq!(expr("1"), "CAST(1 AS INT)");
        assert_eq!(expr("-2147483648"), "CAST(-2147483648 AS INT)");
        assert_eq!(expr("2147483648"), "2147483648");
        assert_eq!(expr("-9223372036854775808"), "-9223372036854775808");
        assert_eq!(expr("9223372036854775808"), "`$cast`('9223372036854775808', 'DECIMAL(19, 0)')");
        assert_eq!(expr("0.10"), "`$cast`('0.10', 'DECIMAL(3, 2)')");
        assert_eq!(expr("-1.5"), "`$cast`('-1.5', 'DECIMAL(2, 1)')");
        assert_eq!(expr("1e3"), "`$cast`('1e3', 'DOUBLE')");
    }

    #[test]
    fn ordinals_and_limits_stay_numbers() {
        let sql = "SELECT a, 2 FROM t GROUP BY 1, a + 1 ORDER BY 2 LIMIT 10 OFFSET 5";
        let done = "SELECT a, CAST(2 AS INT) FROM t GROUP BY 1, a + CAST(1 AS INT) ORDER BY 2 LIMIT 10 OFFSET 5";
        assert_eq!(query(sql), done);
    }

    #[test]
    fn casts_keep_their_lengths_and_precisions() {
        assert_eq!(expr("CAST(a AS VARCHAR(2))"), "`$cast`(a, 'VARCHAR(2)')");
        assert_eq!(expr("CAST(a AS VARCHAR)"), "`$cast`(a, 'STRING')");
        assert_eq!(expr("CAST(a AS CHAR(5))"), "`$cast`(a, 'CHAR(5)')");
        assert_eq!(expr("TRY_CAST(a AS TIMESTAMP(1))"), "`$try_cast`(a, 'TIMESTAMP(1)')");
        assert_eq!(expr("CAST(a AS TIMESTAMP)"), "`$cast`(a, 'TIMESTAMP(6)')");
        assert_eq!(expr("CAST(a AS DECIMAL)"), "`$cast`(a, 'DECIMAL(10, 0)')");
        assert_eq!(expr("CAST(1 AS BIGINT)"), "`$cast`(CAST(1 AS INT), 'BIGINT')");
        assert_eq!(expr("CAST(a AS TIMESTAMP_LTZ(3))"), "`$cast`(a, 'TIMESTAMP_LTZ(3)')");
    }

    #[test]
    fn typed_literals_have_the_precision_of_their_text() {
        assert_eq!(expr("DATE '2024-01-02'"), "`$cast`('2024-01-02', 'DATE')");
        assert_eq!(expr("TIMESTAMP '2024-01-02 03:04:05'"), "`$cast`('2024-01-02 03:04:05', 'TIMESTAMP(0)')");
        assert_eq!(expr("TIMESTAMP '2024-01-02 03:04:05.25'"), "`$cast`('2024-01-02 03:04:05.25', 'TIMESTAMP(2)')");
    }

    #[test]
    fn short_forms_are_written_out() {
        assert_eq!(expr("IF(a > b, a, b)"), "CASE WHEN a > b THEN a ELSE b END");
        assert_eq!(expr("IFNULL(a, b)"), "`coalesce`(a, b)");
        assert_eq!(expr("NULLIF(a, b)"), "CASE WHEN a = b THEN NULL ELSE a END");
        assert_eq!(expr("mod(a, b)"), "(a % b)");
        assert_eq!(expr("TRIM(LEADING 'x' FROM a)"), "`ltrim`(a, 'x')");
        assert_eq!(expr("TRIM(a)"), "`btrim`(a)");
        assert_eq!(expr("SUBSTRING(a FROM b FOR c)"), "`substring`(a, b, c)");
        assert_eq!(expr("TIMESTAMPADD(MINUTE, a, b)"), "TIMESTAMPADD('MINUTE', a, b)");
        assert_eq!(expr("a BETWEEN b AND c"), "(a >= b AND a <= c)");
        assert_eq!(expr("a LIKE 'x!_%' ESCAPE '!'"), r"a LIKE 'x\_%'");
        assert_eq!(expr("a NOT BETWEEN b AND c"), "(a < b OR a > c)");
    }

    #[test]
    fn nested_values_and_intervals_are_written_out() {
        assert_eq!(expr("ARRAY[a, b]"), "`$array`(a, b)");
        assert_eq!(expr("a[b]"), "`$element`(a, b)");
        assert_eq!(expr("a[2].x"), "`$field`(`$element`(a, CAST(2 AS INT), '2'), 'x')");
        assert_eq!(expr("INTERVAL '1:30' MINUTE TO SECOND"), "INTERVAL '0 DAY 90000 MILLISECOND'");
        assert_eq!(expr("INTERVAL '1' YEAR"), "INTERVAL '12 MONTH'");
        assert_eq!(expr("ROUND(a, -1)"), "`$round`(a, '-1')");
        assert_eq!(expr("ROUND(a, b)"), "`$round`(a, b)");
        assert_eq!(expr("EXTRACT(YEAR FROM a)"), "`$extract`('YEAR', a)");
        assert_eq!(expr("FLOOR(a TO DAY)"), "`$floor`('DAY', a)");
        assert_eq!(expr("CEIL(a)"), "`ceil`(a)");
        assert_eq!(expr("a NOT SIMILAR TO b ESCAPE '!'"), "NOT `$similar`(a, b, '!')");
    }

    #[test]
    fn inner_queries_are_rewritten_too() {
        assert_eq!(
            query("SELECT a FROM (SELECT 1 AS a FROM t) AS s WHERE a IN (SELECT 2 FROM t)").matches("AS INT").count(),
            2
        );
    }
}
