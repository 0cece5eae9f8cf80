//! Flink's lexical rules for sqlparser.

use super::special_forms;
use sqlparser::ast::Expr;
use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// Backticks quote identifiers, identifiers may be Unicode, strings know only the `''` escape (flinkStreamSQL's `\'`
/// is taken care of in `text.rs`), `FOR SYSTEM_TIME AS OF` follows a table. No trailing commas in queries:
/// dialects that allow them read `SELECT a, FROM t` without complaint.
#[derive(Debug)]
pub struct FlinkDialect;

impl Dialect for FlinkDialect {
    fn is_identifier_start(&self, c: char) -> bool {
        c.is_alphabetic() || c == '_'
    }
    fn is_identifier_part(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || c == '$'
    }
    fn is_delimited_identifier_start(&self, c: char) -> bool {
        c == '`'
    }
    fn identifier_quote_style(&self, _identifier: &str) -> Option<char> {
        Some('`')
    }
    /// Words that begin the next clause are no names: `SELECT id FROM WHERE ..` lacks a table.
    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        use Keyword::*;
        matches!(
            kw,
            EXISTS
                | INTERVAL
                | STRUCT
                | TRIM
                | SELECT
                | FROM
                | WHERE
                | GROUP
                | HAVING
                | ORDER
                | LIMIT
                | UNION
                | JOIN
                | ON
                | INNER
                | CROSS
                | INSERT
                | INTO
                | WITH
                | AND
                | OR
                | CASE
                | WHEN
                | THEN
                | ELSE
                | CAST
        )
    }
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        special_forms::prefix(parser)
    }
    fn parse_infix(&self, parser: &mut Parser, left: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        special_forms::infix(parser, left)
    }
    fn supports_table_versioning(&self) -> bool {
        true
    }
    fn supports_unicode_string_literal(&self) -> bool {
        true
    }
    fn supports_group_by_expr(&self) -> bool {
        true
    }
    fn supports_filter_during_aggregation(&self) -> bool {
        true
    }
}
