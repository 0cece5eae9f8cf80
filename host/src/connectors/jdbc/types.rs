//! What a column of the server holds, and whether a column of the job fits it.

use crate::data::LogicalType;

/// What a column of the server holds, as far as reading and writing differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int {
        unsigned: bool,
    },
    Decimal {
        scale: u32,
    },
    Float,
    Double,
    /// Longest text in characters, if limited.
    Text {
        max: Option<u64>,
    },
    Bytes,
    Date,
    Time,
    /// A wall clock without a zone.
    DateTime,
    /// A point in time, whatever zone shows it.
    Instant,
    Year,
    /// MySQL's BIT(n): a number; in the protocol bytes, highest first.
    Bit,
    Uuid,
    /// Has a text form, which is what we read and write: JSON, ENUM, SET, INTERVAL ..
    ByText,
    /// Cannot be read or written.
    Unsupported,
}

impl Kind {
    /// Whether a text has more characters than the column.
    pub fn is_exceeded_by(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Kind::Text { max: Some(max) }, Value::Text(text)) => text.chars().count() as u64 > max,
            _ => false,
        }
    }
}

/// A column as the server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerColumn {
    pub name: String,
    pub kind: Kind,
    /// As the server spells it: `varchar(11)`.
    pub type_name: String,
    /// PostgreSQL: the type without its length, to which values are cast; empty: none needed.
    pub cast: String,
    pub nullable: bool,
    /// Gets a value by itself if it is not written: a default, an auto increment.
    pub has_default: bool,
    /// Computed by the server; cannot be written.
    pub generated: bool,
}

/// Which way values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// Whether values of the job's type can be in the server's column at all. Single values may still be out of its range.
pub fn fits(job: &LogicalType, server: Kind, direction: Direction) -> bool {
    use LogicalType as T;
    let write = direction == Direction::Write;
    match (job, server) {
        (T::Array(_) | T::Map(..) | T::Row(_), _) | (_, Kind::Unsupported) => false,
        (T::Char(_) | T::Varchar(_), _) => true,
        (T::Boolean, Kind::Bool | Kind::Int { .. } | Kind::Bit | Kind::Text { .. }) => true,
        (
            T::TinyInt | T::SmallInt | T::Int | T::BigInt,
            Kind::Int { .. } | Kind::Decimal { .. } | Kind::Year | Kind::Bit | Kind::Text { .. },
        ) => true,
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, Kind::Bool) => !write,
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt, Kind::Float | Kind::Double) => write,
        // A fraction would be rounded away.
        (T::Decimal(_, scale), Kind::Int { .. } | Kind::Bit) => !write || *scale == 0,
        (T::Decimal(..), Kind::Decimal { .. } | Kind::Float | Kind::Double | Kind::Text { .. }) => true,
        (T::Float | T::Double, Kind::Float | Kind::Double | Kind::Decimal { .. } | Kind::Text { .. }) => true,
        (T::Float | T::Double, Kind::Int { .. }) => !write,
        (T::Binary(_) | T::Varbinary(_), Kind::Bytes) => true,
        (T::Binary(_) | T::Varbinary(_), Kind::Text { .. } | Kind::Bit) => !write,
        (T::Date, Kind::Date | Kind::Text { .. }) => true,
        (T::Date, Kind::DateTime) => write,
        (T::Time(_), Kind::Time | Kind::Text { .. }) => true,
        (T::Timestamp(_) | T::TimestampLtz(_), Kind::DateTime | Kind::Instant | Kind::Text { .. }) => true,
        (T::Timestamp(_), Kind::Date) => !write,
        _ => false,
    }
}

/// A value of a job's column on its way to the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(std::borrow::Cow<'a, str>),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// Roughly what it adds to a statement.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Null => 1,
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => 8,
            Value::Text(t) => t.len() + 5,
            Value::Bytes(b) => b.len() + 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_lose_a_part_of_every_value_does_not_fit() {
        use Direction::{Read, Write};
        use LogicalType as T;
        assert!(fits(&T::STRING, Kind::ByText, Write) && fits(&T::STRING, Kind::Instant, Read));
        assert!(!fits(&T::Decimal(10, 2), Kind::Int { unsigned: false }, Write));
        assert!(fits(&T::Decimal(20, 0), Kind::Int { unsigned: true }, Write));
        assert!(!fits(&T::Double, Kind::Int { unsigned: false }, Write));
        assert!(!fits(&T::Timestamp(3), Kind::Date, Write) && fits(&T::Timestamp(3), Kind::Date, Read));
        assert!(!fits(&T::Date, Kind::DateTime, Read) && fits(&T::Date, Kind::DateTime, Write));
        assert!(!fits(&T::Array(Box::new(T::Int)), Kind::ByText, Read));
        assert!(!fits(&T::STRING, Kind::Unsupported, Read));
        assert!(!fits(&T::Int, Kind::Bytes, Write));
    }
}
