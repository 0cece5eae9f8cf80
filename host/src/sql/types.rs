//! Type names of all dialects to [`LogicalType`].

use super::codes;
use super::cursor::{JobParser, Parsed, tokenize};
use super::options::Dialect;
use super::suggest::did_you_mean;
use super::text::StatementText;
use crate::data::LogicalType;
use crate::diagnostic::{Diagnostic, Pos, Span};
use sqlparser::tokenizer::Token;

/// Types nest no deeper than this.
const DEPTH_MAX: usize = 32;
/// Flink's `VARCHAR(2147483647)` is STRING.
const LENGTH_MAX: u64 = i32::MAX as u64;

const NAMES: &[&str] = &[
    "BOOLEAN",
    "BOOL",
    "BIT",
    "TINYINT",
    "INT8",
    "SMALLINT",
    "INT16",
    "MEDIUMINT",
    "INT",
    "INTEGER",
    "INT32",
    "BIGINT",
    "LONG",
    "INT64",
    "FLOAT",
    "REAL",
    "DOUBLE",
    "DECIMAL",
    "DEC",
    "NUMERIC",
    "CHAR",
    "VARCHAR",
    "STRING",
    "TEXT",
    "CLOB",
    "NCLOB",
    "BINARY",
    "VARBINARY",
    "BYTES",
    "BLOB",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "DATETIME",
    "TIMESTAMP_LTZ",
    "UNIXTIME_MICROS",
    "ARRAY",
    "MAP",
    "ROW",
];

/// The type that a CAST names. sqlparser has read it; its text is read again by the one grammar that columns have, so
/// that a type means the same everywhere.
pub fn of_cast(data_type: &sqlparser::ast::DataType) -> Result<LogicalType, String> {
    let origin = Pos { line: 1, column: 1 };
    let text = StatementText { text: data_type.to_string(), start: origin, foreign_comments: Vec::new() };
    let mut out = Vec::new();
    let parsed = tokenize(&text).and_then(|tokens| {
        let mut parser = JobParser::new(tokens, Dialect::Flink, &mut out);
        let (t, _) = parser.data_type()?;
        parser.expect_end()?;
        Ok(t)
    });
    match (parsed, out.into_iter().find(Diagnostic::is_error)) {
        (Ok(t), None) => Ok(t),
        (Err(d), _) | (_, Some(d)) => Err(d.message),
    }
}

impl JobParser<'_> {
    /// A type and its place. An unknown type name is reported, and read as STRING so that the rest of the statement
    /// is still checked.
    pub fn data_type(&mut self) -> Parsed<(LogicalType, Span)> {
        let start = self.span(0);
        let t = self.nested_type(0)?;
        let end = Span::from(self.p.get_current_token().span);
        Ok((t, start.to(end)))
    }

    fn nested_type(&mut self, depth: usize) -> Parsed<LogicalType> {
        if depth > DEPTH_MAX {
            return Err(Diagnostic::error(codes::TOO_COMPLEX, self.span(0), "the type is nested too deeply"));
        }
        let word = match self.token(0) {
            Token::Word(w) if w.quote_style.is_none() => w.value.to_ascii_uppercase(),
            _ => return Err(self.unexpected("a type")),
        };
        let span = self.advance();
        let mut t = match word.as_str() {
            "ARRAY" => {
                self.expect(&Token::Lt)?;
                let element = self.nested_type_nullable(depth + 1)?;
                self.expect(&Token::Gt)?;
                LogicalType::Array(Box::new(element))
            }
            "MAP" => self.map_type(depth)?,
            "ROW" => self.row_type(depth)?,
            "TIMESTAMP" | "TIME" => self.time_type(&word)?,
            _ => self.simple_type(&word, span)?,
        };
        // Calcite's other spelling: `INT ARRAY`.
        while self.eat_words(&["ARRAY"]).is_some() {
            t = LogicalType::Array(Box::new(t));
        }
        Ok(t)
    }

    /// `LogicalType` has no nullability of nested values: said, not dropped.
    fn nested_type_nullable(&mut self, depth: usize) -> Parsed<LogicalType> {
        let t = self.nested_type(depth)?;
        if let Some(span) = self.eat_words(&["NOT", "NULL"]) {
            self.out.push(Diagnostic::warning(
                codes::W_NESTED_NOT_NULL,
                span,
                "NOT NULL inside a nested type is not checked",
            ));
        } else {
            self.eat_words(&["NULL"]);
        }
        Ok(t)
    }

    fn map_type(&mut self, depth: usize) -> Parsed<LogicalType> {
        self.expect(&Token::Lt)?;
        let key = self.nested_type_nullable(depth + 1)?;
        self.expect(&Token::Comma)?;
        let value = self.nested_type_nullable(depth + 1)?;
        self.expect(&Token::Gt)?;
        Ok(LogicalType::Map(Box::new(key), Box::new(value)))
    }

    /// `ROW<a INT, b STRING>`; `ROW(..)` means the same (DLI's spelling, also Calcite's).
    fn row_type(&mut self, depth: usize) -> Parsed<LogicalType> {
        let close = if self.eat(&Token::Lt).is_some() {
            Token::Gt
        } else {
            self.expect(&Token::LParen)?;
            Token::RParen
        };
        let mut fields: Vec<(String, LogicalType)> = Vec::new();
        loop {
            let name = self.name("a field name")?;
            if fields.iter().any(|(n, _)| *n == name.value) {
                let message = format!("field {} is declared twice", name.value);
                return Err(Diagnostic::error(codes::DUPLICATE_COLUMN, name.span, message));
            }
            let t = self.nested_type_nullable(depth + 1)?;
            if self.eat_words(&["COMMENT"]).is_some() || matches!(self.token(0), Token::SingleQuotedString(_)) {
                self.string("a comment")?;
            }
            fields.push((name.value, t));
            if self.eat(&close).is_some() {
                return Ok(LogicalType::Row(fields));
            }
            self.expect(&Token::Comma)?;
        }
    }

    fn time_type(&mut self, word: &str) -> Parsed<LogicalType> {
        // java.sql.Timestamp in flinkStreamSQL; 6 is Flink's default.
        let default = match (word, self.dialect) {
            ("TIME", _) => 0,
            (_, Dialect::DtStack) => 3,
            _ => 6,
        };
        let precision = self.one_parameter(0, 9, "a number of fraction digits")?.unwrap_or(default) as u8;
        if let Some(span) = self.eat_words(&["WITH", "TIME", "ZONE"]) {
            let d = Diagnostic::error(codes::UNSUPPORTED_TYPE, span, format!("not supported: {word} WITH TIME ZONE"));
            return Err(d.hint("TIMESTAMP_LTZ is an instant, TIMESTAMP a wall clock time"));
        }
        if self.eat_words(&["WITH", "LOCAL", "TIME", "ZONE"]).is_some() && word == "TIMESTAMP" {
            return Ok(LogicalType::TimestampLtz(precision));
        }
        self.eat_words(&["WITHOUT", "TIME", "ZONE"]);
        Ok(if word == "TIME" { LogicalType::Time(precision) } else { LogicalType::Timestamp(precision) })
    }

    fn simple_type(&mut self, word: &str, span: Span) -> Parsed<LogicalType> {
        let glued = word.strip_suffix("UNSIGNED").filter(|_| word != "UNSIGNED");
        let base = glued.unwrap_or(word);
        let t = match base {
            "BOOLEAN" | "BOOL" => LogicalType::Boolean,
            "BIT" => {
                self.one_parameter(1, 1, "a length of 1")?;
                LogicalType::Boolean
            }
            "TINYINT" | "INT8" => LogicalType::TinyInt,
            "SMALLINT" | "INT16" => LogicalType::SmallInt,
            "MEDIUMINT" | "INT" | "INTEGER" | "INT32" => LogicalType::Int,
            "BIGINT" | "LONG" | "INT64" => LogicalType::BigInt,
            "FLOAT" | "REAL" => LogicalType::Float,
            "DOUBLE" => {
                self.eat_words(&["PRECISION"]);
                LogicalType::Double
            }
            "DECIMAL" | "DEC" | "NUMERIC" => self.decimal()?,
            "CHAR" | "CHARACTER" => LogicalType::Char(self.length()?.unwrap_or(1) as u32),
            "VARCHAR" => LogicalType::Varchar(self.bounded_length()?),
            "STRING" | "TEXT" | "CLOB" | "NCLOB" => LogicalType::STRING,
            "BINARY" => LogicalType::Binary(self.length()?.unwrap_or(1) as u32),
            "VARBINARY" => LogicalType::Varbinary(self.bounded_length()?),
            "BYTES" | "BLOB" => LogicalType::BYTES,
            "DATE" => LogicalType::Date,
            "DATETIME" => LogicalType::Timestamp(
                self.one_parameter(0, 9, "a number of fraction digits")?
                    .unwrap_or(if self.dialect == Dialect::DtStack { 3 } else { 6 }) as u8,
            ),
            "TIMESTAMP_LTZ" => {
                LogicalType::TimestampLtz(self.one_parameter(0, 9, "a number of fraction digits")?.unwrap_or(6) as u8)
            }
            "UNIXTIME_MICROS" => LogicalType::Timestamp(6),
            _ => return self.unknown_type(word, span),
        };
        let unsigned = glued.is_some() || self.eat_words(&["UNSIGNED"]).is_some();
        Ok(if unsigned { widen_unsigned(t) } else { t })
    }

    fn unknown_type(&mut self, word: &str, span: Span) -> Parsed<LogicalType> {
        let known = ["MULTISET", "RAW", "INTERVAL", "GEOMETRY", "VARIANT", "STRUCTURED", "JSON", "YEAR", "ENUM"];
        let d = if known.contains(&word) {
            Diagnostic::error(codes::UNSUPPORTED_TYPE, span, format!("not supported yet: type {word}"))
        } else {
            Diagnostic::error(codes::UNKNOWN_TYPE, span, format!("unknown type {word}")).hint(
                did_you_mean(word, NAMES.iter().copied()).unwrap_or_else(|| format!("types are {}", NAMES.join(", "))),
            )
        };
        self.out.push(d);
        if self.eat(&Token::LParen).is_some() {
            while !self.at_end() && self.eat(&Token::RParen).is_none() {
                self.advance();
            }
        }
        Ok(LogicalType::STRING)
    }

    /// flinkStreamSQL carries every decimal as DECIMAL(38, 18); DECIMAL(10, 0) is Flink's default.
    fn decimal(&mut self) -> Parsed<LogicalType> {
        if self.eat(&Token::LParen).is_none() {
            let (p, s) = if self.dialect == Dialect::DtStack { (38, 18) } else { (10, 0) };
            return Ok(LogicalType::Decimal(p, s));
        }
        let precision = self.number(1, 38, "a precision")?;
        let scale = match self.eat(&Token::Comma) {
            Some(_) => self.number(0, precision, "a scale")?,
            None => 0,
        };
        self.expect(&Token::RParen)?;
        Ok(LogicalType::Decimal(precision as u8, scale as u8))
    }

    fn length(&mut self) -> Parsed<Option<u64>> {
        self.one_parameter(1, LENGTH_MAX, "a length")
    }

    fn bounded_length(&mut self) -> Parsed<Option<u32>> {
        Ok(self.length()?.filter(|n| *n < LENGTH_MAX).map(|n| n as u32))
    }

    fn one_parameter(&mut self, min: u64, max: u64, what: &str) -> Parsed<Option<u64>> {
        if self.eat(&Token::LParen).is_none() {
            return Ok(None);
        }
        let n = self.number(min, max, what)?;
        self.expect(&Token::RParen)?;
        Ok(Some(n))
    }

    pub fn number(&mut self, min: u64, max: u64, what: &str) -> Parsed<u64> {
        let Token::Number(text, _) = self.token(0) else { return Err(self.unexpected(what)) };
        let Some(n) = text.parse::<u64>().ok().filter(|n| (min..=max).contains(n)) else {
            let message = format!("{what} from {min} to {max} is needed, found {}", self.token(0));
            return Err(Diagnostic::error(codes::BAD_TYPE_PARAMETER, self.span(0), message));
        };
        self.advance();
        Ok(n)
    }
}

/// The type that holds every value of MySQL's unsigned one (reference: Flink's JDBC type mapping).
fn widen_unsigned(t: LogicalType) -> LogicalType {
    match t {
        LogicalType::TinyInt => LogicalType::SmallInt,
        LogicalType::SmallInt => LogicalType::Int,
        LogicalType::Int => LogicalType::BigInt,
        LogicalType::BigInt => LogicalType::Decimal(20, 0),
        t => t,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, dialect: Dialect) -> Result<String, String> {
        let origin = Pos { line: 1, column: 1 };
        let statement = StatementText { text: text.into(), start: origin, foreign_comments: Vec::new() };
        let mut out = Vec::new();
        let mut p = JobParser::new(tokenize(&statement).map_err(|d| d.message)?, dialect, &mut out);
        let t = p.data_type().and_then(|(t, _)| p.expect_end().map(|()| t)).map_err(|d| d.message)?;
        match out.first() {
            Some(d) if d.is_error() => Err(d.message.clone()),
            _ => Ok(t.to_string()),
        }
    }

    #[test]
    fn every_spelling_of_a_type_is_read() {
        for (text, expected) in [
            ("int", "INT"),
            ("MEDIUMINT", "INT"),
            ("intunsigned", "BIGINT"),
            ("BIGINT UNSIGNED", "DECIMAL(20, 0)"),
            ("long", "BIGINT"),
            ("double precision", "DOUBLE"),
            ("dec(10,2)", "DECIMAL(10, 2)"),
            ("numeric(5)", "DECIMAL(5, 0)"),
            ("varchar", "STRING"),
            ("VARCHAR(2147483647)", "STRING"),
            ("varchar(11)", "VARCHAR(11)"),
            ("blob", "BYTES"),
            ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
            ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"),
            ("ROW(a STRING, b ROW<c INT NOT NULL>)", "ROW<`a` STRING, `b` ROW<`c` INT>>"),
            ("MAP<STRING, ARRAY<ARRAY<INT>>>", "MAP<STRING, ARRAY<ARRAY<INT>>>"),
            ("INT ARRAY", "ARRAY<INT>"),
        ] {
            assert_eq!(read(text, Dialect::Flink).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn defaults_follow_the_dialect() {
        assert_eq!(read("decimal", Dialect::DtStack).as_deref(), Ok("DECIMAL(38, 18)"));
        assert_eq!(read("decimal", Dialect::Flink).as_deref(), Ok("DECIMAL(10, 0)"));
        assert_eq!(read("timestamp", Dialect::DtStack).as_deref(), Ok("TIMESTAMP(3)"));
    }

    #[test]
    fn refuses_what_does_not_exist() {
        for text in [
            "strng",
            "decimal(39)",
            "decimal(5,6)",
            "varchar(0)",
            "timestamp(10)",
            "MULTISET<INT>",
            "ARRAY",
            "array<int",
        ] {
            assert!(read(text, Dialect::Flink).is_err(), "{text}");
        }
    }

    #[test]
    fn a_deeply_nested_type_is_refused() {
        let text = format!("{}INT{}", "ARRAY<".repeat(5000), ">".repeat(5000));
        assert!(read(&text, Dialect::Flink).is_err());
    }
}
