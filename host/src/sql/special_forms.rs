//! Calls and operators of Flink with a grammar of their own, which sqlparser does not know: the JSON functions with
//! their clauses, `MAP[..]`, `IS JSON`, `BETWEEN SYMMETRIC`. Each becomes a plain call: clauses are arguments, so that
//! nothing after the parser needs to know them.

use super::dialect::FlinkDialect;
use sqlparser::ast::{self as sp, Expr};
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

type Parsed<T> = Result<T, ParserError>;

/// An expression that begins here, if it is one of ours.
pub fn prefix(parser: &mut Parser<'_>) -> Option<Parsed<Expr>> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    if word.quote_style.is_some() {
        return None;
    }
    if word.value.eq_ignore_ascii_case("TABLE") && is_table_argument(parser) {
        return Some(table_argument(parser));
    }
    type Form = fn(&mut Parser<'_>, sp::Ident) -> Parsed<Expr>;
    const FORMS: &[(&str, Token, Form)] = &[
        ("MAP", Token::LBracket, map),
        ("JSON_EXISTS", Token::LParen, json_exists),
        ("JSON_VALUE", Token::LParen, json_value),
        ("JSON_QUERY", Token::LParen, json_query),
        ("JSON_OBJECT", Token::LParen, json_object),
        ("JSON_ARRAY", Token::LParen, json_array),
    ];
    let (_, open, form) = FORMS.iter().find(|(name, ..)| word.value.eq_ignore_ascii_case(name))?;
    if parser.peek_nth_token_ref(1).token != *open {
        return None;
    }
    let token = parser.next_token();
    let Token::Word(word) = token.token else { return None };
    parser.next_token();
    Some(form(parser, word.into_ident(token.span)))
}

/// `TABLE name` as an argument of a window (`TUMBLE(TABLE t, ..)`).
fn is_table_argument(parser: &Parser<'_>) -> bool {
    matches!(&parser.peek_nth_token_ref(1).token, Token::Word(_))
        && match &parser.peek_nth_token_ref(2).token {
            Token::Comma | Token::RParen | Token::Period => true,
            Token::Word(w) => ["PARTITION", "ORDER"].iter().any(|k| w.value.eq_ignore_ascii_case(k)),
            _ => false,
        }
}

/// `TABLE name [PARTITION BY a]`: the first argument is the table, the others are the columns of its partitions.
fn table_argument(parser: &mut Parser<'_>) -> Parsed<Expr> {
    let span = parser.next_token().span;
    let mut parts = vec![parser.parse_identifier()?];
    while parser.consume_token(&Token::Period) {
        parts.push(parser.parse_identifier()?);
    }
    let mut args = vec![Expr::CompoundIdentifier(parts)];
    if eat_all(parser, &["PARTITION", "BY"]) {
        let bracketed = parser.consume_token(&Token::LParen);
        loop {
            args.push(Expr::Identifier(parser.parse_identifier()?));
            // Without brackets a comma ends the list: what follows is the next argument of the window.
            if !bracketed || !parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if bracketed {
            parser.expect_token(&Token::RParen)?;
        }
    }
    Ok(call(sp::Ident::with_span(span, "$table"), args))
}

/// What follows `left`, if it is an operator of ours.
pub fn infix(parser: &mut Parser<'_>, left: &Expr) -> Option<Parsed<Expr>> {
    let word = |parser: &Parser<'_>, n: usize| match &parser.peek_nth_token_ref(n).token {
        Token::Word(w) if w.quote_style.is_none() => w.value.to_ascii_uppercase(),
        _ => String::new(),
    };
    let first = word(parser, 0);
    if !matches!(first.as_str(), "IS" | "NOT" | "BETWEEN") {
        return None;
    }
    let negated = match first.as_str() {
        "IS" => word(parser, 1) == "NOT",
        _ => first == "NOT",
    };
    let at = usize::from(negated);
    match first.as_str() {
        "IS" if word(parser, 1 + at) == "JSON" => Some(is_json(parser, left, negated)),
        "NOT" | "BETWEEN" if word(parser, at) == "BETWEEN" => match word(parser, at + 1).as_str() {
            "SYMMETRIC" => Some(between(parser, left, negated, true)),
            "ASYMMETRIC" => Some(between(parser, left, negated, false)),
            _ => None,
        },
        _ => None,
    }
}

/// A call that no text can spell with a name that begins with `$` and has no quotes.
/// `name(args)`
pub fn call(name: sp::Ident, args: impl IntoIterator<Item = Expr>) -> Expr {
    let arg = |e| sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e));
    Expr::Function(sp::Function {
        name: name.into(),
        uses_odbc_syntax: false,
        parameters: sp::FunctionArguments::None,
        args: sp::FunctionArguments::List(sp::FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(arg).collect(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

fn text(value: &str) -> Expr {
    Expr::Value(sp::Value::SingleQuotedString(value.to_string()).with_empty_span())
}

fn null() -> Expr {
    Expr::Value(sp::Value::Null.with_empty_span())
}

/// The next word, if it is `wanted`.
fn eat(parser: &mut Parser<'_>, wanted: &str) -> bool {
    let found = matches!(&parser.peek_token_ref().token,
        Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(wanted));
    if found {
        parser.next_token();
    }
    found
}

/// All of `wanted`, or nothing.
fn eat_all(parser: &mut Parser<'_>, wanted: &[&str]) -> bool {
    let all = wanted.iter().enumerate().all(|(n, word)| {
        matches!(&parser.peek_nth_token_ref(n).token,
            Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
    });
    if all {
        wanted.iter().for_each(|_| drop(parser.next_token()));
    }
    all
}

fn expect(parser: &mut Parser<'_>, wanted: &str) -> Parsed<()> {
    if eat(parser, wanted) { Ok(()) } else { parser.expected_ref(wanted, parser.peek_token_ref()) }
}

/// `MAP[k, v, ..]`
fn map(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let args = parser.parse_comma_separated0(Parser::parse_expr, Token::RBracket)?;
    parser.expect_token(&Token::RBracket)?;
    Ok(call(sp::Ident { value: "$map".to_string(), ..name }, args))
}

/// The JSON text and the path.
fn input_and_path(parser: &mut Parser<'_>) -> Parsed<Vec<Expr>> {
    let input = parser.parse_expr()?;
    parser.expect_token(&Token::Comma)?;
    Ok(vec![input, parser.parse_expr()?])
}

/// `JSON_EXISTS(text, path [TRUE | FALSE | UNKNOWN | ERROR ON ERROR])`
fn json_exists(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let mut args = input_and_path(parser)?;
    let words = ["TRUE", "FALSE", "UNKNOWN", "ERROR"];
    let behaviour = words.into_iter().find(|w| eat_all(parser, &[w, "ON", "ERROR"]));
    args.push(text(behaviour.unwrap_or("FALSE")));
    parser.expect_token(&Token::RParen)?;
    Ok(call(name, args))
}

/// `JSON_VALUE(text, path [RETURNING type] [NULL | ERROR | DEFAULT value ON EMPTY] [.. ON ERROR])`
fn json_value(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let mut args = input_and_path(parser)?;
    let returning = returning(parser)?;
    let mut behaviours = [("NULL", null()), ("NULL", null())];
    loop {
        let behaviour = if eat(parser, "NULL") {
            ("NULL", null())
        } else if eat(parser, "ERROR") {
            ("ERROR", null())
        } else if eat(parser, "DEFAULT") {
            ("DEFAULT", parser.parse_expr()?)
        } else {
            break;
        };
        behaviours[on_what(parser)?] = behaviour;
    }
    parser.expect_token(&Token::RParen)?;
    let target = match &returning {
        Some(t) => super::types::of_cast(t).map_err(ParserError::ParserError)?.to_string(),
        None => "STRING".to_string(),
    };
    args.push(text(&target));
    for (word, default) in behaviours {
        let has_default = word == "DEFAULT";
        args.push(text(word));
        args.push(if has_default { cast(default, returning.clone()) } else { default });
    }
    Ok(call(name, args))
}

fn cast(value: Expr, to: Option<sp::DataType>) -> Expr {
    Expr::Cast {
        kind: sp::CastKind::Cast,
        expr: Box::new(value),
        data_type: to.unwrap_or(sp::DataType::String(None)),
        array: false,
        format: None,
    }
}

fn returning(parser: &mut Parser<'_>) -> Parsed<Option<sp::DataType>> {
    if parser.parse_keyword(Keyword::RETURNING) { parser.parse_data_type().map(Some) } else { Ok(None) }
}

/// `ON EMPTY` is 0, `ON ERROR` 1.
fn on_what(parser: &mut Parser<'_>) -> Parsed<usize> {
    expect(parser, "ON")?;
    if eat(parser, "EMPTY") {
        return Ok(0);
    }
    expect(parser, "ERROR").map(|()| 1)
}

/// `JSON_QUERY(text, path [RETURNING type] [WITHOUT | WITH [CONDITIONAL | UNCONDITIONAL] [ARRAY] WRAPPER]
/// [NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR ON EMPTY] [.. ON ERROR])`
fn json_query(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let mut args = input_and_path(parser)?;
    if let Some(t) = returning(parser)?
        && !super::types::of_cast(&t).is_ok_and(|t| t.is_text())
    {
        return Err(ParserError::ParserError(format!("JSON_QUERY returns STRING, not {t}")));
    }
    let wrapper = if eat(parser, "WITHOUT") {
        "WITHOUT"
    } else if eat(parser, "WITH") {
        if eat(parser, "CONDITIONAL") {
            "CONDITIONAL"
        } else {
            eat(parser, "UNCONDITIONAL");
            "UNCONDITIONAL"
        }
    } else {
        ""
    };
    if !wrapper.is_empty() {
        eat(parser, "ARRAY");
        expect(parser, "WRAPPER")?;
    }
    args.push(text(wrapper));
    let mut behaviours = ["NULL", "NULL"];
    loop {
        let behaviour = if eat(parser, "NULL") {
            "NULL"
        } else if eat(parser, "ERROR") {
            "ERROR"
        } else if eat_all(parser, &["EMPTY", "ARRAY"]) {
            "EMPTY ARRAY"
        } else if eat_all(parser, &["EMPTY", "OBJECT"]) {
            "EMPTY OBJECT"
        } else {
            break;
        };
        behaviours[on_what(parser)?] = behaviour;
    }
    parser.expect_token(&Token::RParen)?;
    args.extend(behaviours.map(text));
    Ok(call(name, args))
}

/// `JSON_OBJECT([[KEY] key VALUE value, ..] [NULL | ABSENT ON NULL])`
fn json_object(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let (mut args, mut raw) = (vec![], String::new());
    let mut mode = null_clause(parser)?;
    while mode.is_none() && parser.peek_token_ref().token != Token::RParen {
        // `KEY` may also be a column: then VALUE or a colon follows it.
        let is_word = matches!(&parser.peek_nth_token_ref(1).token, Token::Word(w) if w.value.eq_ignore_ascii_case("VALUE"))
            || parser.peek_nth_token_ref(1).token == Token::Colon;
        if !is_word {
            eat(parser, "KEY");
        }
        args.push(parser.parse_expr()?);
        if !parser.consume_token(&Token::Colon) {
            expect(parser, "VALUE")?;
        }
        json_member(parser, &mut args, &mut raw)?;
        mode = null_clause(parser)?;
        if mode.is_none() && !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    finish(parser, name, mode.unwrap_or("NULL"), &raw, args)
}

/// `JSON_ARRAY([value, ..] [NULL | ABSENT ON NULL])`
fn json_array(parser: &mut Parser<'_>, name: sp::Ident) -> Parsed<Expr> {
    let (mut args, mut raw) = (vec![], String::new());
    let mut mode = null_clause(parser)?;
    while mode.is_none() && parser.peek_token_ref().token != Token::RParen {
        json_member(parser, &mut args, &mut raw)?;
        mode = null_clause(parser)?;
        if mode.is_none() && !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    finish(parser, name, mode.unwrap_or("ABSENT"), &raw, args)
}

fn finish(parser: &mut Parser<'_>, name: sp::Ident, mode: &str, raw: &str, args: Vec<Expr>) -> Parsed<Expr> {
    parser.expect_token(&Token::RParen)?;
    Ok(call(name, std::iter::once(text(&format!("{mode}:{raw}"))).chain(args)))
}

fn null_clause(parser: &mut Parser<'_>) -> Parsed<Option<&'static str>> {
    Ok(["NULL", "ABSENT"].into_iter().find(|w| eat_all(parser, &[w, "ON", "NULL"])))
}

/// A value; that of another JSON function is JSON already, and `JSON(text)` says that a text is.
fn json_member(parser: &mut Parser<'_>, args: &mut Vec<Expr>, raw: &mut String) -> Parsed<()> {
    let mut value = parser.parse_expr()?;
    let mut is_json = false;
    if let Expr::Function(f) = &mut value {
        let name = f.name.to_string().to_ascii_uppercase();
        is_json = matches!(name.as_str(), "JSON_OBJECT" | "JSON_ARRAY" | "JSON");
        if name == "JSON"
            && let sp::FunctionArguments::List(list) = &mut f.args
            && let [sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(inner))] = list.args.as_mut_slice()
        {
            value = std::mem::replace(inner, null());
        }
    }
    raw.push(if is_json { '1' } else { '0' });
    args.push(value);
    Ok(())
}

/// `x IS [NOT] JSON [VALUE | OBJECT | ARRAY | SCALAR]`
fn is_json(parser: &mut Parser<'_>, left: &Expr, negated: bool) -> Parsed<Expr> {
    expect(parser, "IS")?;
    eat(parser, "NOT");
    let span = parser.peek_token_ref().span;
    expect(parser, "JSON")?;
    let kind = ["VALUE", "OBJECT", "ARRAY", "SCALAR"].into_iter().find(|k| eat(parser, k)).unwrap_or("VALUE");
    let test = call(sp::Ident::with_span(span, "$is_json"), vec![left.clone(), text(kind)]);
    Ok(if negated { not(test) } else { test })
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: sp::UnaryOperator::Not, expr: Box::new(expr) }
}

const SYMMETRIC_MAX: usize = 2000;

/// `x [NOT] BETWEEN SYMMETRIC a AND b`: the bounds in either order.
fn between(parser: &mut Parser<'_>, left: &Expr, negated: bool, symmetric: bool) -> Parsed<Expr> {
    eat(parser, "NOT");
    expect(parser, "BETWEEN")?;
    parser.next_token();
    let precedence = FlinkDialect.prec_value(Precedence::Between);
    let low = parser.parse_subexpr(precedence)?;
    parser.expect_keyword_is(Keyword::AND)?;
    let high = parser.parse_subexpr(precedence)?;
    let within = |low: &Expr, high: &Expr| Expr::Between {
        expr: Box::new(left.clone()),
        negated,
        low: Box::new(low.clone()),
        high: Box::new(high.clone()),
    };
    if !symmetric {
        return Ok(within(&low, &high));
    }
    // The parts are written twice or more: nested in each other they would grow without limit.
    if [left, &low, &high].iter().any(|e| e.to_string().len() > SYMMETRIC_MAX) {
        return Err(ParserError::ParserError("the parts of BETWEEN SYMMETRIC are too long".to_string()));
    }
    let op = if negated { sp::BinaryOperator::And } else { sp::BinaryOperator::Or };
    let either = Expr::BinaryOp { left: Box::new(within(&low, &high)), op, right: Box::new(within(&high, &low)) };
    Ok(Expr::Nested(Box::new(either)))
}

/// Whether [`prefix`] or [`infix`] made this name: it is not looked up among the functions.
pub fn is_own(name: &sp::ObjectName) -> bool {
    matches!(name.0.as_slice(), [sp::ObjectNamePart::Identifier(i)] if i.quote_style.is_none() && i.value.starts_with('$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(sql: &str) -> Result<String, String> {
        let mut parser = Parser::new(&FlinkDialect).try_with_sql(sql).unwrap();
        let e = parser.parse_expr().map_err(|e| e.to_string())?;
        parser.expect_token(&Token::EOF).map_err(|e| e.to_string())?;
        Ok(e.to_string())
    }

    #[test]
    fn clauses_become_arguments() {
        for (sql, expected) in [
            ("map['a', 1]", "$map('a', 1)"),
            ("JSON_EXISTS(x, '$.a' TRUE ON ERROR)", "JSON_EXISTS(x, '$.a', 'TRUE')"),
            ("JSON_EXISTS(x, '$.a')", "JSON_EXISTS(x, '$.a', 'FALSE')"),
            ("JSON_VALUE(x, '$.a')", "JSON_VALUE(x, '$.a', 'STRING', 'NULL', NULL, 'NULL', NULL)"),
            (
                "json_value(x, '$.a' RETURNING INT DEFAULT 7 ON EMPTY ERROR ON ERROR)",
                "json_value(x, '$.a', 'INT', 'DEFAULT', CAST(7 AS INT), 'ERROR', NULL)",
            ),
            ("JSON_QUERY(x, '$')", "JSON_QUERY(x, '$', '', 'NULL', 'NULL')"),
            (
                "JSON_QUERY(x, '$' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY NULL ON ERROR)",
                "JSON_QUERY(x, '$', 'CONDITIONAL', 'EMPTY ARRAY', 'NULL')",
            ),
            ("JSON_OBJECT()", "JSON_OBJECT('NULL:')"),
            (
                "JSON_OBJECT(KEY 'a' VALUE JSON_ARRAY(1, NULL ABSENT ON NULL), 'b' VALUE key ABSENT ON NULL)",
                "JSON_OBJECT('ABSENT:10', 'a', JSON_ARRAY('ABSENT:00', 1, NULL), 'b', key)",
            ),
            ("JSON_ARRAY(JSON(x) NULL ON NULL)", "JSON_ARRAY('NULL:1', x)"),
            ("x IS NOT JSON OBJECT", "NOT $is_json(x, 'OBJECT')"),
            ("x IS JSON AND y IS NULL", "$is_json(x, 'VALUE') AND y IS NULL"),
            ("x BETWEEN SYMMETRIC 5 AND 1 AND y", "(x BETWEEN 5 AND 1 OR x BETWEEN 1 AND 5) AND y"),
            ("x NOT BETWEEN ASYMMETRIC 1 AND 5", "x NOT BETWEEN 1 AND 5"),
            ("x IS NOT NULL", "x IS NOT NULL"),
            ("map", "map"),
            ("TUMBLE(TABLE t, DESCRIPTOR(ts), 5)", "TUMBLE($table(t), DESCRIPTOR(ts), 5)"),
            ("f(DATA => TABLE d.t PARTITION BY (a, b))", "f(DATA => $table(d.t, a, b))"),
            ("f(TABLE t PARTITION BY a, 1)", "f($table(t, a), 1)"),
        ] {
            assert_eq!(parse(sql).as_deref(), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn clauses_that_do_not_exist_are_refused() {
        for sql in [
            "JSON_VALUE(x, '$' NULL ON NULL)",
            "JSON_EXISTS(x)",
            "JSON_OBJECT('a', 1)",
            "JSON_QUERY(x, '$' RETURNING INT)",
        ] {
            assert!(parse(sql).is_err(), "{sql}");
        }
    }
}
