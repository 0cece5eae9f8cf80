//! SQL types as Flink names them, and the one Arrow layout that each has.

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use std::fmt;
use std::sync::Arc;

/// A logical SQL type. `Display` prints Flink's spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LogicalType {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Float,
    Double,
    /// Precision 1..=38, scale 0..=precision.
    Decimal(u8, u8),
    Char(u32),
    /// None: unbounded, `STRING`.
    Varchar(Option<u32>),
    /// Fixed (`BINARY(n)`).
    Binary(u32),
    /// None: unbounded, `BYTES`.
    Varbinary(Option<u32>),
    Date,
    /// Fraction digits 0..=9.
    Time(u8),
    /// Wall clock, fraction digits 0..=9.
    Timestamp(u8),
    /// An instant (`TIMESTAMP_LTZ`), fraction digits 0..=9.
    TimestampLtz(u8),
    Array(Box<LogicalType>),
    Map(Box<LogicalType>, Box<LogicalType>),
    Row(Vec<(String, LogicalType)>),
}

/// The Arrow unit that holds `precision` fraction digits. The unit *is* the precision class: 0, 1-3, 4-6, 7-9.
pub fn time_unit(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn precision_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

impl LogicalType {
    pub const STRING: LogicalType = LogicalType::Varchar(None);
    pub const BYTES: LogicalType = LogicalType::Varbinary(None);

    /// Exactly one physical layout per logical type; lengths of CHAR/VARCHAR are not part of it.
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::TinyInt => DataType::Int8,
            Self::SmallInt => DataType::Int16,
            Self::Int => DataType::Int32,
            Self::BigInt => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Decimal(p, s) => DataType::Decimal128(*p, *s as i8),
            Self::Char(_) | Self::Varchar(_) => DataType::Utf8,
            Self::Binary(_) | Self::Varbinary(_) => DataType::Binary,
            Self::Date => DataType::Date32,
            Self::Time(p) => match time_unit(*p) {
                u @ (TimeUnit::Second | TimeUnit::Millisecond) => DataType::Time32(u),
                u => DataType::Time64(u),
            },
            Self::Timestamp(p) => DataType::Timestamp(time_unit(*p), None),
            Self::TimestampLtz(p) => DataType::Timestamp(time_unit(*p), Some("UTC".into())),
            Self::Array(e) => DataType::List(Arc::new(Field::new("item", e.to_arrow(), true))),
            Self::Map(k, v) => DataType::Map(
                Arc::new(Field::new(
                    "entries",
                    DataType::Struct(Fields::from(vec![
                        Field::new("key", k.to_arrow(), false),
                        Field::new("value", v.to_arrow(), true),
                    ])),
                    false,
                )),
                false,
            ),
            Self::Row(fields) => DataType::Struct(row_fields(fields)),
        }
    }

    /// The logical type that an expression's result has; None for an Arrow type that no SQL type maps to.
    pub fn from_arrow(t: &DataType) -> Option<LogicalType> {
        Some(match t {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::TinyInt,
            DataType::Int16 => Self::SmallInt,
            DataType::Int32 => Self::Int,
            DataType::Int64 => Self::BigInt,
            DataType::Float32 => Self::Float,
            DataType::Float64 => Self::Double,
            DataType::Decimal128(p, s) if *s >= 0 => Self::Decimal(*p, *s as u8),
            DataType::Utf8 => Self::STRING,
            DataType::Binary => Self::BYTES,
            DataType::Date32 => Self::Date,
            DataType::Time32(u) | DataType::Time64(u) => Self::Time(precision_of(*u)),
            DataType::Timestamp(u, None) => Self::Timestamp(precision_of(*u)),
            DataType::Timestamp(u, Some(_)) => Self::TimestampLtz(precision_of(*u)),
            DataType::List(f) => Self::Array(Box::new(Self::from_arrow(f.data_type())?)),
            DataType::Map(f, _) => match f.data_type() {
                DataType::Struct(kv) if kv.len() == 2 => Self::Map(
                    Box::new(Self::from_arrow(kv[0].data_type())?),
                    Box::new(Self::from_arrow(kv[1].data_type())?),
                ),
                _ => return None,
            },
            DataType::Struct(fs) => Self::Row(
                fs.iter().map(|f| Some((f.name().clone(), Self::from_arrow(f.data_type())?))).collect::<Option<_>>()?,
            ),
            _ => return None,
        })
    }

    pub fn is_numeric(&self) -> bool {
        matches!(
            self,
            Self::TinyInt | Self::SmallInt | Self::Int | Self::BigInt | Self::Float | Self::Double | Self::Decimal(..)
        )
    }

    pub fn is_text(&self) -> bool {
        matches!(self, Self::Char(_) | Self::Varchar(_))
    }
}

fn row_fields(fields: &[(String, LogicalType)]) -> Fields {
    fields.iter().map(|(n, t)| Field::new(n, t.to_arrow(), true)).collect()
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::TinyInt => f.write_str("TINYINT"),
            Self::SmallInt => f.write_str("SMALLINT"),
            Self::Int => f.write_str("INT"),
            Self::BigInt => f.write_str("BIGINT"),
            Self::Float => f.write_str("FLOAT"),
            Self::Double => f.write_str("DOUBLE"),
            Self::Decimal(p, s) => write!(f, "DECIMAL({p}, {s})"),
            Self::Char(n) => write!(f, "CHAR({n})"),
            Self::Varchar(None) => f.write_str("STRING"),
            Self::Varchar(Some(n)) => write!(f, "VARCHAR({n})"),
            Self::Binary(n) => write!(f, "BINARY({n})"),
            Self::Varbinary(None) => f.write_str("BYTES"),
            Self::Varbinary(Some(n)) => write!(f, "VARBINARY({n})"),
            Self::Date => f.write_str("DATE"),
            Self::Time(p) => write!(f, "TIME({p})"),
            Self::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            Self::TimestampLtz(p) => write!(f, "TIMESTAMP_LTZ({p})"),
            Self::Array(e) => write!(f, "ARRAY<{e}>"),
            Self::Map(k, v) => write!(f, "MAP<{k}, {v}>"),
            Self::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, (n, t)) in fields.iter().enumerate() {
                    write!(f, "{}`{n}` {t}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(">")
            }
        }
    }
}

/// A column as connectors and formats see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub logical_type: LogicalType,
    pub nullable: bool,
    /// Where the value lies inside a record: member names and array indexes; `[name]` for a plain column.
    pub path: Vec<PathStep>,
    /// The connector's name of what this column holds (`offset`, `headers`); None: it is part of the record.
    pub metadata: Option<String>,
}

/// One step into a nested record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    Member(String),
    Index(usize),
}

impl Column {
    pub fn new(name: impl Into<String>, logical_type: LogicalType, nullable: bool) -> Self {
        let name = name.into();
        let path = vec![PathStep::Member(name.clone())];
        Self { name, logical_type, nullable, path, metadata: None }
    }
    pub fn to_field(&self) -> Field {
        Field::new(&self.name, self.logical_type.to_arrow(), self.nullable)
    }
}

/// The columns of a table that connectors fill or store (or of the part of it that a query needs), in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableSchema {
    pub columns: Vec<Column>,
}

impl TableSchema {
    pub fn new(columns: Vec<Column>) -> Self {
        Self { columns }
    }
    pub fn to_arrow(&self) -> SchemaRef {
        let fields: Vec<FieldRef> = self.columns.iter().map(|c| Arc::new(c.to_field())).collect();
        Arc::new(Schema::new(fields))
    }
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}
