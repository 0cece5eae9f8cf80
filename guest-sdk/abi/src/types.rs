//! The SQL types of the wire: their codes, their parameters, their text in Flink's spelling.

use std::fmt;

/// Length of STRING and BYTES.
pub const UNBOUNDED: u32 = u32::MAX;

/// A type with its parameters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Char(u32),
    /// [`UNBOUNDED`]: STRING.
    Varchar(u32),
    Binary(u32),
    /// [`UNBOUNDED`]: BYTES.
    Varbinary(u32),
    Date,
    Time(u8),
    Timestamp(u8),
    TimestampLtz(u8),
    Array(Box<Field>),
    /// Key and value.
    Map(Box<(Field, Field)>),
    Row(Vec<Field>),
}

/// A named type: a column, a member of a ROW, the `item` of an ARRAY, `key` and `value` of a MAP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    pub nullable: bool,
}

/// How values lie in a column's data buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// One bit a value, lowest bit first.
    Bits,
    /// This many bytes a value.
    Fixed(usize),
    /// Offsets into the data.
    Bytes,
    /// Offsets into one child.
    List,
    /// Offsets into two children.
    Map,
    /// No buffer but validity; as many values in each child.
    Struct,
}

impl Wire {
    /// Whether nodes of this layout have children.
    pub fn is_nested(self) -> bool {
        matches!(self, Wire::List | Wire::Map | Wire::Struct)
    }
}

impl Field {
    pub fn new(name: impl Into<String>, ty: Type, nullable: bool) -> Self {
        Self { name: name.into(), ty, nullable }
    }
}

impl Type {
    pub const STRING: Type = Type::Varchar(UNBOUNDED);
    pub const BYTES: Type = Type::Varbinary(UNBOUNDED);

    pub fn array(item: Type) -> Type {
        Type::Array(Box::new(Field::new("item", item, true)))
    }

    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Box::new((Field::new("key", key, false), Field::new("value", value, true))))
    }

    pub fn code(&self) -> u8 {
        match self {
            Type::Boolean => 1,
            Type::TinyInt => 2,
            Type::SmallInt => 3,
            Type::Int => 4,
            Type::BigInt => 5,
            Type::Float => 6,
            Type::Double => 7,
            Type::Decimal { .. } => 8,
            Type::Char(_) => 9,
            Type::Varchar(_) => 10,
            Type::Binary(_) => 11,
            Type::Varbinary(_) => 12,
            Type::Date => 13,
            Type::Time(_) => 14,
            Type::Timestamp(_) => 15,
            Type::TimestampLtz(_) => 16,
            Type::Array(_) => 17,
            Type::Map(_) => 18,
            Type::Row(_) => 19,
        }
    }

    /// The one layout of this type.
    pub fn wire(&self) -> Wire {
        match self {
            Type::Boolean => Wire::Bits,
            Type::TinyInt => Wire::Fixed(1),
            Type::SmallInt => Wire::Fixed(2),
            Type::Int | Type::Float | Type::Date => Wire::Fixed(4),
            Type::BigInt | Type::Double | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_) => Wire::Fixed(8),
            Type::Decimal { .. } => Wire::Fixed(16),
            Type::Char(_) | Type::Varchar(_) | Type::Binary(_) | Type::Varbinary(_) => Wire::Bytes,
            Type::Array(_) => Wire::List,
            Type::Map(_) => Wire::Map,
            Type::Row(_) => Wire::Struct,
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self, Type::Char(_) | Type::Varchar(_))
    }

    /// Nested fields in order.
    pub fn children(&self) -> Vec<&Field> {
        match self {
            Type::Array(item) => vec![item],
            Type::Map(kv) => vec![&kv.0, &kv.1],
            Type::Row(fields) => fields.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// TIME and TIMESTAMP count microseconds up to precision 6, nanoseconds above.
    pub fn counts_nanoseconds(precision: u8) -> bool {
        precision > 6
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Boolean => f.write_str("BOOLEAN"),
            Type::TinyInt => f.write_str("TINYINT"),
            Type::SmallInt => f.write_str("SMALLINT"),
            Type::Int => f.write_str("INT"),
            Type::BigInt => f.write_str("BIGINT"),
            Type::Float => f.write_str("FLOAT"),
            Type::Double => f.write_str("DOUBLE"),
            Type::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            Type::Char(n) => write!(f, "CHAR({n})"),
            Type::Varchar(UNBOUNDED) => f.write_str("STRING"),
            Type::Varchar(n) => write!(f, "VARCHAR({n})"),
            Type::Binary(n) => write!(f, "BINARY({n})"),
            Type::Varbinary(UNBOUNDED) => f.write_str("BYTES"),
            Type::Varbinary(n) => write!(f, "VARBINARY({n})"),
            Type::Date => f.write_str("DATE"),
            Type::Time(p) => write!(f, "TIME({p})"),
            Type::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            Type::TimestampLtz(p) => write!(f, "TIMESTAMP_LTZ({p})"),
            Type::Array(item) => write!(f, "ARRAY<{}>", item.ty),
            Type::Map(kv) => write!(f, "MAP<{}, {}>", kv.0.ty, kv.1.ty),
            Type::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}`{}` {}", field.name.replace('`', "``"), field.ty)?;
                    if !field.nullable {
                        f.write_str(" NOT NULL")?;
                    }
                }
                f.write_str(">")
            }
        }
    }
}

/// A text that is not a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTypeError(pub String);

impl fmt::Display for ParseTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseTypeError {}

impl std::str::FromStr for Type {
    type Err = ParseTypeError;

    /// Reads Flink's spelling: `INT`, `DECIMAL(10, 2)`, `TIMESTAMP(3)`, `ARRAY<INT>`, ``ROW<`a` INT, b STRING>``.
    fn from_str(text: &str) -> Result<Type, ParseTypeError> {
        let mut parser = Parser { text, rest: text };
        let ty = parser.parse_type(0)?;
        parser.skip_space();
        if parser.rest.is_empty() { Ok(ty) } else { Err(parser.error("something follows the type")) }
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn error(&self, what: &str) -> ParseTypeError {
        ParseTypeError(format!("`{}` is not a type: {what} at character {}", self.text, self.position() + 1))
    }

    fn position(&self) -> usize {
        self.text.chars().count() - self.rest.chars().count()
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: char) -> Result<(), ParseTypeError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(&format!("`{token}` expected"))) }
    }

    fn word(&mut self) -> &'a str {
        self.skip_space();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn number(&mut self, min: u32, max: u32) -> Result<u32, ParseTypeError> {
        let before = self.rest;
        match self.word().parse::<u32>() {
            Ok(n) if (min..=max).contains(&n) => Ok(n),
            _ => {
                self.rest = before;
                Err(self.error(&format!("a number from {min} to {max} expected")))
            }
        }
    }

    /// `(n)`, or the default.
    fn parameter(&mut self, min: u32, max: u32, default: u32) -> Result<u32, ParseTypeError> {
        if !self.eat('(') {
            return Ok(default);
        }
        let n = self.number(min, max)?;
        self.expect(')')?;
        Ok(n)
    }

    fn precision(&mut self, default: u8) -> Result<u8, ParseTypeError> {
        Ok(self.parameter(0, 9, u32::from(default))? as u8)
    }

    fn decimal(&mut self) -> Result<Type, ParseTypeError> {
        let (mut precision, mut scale) = (10, 0);
        if self.eat('(') {
            precision = self.number(1, 38)?;
            if self.eat(',') {
                scale = self.number(0, precision)?;
            }
            self.expect(')')?;
        }
        Ok(Type::Decimal { precision: precision as u8, scale: scale as u8 })
    }

    fn parse_type(&mut self, depth: usize) -> Result<Type, ParseTypeError> {
        if depth > crate::MAX_DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let before = self.rest;
        const LONGEST: u32 = UNBOUNDED - 1;
        Ok(match self.word().to_ascii_uppercase().as_str() {
            "BOOLEAN" => Type::Boolean,
            "TINYINT" => Type::TinyInt,
            "SMALLINT" => Type::SmallInt,
            "INT" | "INTEGER" => Type::Int,
            "BIGINT" => Type::BigInt,
            "FLOAT" => Type::Float,
            "DOUBLE" => Type::Double,
            "DECIMAL" | "NUMERIC" | "DEC" => self.decimal()?,
            "CHAR" => Type::Char(self.parameter(1, LONGEST, 1)?),
            "VARCHAR" => Type::Varchar(self.parameter(1, LONGEST, 1)?),
            "STRING" => Type::STRING,
            "BINARY" => Type::Binary(self.parameter(1, LONGEST, 1)?),
            "VARBINARY" => Type::Varbinary(self.parameter(1, LONGEST, 1)?),
            "BYTES" => Type::BYTES,
            "DATE" => Type::Date,
            "TIME" => Type::Time(self.precision(0)?),
            "TIMESTAMP" => Type::Timestamp(self.precision(6)?),
            "TIMESTAMP_LTZ" => Type::TimestampLtz(self.precision(6)?),
            "ARRAY" => {
                self.expect('<')?;
                let (ty, nullable) = self.nested(depth)?;
                self.expect('>')?;
                Type::Array(Box::new(Field::new("item", ty, nullable)))
            }
            "MAP" => {
                self.expect('<')?;
                let (key, _) = self.nested(depth)?;
                self.expect(',')?;
                let (value, nullable) = self.nested(depth)?;
                self.expect('>')?;
                Type::Map(Box::new((Field::new("key", key, false), Field::new("value", value, nullable))))
            }
            "ROW" => Type::Row(self.row(depth)?),
            _ => {
                self.rest = before;
                return Err(self.error("a type's name expected"));
            }
        })
    }

    fn nested(&mut self, depth: usize) -> Result<(Type, bool), ParseTypeError> {
        let ty = self.parse_type(depth + 1)?;
        let before = self.rest;
        if self.word().eq_ignore_ascii_case("NOT") && self.word().eq_ignore_ascii_case("NULL") {
            return Ok((ty, false));
        }
        self.rest = before;
        Ok((ty, true))
    }

    fn row(&mut self, depth: usize) -> Result<Vec<Field>, ParseTypeError> {
        self.expect('<')?;
        let mut fields = Vec::new();
        if self.eat('>') {
            return Ok(fields);
        }
        loop {
            let name = if self.eat('`') { self.quoted()? } else { self.word().to_string() };
            if name.is_empty() {
                return Err(self.error("a member's name expected"));
            }
            let (ty, nullable) = self.nested(depth)?;
            fields.push(Field::new(name, ty, nullable));
            if !self.eat(',') {
                self.expect('>')?;
                return Ok(fields);
            }
        }
    }

    /// After the opening backtick; two of them stand for one.
    fn quoted(&mut self) -> Result<String, ParseTypeError> {
        let mut name = String::new();
        loop {
            let Some(end) = self.rest.find('`') else { return Err(self.error("a closing backtick is missing")) };
            name.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('`') {
                Some(rest) => {
                    name.push('`');
                    self.rest = rest;
                }
                None => return Ok(name),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_types_read_back() {
        for text in [
            "BOOLEAN",
            "DECIMAL(38, 18)",
            "VARCHAR(20)",
            "STRING",
            "BYTES",
            "TIMESTAMP_LTZ(3)",
            "ARRAY<ROW<`a b` INT NOT NULL, `c``d` MAP<STRING, ARRAY<BIGINT>>>>",
        ] {
            assert_eq!(text.parse::<Type>().unwrap().to_string(), text);
        }
        assert_eq!("decimal".parse::<Type>().unwrap().to_string(), "DECIMAL(10, 0)");
        assert_eq!("timestamp".parse::<Type>().unwrap().to_string(), "TIMESTAMP(6)");
    }

    #[test]
    fn other_texts_are_refused_with_their_place() {
        let error = |t: &str| t.parse::<Type>().unwrap_err().to_string();
        assert_eq!(error("INTT"), "`INTT` is not a type: a type's name expected at character 1");
        assert_eq!(
            error("DECIMAL(39, 2)"),
            "`DECIMAL(39, 2)` is not a type: a number from 1 to 38 expected at character 9"
        );
        assert_eq!(error("ARRAY<INT"), "`ARRAY<INT` is not a type: `>` expected at character 10");
        assert!(error(&"ARRAY<".repeat(100_000)).contains("nested too deeply"));
        assert!(error("INT INT").contains("something follows"));
    }
}
