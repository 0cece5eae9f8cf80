//! The expression half of [`super::unsupported`].

use super::codes;
use super::types::of_cast;
use super::unsupported::Walk;
use crate::diagnostic::Diagnostic;
use sqlparser::ast as sp;
use sqlparser::ast::Spanned;
use sqlparser::tokenizer::Span as TokenSpan;

impl Walk<'_> {
    fn refuse_expr(&mut self, span: TokenSpan, what: &str) {
        let message = format!("not supported yet: {what}");
        let d = Diagnostic::error(codes::UNSUPPORTED_EXPRESSION, self.place(span), message);
        self.report(d);
    }

    fn exprs<'e>(&mut self, list: impl IntoIterator<Item = &'e sp::Expr>) {
        for e in list {
            self.expr(e);
        }
    }

    pub fn expr(&mut self, expr: &sp::Expr) {
        // Chains (`a || b || c ..`) lean to the left and are as deep as they are long: walked in a loop.
        let mut expr = expr;
        while let sp::Expr::BinaryOp { left, op, right } = expr {
            self.binary_operator(op, right);
            self.expr(right);
            expr = left;
        }
        self.simple_expr(expr);
    }

    fn simple_expr(&mut self, expr: &sp::Expr) {
        use sp::Expr as E;
        match expr {
            E::Identifier(i) => self.ident(i),
            E::CompoundIdentifier(parts) => {
                for i in parts {
                    self.ident(i);
                }
            }
            E::Value(v) => self.value(v),
            E::TypedString(t) => self.typed_string(t),
            E::Nested(e) => self.expr(e),
            E::IsFalse(e) | E::IsNotFalse(e) | E::IsTrue(e) | E::IsNotTrue(e) => self.expr(e),
            E::IsNull(e) | E::IsNotNull(e) | E::IsUnknown(e) | E::IsNotUnknown(e) => self.expr(e),
            E::IsDistinctFrom(a, b) | E::IsNotDistinctFrom(a, b) => self.exprs([a.as_ref(), b.as_ref()]),
            E::InList { expr, list, negated: _ } => {
                self.expr(expr);
                self.exprs(list);
            }
            E::Between { expr, negated: _, low, high } => {
                self.exprs([expr.as_ref(), low.as_ref(), high.as_ref()]);
            }
            E::Like { negated: _, any, expr, pattern, escape_char } => {
                if *any {
                    self.refuse_expr(pattern.span(), "LIKE ANY");
                }
                self.exprs([expr.as_ref(), pattern.as_ref()]);
                if let Some(e) = escape_char {
                    self.value(e);
                    self.escape(pattern, e);
                }
            }
            E::UnaryOp { op, expr } => self.unary(op, expr),
            E::Cast { kind, expr, data_type, array, format } => {
                self.cast(kind, expr, data_type, *array, format.is_some())
            }
            E::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                self.exprs(operand.as_deref());
                for sp::CaseWhen { condition, result } in conditions {
                    self.exprs([condition, result]);
                }
                self.exprs(else_result.as_deref());
            }
            E::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
                self.expr(expr);
                self.exprs(substring_from.as_deref());
                self.exprs(substring_for.as_deref());
            }
            E::Trim { trim_where: _, trim_what, expr, trim_characters } => {
                self.expr(expr);
                self.exprs(trim_what.as_deref());
                if trim_characters.is_some() {
                    self.refuse_expr(expr.span(), "TRIM(text, characters): write TRIM(BOTH characters FROM text)");
                }
            }
            E::Function(f) => self.function(f),
            // `ROW(a, b)` and `(a, b)` have no value of their own yet.
            E::Tuple(_) | E::Struct { .. } | E::Named { .. } => self.refuse_expr(expr.span(), "row values"),
            E::Array(sp::Array { elem, named: true }) => self.exprs(elem),
            E::Array(sp::Array { elem: _, named: false }) => self.refuse_expr(expr.span(), "[..]: write ARRAY[..]"),
            E::Map(_) | E::Dictionary(_) => self.refuse_expr(expr.span(), "{..}: write MAP[..]"),
            E::CompoundFieldAccess { root, access_chain } => {
                self.expr(root);
                for access in access_chain {
                    self.access(access, root);
                }
            }
            E::JsonAccess { value, path: _ } => self.refuse_expr(value.span(), "access by :"),
            E::InSubquery { expr, subquery: _, negated: _ } => self.refuse_expr(expr.span(), "IN (SELECT ..)"),
            E::InUnnest { expr, .. } => self.refuse_expr(expr.span(), "IN UNNEST"),
            E::Exists { subquery, negated: _ } => self.refuse_expr(subquery.span(), "EXISTS"),
            E::Subquery(q) => self.refuse_expr(q.span(), "a query as a value"),
            E::ILike { expr, .. } => self.refuse_expr(expr.span(), "ILIKE"),
            E::SimilarTo { negated: _, expr, pattern, escape_char } => {
                self.exprs([expr.as_ref(), pattern.as_ref()]);
                if let Some(e) = escape_char {
                    self.value(e);
                }
            }
            E::RLike { expr, .. } => self.refuse_expr(expr.span(), "RLIKE: write REGEXP(text, pattern)"),
            E::AnyOp { left, .. } | E::AllOp { left, .. } => self.refuse_expr(left.span(), "ANY and ALL"),
            E::Extract { field: _, syntax: sp::ExtractSyntax::From, expr } => self.expr(expr),
            E::Extract { field: _, syntax: sp::ExtractSyntax::Comma, expr } => {
                self.refuse_expr(expr.span(), "EXTRACT with commas: write EXTRACT(unit FROM value)");
            }
            E::Ceil { expr, field } | E::Floor { expr, field } => {
                self.expr(expr);
                if let sp::CeilFloorKind::Scale(digits) = field {
                    self.refuse_expr(digits.span, "CEIL and FLOOR with a number of digits: write ROUND or TRUNCATE");
                }
            }
            E::Position { expr, r#in } => self.exprs([expr.as_ref(), r#in.as_ref()]),
            E::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                self.exprs([expr.as_ref(), overlay_what.as_ref(), overlay_from.as_ref()]);
                self.exprs(overlay_for.as_deref());
            }
            E::Convert { expr, .. } => self.refuse_expr(expr.span(), "CONVERT: write CAST"),
            E::AtTimeZone { timestamp, .. } => self.refuse_expr(timestamp.span(), "AT TIME ZONE"),
            E::Interval(i) => self.interval(i),
            E::Collate { expr, .. } => self.refuse_expr(expr.span(), "COLLATE"),
            E::IsNormalized { expr, .. } => self.refuse_expr(expr.span(), "IS NORMALIZED"),
            E::Prefixed { prefix, .. } => self.refuse_expr(prefix.span, "a prefixed text"),
            E::GroupingSets(_) | E::Cube(_) | E::Rollup(_) => self.refuse_expr(expr.span(), "GROUPING SETS"),
            E::MatchAgainst { .. } => self.refuse_expr(expr.span(), "MATCH AGAINST"),
            E::Wildcard(t) => self.refuse_expr(t.0.span, "* in an expression"),
            E::QualifiedWildcard(name, _) => self.refuse_expr(name.span(), ".* in an expression"),
            E::OuterJoin(e) => self.refuse_expr(e.span(), "(+)"),
            E::Prior(e) => self.refuse_expr(e.span(), "PRIOR"),
            E::Lambda(_) => self.refuse_expr(expr.span(), "lambda functions"),
            E::MemberOf(_) => self.refuse_expr(expr.span(), "MEMBER OF"),
            // The loop in `expr` has taken these.
            E::BinaryOp { left, op, right } => {
                self.binary_operator(op, right);
                self.exprs([left.as_ref(), right.as_ref()]);
            }
        }
    }

    /// `[1]`, `['key']`, `.field`
    fn access(&mut self, access: &sp::AccessExpr, root: &sp::Expr) {
        match access {
            sp::AccessExpr::Dot(sp::Expr::Identifier(i)) => self.ident(i),
            sp::AccessExpr::Dot(_) => {
                self.refuse_expr(root.span(), "this after a point: only fields of a ROW have names")
            }
            sp::AccessExpr::Subscript(sp::Subscript::Index { index }) => self.expr(index),
            sp::AccessExpr::Subscript(sp::Subscript::Slice { .. }) => {
                self.refuse_expr(root.span(), "[from:to]: write ARRAY_SLICE(array, from, to)");
            }
        }
    }

    fn interval(&mut self, interval: &sp::Interval) {
        if let Err(message) = super::interval::read(interval) {
            let place = self.place(interval.value.span());
            self.report(Diagnostic::error(codes::BAD_LITERAL, place, message));
        }
    }

    fn binary_operator(&mut self, op: &sp::BinaryOperator, right: &sp::Expr) {
        use sp::BinaryOperator as B;
        match op {
            B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::StringConcat => {}
            B::Gt | B::Lt | B::GtEq | B::LtEq | B::Eq | B::NotEq | B::And | B::Or => {}
            op => self.refuse_expr(right.span(), &format!("the operator {op}")),
        }
    }

    fn unary(&mut self, op: &sp::UnaryOperator, expr: &sp::Expr) {
        match op {
            sp::UnaryOperator::Plus | sp::UnaryOperator::Minus | sp::UnaryOperator::Not => {}
            op => self.refuse_expr(expr.span(), &format!("the operator {op}")),
        }
        self.expr(expr);
    }

    fn cast(&mut self, kind: &sp::CastKind, expr: &sp::Expr, to: &sp::DataType, array: bool, format: bool) {
        match kind {
            sp::CastKind::Cast | sp::CastKind::TryCast => {}
            sp::CastKind::SafeCast => self.refuse_expr(expr.span(), "SAFE_CAST: write TRY_CAST"),
            sp::CastKind::DoubleColon => self.refuse_expr(expr.span(), ":: (write CAST(x AS type))"),
        }
        if array || format {
            self.refuse_expr(expr.span(), "FORMAT and ARRAY in CAST");
        }
        if let Err(message) = of_cast(to) {
            let d = Diagnostic::error(codes::UNKNOWN_TYPE, self.place(expr.span()), format!("CAST: {message}"));
            self.report(d);
        }
        self.expr(expr);
    }

    /// `LIKE pattern ESCAPE '!'`: the pattern is rewritten before planning, so it has to be there.
    fn escape(&mut self, pattern: &sp::Expr, escape: &sp::ValueWithSpan) {
        let (sp::Expr::Value(p), sp::Value::SingleQuotedString(e)) = (pattern, &escape.value) else {
            return self.refuse_expr(pattern.span(), "LIKE with ESCAPE and a pattern that is no text in quotes");
        };
        let sp::Value::SingleQuotedString(p) = &p.value else { return };
        let mut chars = e.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else {
            return self.refuse_expr(escape.span, "an ESCAPE that is not one character");
        };
        if super::like::with_backslash_escapes(p, Some(c)).is_none() {
            let what =
                format!("a pattern in which the escape character {c} stands before something else than %, _ or {c}");
            self.refuse_expr(pattern.span(), &what);
        }
    }

    fn value(&mut self, value: &sp::ValueWithSpan) {
        use sp::Value as V;
        let sp::ValueWithSpan { value, span } = value;
        match value {
            V::Number(_, false) | V::SingleQuotedString(_) | V::Boolean(_) | V::Null => {}
            V::Number(n, true) => self.refuse_expr(*span, &format!("the number {n}L")),
            V::DoubleQuotedString(_) => {
                let d = Diagnostic::error(codes::DOUBLE_QUOTES, self.place(*span), "double quotes mean nothing here")
                    .hint("backticks quote identifiers, single quotes quote text");
                self.report(d);
            }
            V::Placeholder(p) => self.refuse_expr(*span, &format!("the placeholder {p}")),
            V::HexStringLiteral(_) => self.refuse_expr(*span, "X'..' literals"),
            _ => self.refuse_expr(*span, "this kind of text literal"),
        }
    }

    /// `DATE '2020-01-01'`
    fn typed_string(&mut self, typed: &sp::TypedString) {
        let sp::TypedString { data_type, value, uses_odbc_syntax } = typed;
        let allowed = matches!(
            data_type,
            sp::DataType::Date
                | sp::DataType::Time(_, sp::TimezoneInfo::None)
                | sp::DataType::Timestamp(_, sp::TimezoneInfo::None)
        );
        if !allowed || *uses_odbc_syntax {
            self.refuse_expr(value.span, &format!("{data_type} literals"));
            return;
        }
        // A CAST of text is lenient where a literal, which was written by hand, is a slip.
        if let sp::Value::SingleQuotedString(text) = &value.value
            && !is_sound_literal(data_type, text)
        {
            let message = format!("{data_type} '{text}' does not exist");
            let hint = "written DATE '2024-01-31', TIME '23:59:59', TIMESTAMP '2024-01-31 23:59:59.123'";
            self.report(Diagnostic::error(codes::BAD_LITERAL, self.place(value.span), message).hint(hint));
        }
    }

    fn function(&mut self, function: &sp::Function) {
        let sp::Function { name, uses_odbc_syntax, parameters, args, filter, null_treatment, over, within_group } =
            function;
        let at = name.span();
        self.object_name(name);
        if over.is_some() {
            self.refuse_expr(at, "OVER windows");
        } else if !super::special_forms::is_own(name) {
            // What the parser made of an operator has a name that no text can spell.
            self.function_name(&function_text(name), self.place(at));
            self.own_form(&function_text(name), args, at);
        }
        let odd = [
            (*uses_odbc_syntax, "{fn ..}"),
            (!matches!(parameters, sp::FunctionArguments::None), "parameters of functions"),
            (filter.is_some(), "FILTER"),
            (null_treatment.is_some(), "IGNORE NULLS and RESPECT NULLS"),
            (!within_group.is_empty(), "WITHIN GROUP"),
        ];
        for (present, what) in odd {
            if present {
                self.refuse_expr(at, what);
            }
        }
        match args {
            sp::FunctionArguments::None => {}
            sp::FunctionArguments::Subquery(_) => self.refuse_expr(at, "a query as argument"),
            sp::FunctionArguments::List(list) => self.arguments(list, at),
        }
    }

    /// Functions that are rewritten before planning, so that the planner does not know them: the number of arguments.
    fn own_form(&mut self, name: &str, args: &sp::FunctionArguments, at: TokenSpan) {
        const FORMS: &[(&str, std::ops::RangeInclusive<usize>, &str)] = &[
            ("IF", 3..=3, "IF(condition, value, otherwise)"),
            ("IFNULL", 2..=2, "IFNULL(value, otherwise)"),
            ("NULLIF", 2..=2, "NULLIF(value, other)"),
            ("MOD", 2..=2, "MOD(dividend, divisor)"),
            ("ROUND", 1..=2, "ROUND(number [, digits])"),
            ("TRUNCATE", 1..=2, "TRUNCATE(number [, digits])"),
            ("UNIX_TIMESTAMP", 0..=2, "UNIX_TIMESTAMP([text [, pattern]])"),
        ];
        let given = match args {
            sp::FunctionArguments::List(list) => list.args.len(),
            _ => 0,
        };
        let keyworded = [
            ("EXTRACT", "EXTRACT(unit FROM value)"),
            ("OVERLAY", "OVERLAY(text PLACING new FROM position [FOR length])"),
        ];
        if let Some((_, form)) = keyworded.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
            self.refuse_expr(at, &format!("{name} with commas: write {form}"));
        }
        if let Some((_, range, form)) = FORMS.iter().find(|(n, ..)| n.eq_ignore_ascii_case(name))
            && !range.contains(&given)
        {
            let message = format!("{form} does not take {given} arguments");
            self.report(Diagnostic::error(codes::PLANNER, self.place(at), message));
        }
    }

    fn arguments(&mut self, list: &sp::FunctionArgumentList, at: TokenSpan) {
        let sp::FunctionArgumentList { duplicate_treatment, args, clauses } = list;
        if duplicate_treatment.is_some() {
            self.refuse_expr(at, "DISTINCT and ALL in a function");
        }
        if !clauses.is_empty() {
            self.refuse_expr(at, "clauses among arguments");
        }
        for arg in args {
            match arg {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => self.expr(e),
                // COUNT(*) is refused by its name.
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Wildcard) => {}
                sp::FunctionArg::Unnamed(_) => self.refuse_expr(at, ".* as argument"),
                sp::FunctionArg::Named { .. } | sp::FunctionArg::ExprNamed { .. } => {
                    self.refuse_expr(at, "named arguments");
                }
            }
        }
    }
}

/// The function's name without quotes.
fn function_text(name: &sp::ObjectName) -> String {
    let parts = name.0.iter().filter_map(|p| p.as_ident()).map(|i| i.value.as_str());
    parts.collect::<Vec<_>>().join(".")
}

/// Whether the date exists and the clock shows such a time; digits beyond the ninth are too many.
fn is_sound_literal(data_type: &sp::DataType, text: &str) -> bool {
    use chrono::{NaiveDate, NaiveTime};
    let date = |t: &str| t.len() <= 10 && NaiveDate::parse_from_str(t, "%Y-%m-%d").is_ok();
    let time = |t: &str| {
        let (clock, fraction) = t.split_once('.').unwrap_or((t, "0"));
        let digits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
        digits && clock.len() <= 8 && NaiveTime::parse_from_str(clock, "%H:%M:%S").is_ok_and(|_| !clock.ends_with("60"))
    };
    match data_type {
        sp::DataType::Date => date(text),
        sp::DataType::Time(..) => time(text),
        _ => match text.split_once(' ') {
            Some((day, clock)) => date(day) && time(clock),
            None => date(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_days_and_times_that_do_not_exist_are_known() {
        let timestamp = sp::DataType::Timestamp(None, sp::TimezoneInfo::None);
        let time = sp::DataType::Time(None, sp::TimezoneInfo::None);
        for (data_type, text, sound) in [
            (&timestamp, "2024-02-29 10:00:00", true),
            (&timestamp, "2024-02-29 10:00:00.123456789", true),
            (&timestamp, "2024-02-30 10:00:00", false),
            (&timestamp, "2024-02-28 24:00:00", false),
            (&timestamp, "2024-02-28T10:00:00", false),
            (&timestamp, "2024-02-28", true),
            (&sp::DataType::Date, "2023-02-29", false),
            (&sp::DataType::Date, "2023-02-28", true),
            (&time, "23:59:59", true),
            (&time, "23:59:60", false),
            (&time, "25:00:00", false),
        ] {
            assert_eq!(is_sound_literal(data_type, text), sound, "{data_type} {text}");
        }
    }
}
