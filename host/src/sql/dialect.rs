//! Flink's lexical rules for sqlparser.

use sqlparser::dialect::Dialect;

/// Backticks quote identifiers, identifiers may be Unicode, strings know only the `''` escape (flinkStreamSQL's `\'`
/// is taken care of in [`super::text`]), `FOR SYSTEM_TIME AS OF` follows a table. No trailing commas in queries:
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
