//! Columns and their types.

use crate::error::{Error, Result};
use crate::pb::kudu::{
    ColumnSchemaPb, ColumnTypeAttributesPb, CompressionType, DataType as WireType, EncodingType, SchemaPb,
};
use crate::value::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Limit of the servers: bytes of a column's or a table's name.
pub const MAX_NAME: usize = 256;
/// Limit of the servers: columns of a table.
pub const MAX_COLUMNS: usize = 300;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Float,
    Double,
    /// 1 to 38 digits, of which `scale` stand behind the point.
    Decimal {
        precision: u8,
        scale: u8,
    },
    String,
    /// At most so many characters (not bytes). A longer value is an error, never cut.
    Varchar {
        length: u16,
    },
    Binary,
    /// Days since 1970-01-01, of the years 1 to 9999.
    Date,
    /// Microseconds since 1970-01-01 00:00 UTC.
    UnixtimeMicros,
}

impl DataType {
    /// Bytes of a cell; a cell of variable length is an offset and a length.
    pub(crate) fn cell_size(self) -> usize {
        match self {
            Self::Bool | Self::Int8 => 1,
            Self::Int16 => 2,
            Self::Int32 | Self::Float | Self::Date => 4,
            Self::Int64 | Self::Double | Self::UnixtimeMicros => 8,
            Self::Decimal { precision, .. } => match precision {
                0..=9 => 4,
                10..=18 => 8,
                _ => 16,
            },
            Self::String | Self::Varchar { .. } | Self::Binary => 16,
        }
    }
    pub(crate) fn is_variable(self) -> bool {
        matches!(self, Self::String | Self::Varchar { .. } | Self::Binary)
    }
    /// Whether a column of this type may be of the key.
    pub fn can_be_key(self) -> bool {
        !matches!(self, Self::Bool | Self::Float | Self::Double)
    }

    pub(crate) fn to_wire(self) -> (WireType, Option<ColumnTypeAttributesPb>) {
        let plain = |t| (t, None);
        match self {
            Self::Bool => plain(WireType::Bool),
            Self::Int8 => plain(WireType::Int8),
            Self::Int16 => plain(WireType::Int16),
            Self::Int32 => plain(WireType::Int32),
            Self::Int64 => plain(WireType::Int64),
            Self::Float => plain(WireType::Float),
            Self::Double => plain(WireType::Double),
            Self::String => plain(WireType::String),
            Self::Binary => plain(WireType::Binary),
            Self::Date => plain(WireType::Date),
            Self::UnixtimeMicros => plain(WireType::UnixtimeMicros),
            Self::Varchar { length } => {
                let attributes = ColumnTypeAttributesPb { length: Some(length.into()), ..Default::default() };
                (WireType::Varchar, Some(attributes))
            }
            Self::Decimal { precision, scale } => {
                let wire = match precision {
                    0..=9 => WireType::Decimal32,
                    10..=18 => WireType::Decimal64,
                    _ => WireType::Decimal128,
                };
                let attributes = ColumnTypeAttributesPb {
                    precision: Some(precision.into()),
                    scale: Some(scale.into()),
                    length: None,
                };
                (wire, Some(attributes))
            }
        }
    }

    pub(crate) fn from_wire(wire: WireType, attributes: Option<&ColumnTypeAttributesPb>) -> Result<Self> {
        let attributes = attributes.copied().unwrap_or_default();
        Ok(match wire {
            WireType::Bool => Self::Bool,
            WireType::Int8 => Self::Int8,
            WireType::Int16 => Self::Int16,
            WireType::Int32 => Self::Int32,
            WireType::Int64 => Self::Int64,
            WireType::Float => Self::Float,
            WireType::Double => Self::Double,
            WireType::String => Self::String,
            WireType::Binary => Self::Binary,
            WireType::Date => Self::Date,
            WireType::UnixtimeMicros => Self::UnixtimeMicros,
            WireType::Varchar => Self::Varchar {
                length: u16::try_from(attributes.length())
                    .map_err(|_| Error::protocol("a VARCHAR of no valid length"))?,
            },
            WireType::Decimal32 | WireType::Decimal64 | WireType::Decimal128 => {
                let (precision, scale) = (attributes.precision(), attributes.scale());
                if !(1..=38).contains(&precision) || !(0..=precision).contains(&scale) {
                    return Err(Error::protocol(format!("a DECIMAL({precision}, {scale})")));
                }
                let data_type = Self::Decimal { precision: precision as u8, scale: scale as u8 };
                if data_type.to_wire().0 != wire {
                    return Err(Error::protocol(format!("a {data_type} that is stored as {wire:?}")));
                }
                data_type
            }
            other => return Err(Error::NotSupported(format!("columns of the type {other:?}"))),
        })
    }

    fn check(self) -> Result<()> {
        match self {
            Self::Decimal { precision, scale } if !(1..=38).contains(&precision) || scale > precision => {
                Err(Error::invalid(format!("{self}: the precision is 1 to 38, the scale at most the precision")))
            }
            Self::Varchar { length: 0 } => Err(Error::invalid("VARCHAR(0): the length is 1 to 65535")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            Self::Varchar { length } => write!(f, "VARCHAR({length})"),
            Self::UnixtimeMicros => write!(f, "UNIXTIME_MICROS"),
            other => write!(f, "{}", format!("{other:?}").to_uppercase()),
        }
    }
}

/// How a column is stored (`ENCODING`).
pub type Encoding = EncodingType;
/// How a column is compressed.
pub type Compression = CompressionType;

/// A column of a table, there or to be made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnSchema {
    pub name: String,
    pub data_type: DataType,
    pub nullable: bool,
    pub key: bool,
    pub default: Option<Value>,
    pub encoding: Encoding,
    pub compression: Compression,
    /// Bytes of a block; 0 is the server's own choice.
    pub block_size: i32,
    pub comment: String,
    /// The server gives the value, rows must not.
    pub auto_incrementing: bool,
    /// Set once, never updated.
    pub immutable: bool,
    pub(crate) id: Option<u32>,
}

impl ColumnSchema {
    /// A column that is not of the key and not nullable.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Self {
        Self {
            name: name.into(),
            data_type,
            nullable: false,
            key: false,
            default: None,
            encoding: Encoding::AutoEncoding,
            compression: Compression::DefaultCompression,
            block_size: 0,
            comment: String::new(),
            auto_incrementing: false,
            immutable: false,
            id: None,
        }
    }
    pub fn key(mut self) -> Self {
        self.key = true;
        self
    }
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = encoding;
        self
    }
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }
    pub fn block_size(mut self, bytes: i32) -> Self {
        self.block_size = bytes;
        self
    }
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = comment.into();
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::invalid(format!("column `{}`: {what}", self.name)));
        if self.name.is_empty() || self.name.len() > MAX_NAME {
            return wrong("a name has 1 to 256 bytes");
        }
        if self.key && self.nullable {
            return wrong("a key column cannot be nullable");
        }
        if self.key && !self.data_type.can_be_key() {
            return wrong(&format!("a {} cannot be of the key", self.data_type));
        }
        if let Some(d) = &self.default {
            let stored = d.clone().fit(self)?;
            if matches!(stored, Value::Null) {
                return wrong("NULL is no default; leave the default out");
            }
        }
        self.data_type.check()
    }

    pub(crate) fn default_bytes(&self) -> Result<Option<Vec<u8>>> {
        self.default
            .as_ref()
            .map(|d| {
                let mut out = Vec::new();
                d.clone().fit(self)?.put_bytes(self.data_type, &mut out);
                Ok(out)
            })
            .transpose()
    }

    /// As it stands in CREATE TABLE and ADD COLUMN.
    pub(crate) fn to_pb(&self) -> Result<ColumnSchemaPb> {
        let default = self.default_bytes()?.map(Into::into);
        Ok(ColumnSchemaPb {
            read_default_value: default,
            encoding: Some(self.encoding as i32),
            compression: Some(self.compression as i32),
            cfile_block_size: Some(self.block_size),
            comment: (!self.comment.is_empty()).then(|| self.comment.clone()),
            immutable: self.immutable.then_some(true),
            is_auto_incrementing: self.auto_incrementing.then_some(true),
            ..self.to_pb_brief()
        })
    }

    /// As it stands in writes: no id, no comment, nothing of its storage.
    pub(crate) fn to_pb_brief(&self) -> ColumnSchemaPb {
        let (wire, type_attributes) = self.data_type.to_wire();
        ColumnSchemaPb {
            name: self.name.clone(),
            r#type: wire as i32,
            is_key: Some(self.key),
            is_nullable: Some(self.nullable),
            type_attributes,
            is_auto_incrementing: self.auto_incrementing.then_some(true),
            immutable: self.immutable.then_some(true),
            ..Default::default()
        }
    }

    /// As it stands in the projection of a scan: of no key.
    pub(crate) fn to_pb_projected(&self) -> ColumnSchemaPb {
        let (wire, type_attributes) = self.data_type.to_wire();
        ColumnSchemaPb {
            name: self.name.clone(),
            r#type: wire as i32,
            is_nullable: Some(self.nullable),
            type_attributes,
            ..Default::default()
        }
    }

    pub(crate) fn from_pb(pb: &ColumnSchemaPb) -> Result<Self> {
        let wire = WireType::try_from(pb.r#type)
            .map_err(|_| Error::NotSupported(format!("column `{}` is of the type number {}", pb.name, pb.r#type)))?;
        let data_type = DataType::from_wire(wire, pb.type_attributes.as_ref())?;
        // What is written where a row has no value; older columns have the value of reading only.
        let default = pb.write_default_value.as_ref().or(pb.read_default_value.as_ref());
        let default = default.map(|bytes| Value::from_bytes(data_type, bytes)).transpose()?;
        Ok(Self {
            name: pb.name.clone(),
            data_type,
            nullable: pb.is_nullable(),
            key: pb.is_key(),
            default,
            encoding: pb.encoding(),
            compression: pb.compression(),
            block_size: pb.cfile_block_size(),
            comment: pb.comment().to_string(),
            auto_incrementing: pb.is_auto_incrementing(),
            immutable: pb.immutable(),
            id: pb.id,
        })
    }
}

/// The columns of a table, key columns first.
#[derive(Debug, Clone)]
pub struct Schema {
    columns: Arc<[ColumnSchema]>,
    by_name: Arc<HashMap<String, usize>>,
    keys: usize,
    any_nullable: bool,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        // Nearly always one and the same.
        Arc::ptr_eq(&self.columns, &other.columns) || self.columns == other.columns
    }
}

impl Schema {
    /// Columns of a table; those of the key come first.
    pub fn new(columns: impl IntoIterator<Item = ColumnSchema>) -> Result<Self> {
        let columns: Arc<[ColumnSchema]> = columns.into_iter().collect();
        if columns.len() > MAX_COLUMNS {
            return Err(Error::invalid(format!("{} columns, a table has at most {MAX_COLUMNS}", columns.len())));
        }
        let keys = columns.iter().take_while(|c| c.key).count();
        if keys == 0 {
            return Err(Error::invalid("a table needs key columns, and they come first"));
        }
        for c in columns.iter() {
            c.check()?;
        }
        if let Some(late) = columns[keys..].iter().find(|c| c.key) {
            return Err(Error::invalid(format!(
                "the key column `{}` stands behind columns that are not of the key",
                late.name
            )));
        }
        Self::index(columns, keys)
    }

    fn index(columns: Arc<[ColumnSchema]>, keys: usize) -> Result<Self> {
        let mut by_name = HashMap::with_capacity(columns.len());
        for (i, c) in columns.iter().enumerate() {
            if by_name.insert(c.name.clone(), i).is_some() {
                return Err(Error::invalid(format!("two columns are called `{}`", c.name)));
            }
        }
        let any_nullable = columns.iter().any(|c| c.nullable);
        Ok(Self { columns, by_name: Arc::new(by_name), keys, any_nullable })
    }

    pub fn columns(&self) -> &[ColumnSchema] {
        &self.columns
    }
    pub fn column(&self, name: &str) -> Option<&ColumnSchema> {
        self.by_name.get(name).map(|i| &self.columns[*i])
    }
    pub fn key_columns(&self) -> &[ColumnSchema] {
        &self.columns[..self.keys]
    }
    pub fn index_of(&self, name: &str) -> Result<usize> {
        self.by_name.get(name).copied().ok_or_else(|| {
            let names: Vec<_> = self.columns.iter().map(|c| c.name.as_str()).collect();
            Error::invalid(format!("there is no column `{name}`; there are {}", names.join(", ")))
        })
    }
    pub(crate) fn any_nullable(&self) -> bool {
        self.any_nullable
    }
    pub(crate) fn key_count(&self) -> usize {
        self.keys
    }
    pub(crate) fn index_of_id(&self, id: u32) -> Option<usize> {
        self.columns.iter().position(|c| c.id == Some(id))
    }

    pub(crate) fn from_pb(pb: &SchemaPb) -> Result<Self> {
        let columns: Arc<[ColumnSchema]> = pb.columns.iter().map(ColumnSchema::from_pb).collect::<Result<_>>()?;
        let keys = columns.iter().take_while(|c| c.key).count();
        Self::index(columns, keys)
    }
    pub(crate) fn to_pb(&self) -> Result<SchemaPb> {
        Ok(SchemaPb { columns: self.columns.iter().map(|c| c.to_pb()).collect::<Result<_>>()? })
    }
    pub(crate) fn to_pb_brief(&self) -> SchemaPb {
        SchemaPb { columns: self.columns.iter().map(|c| c.to_pb_brief()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_no_server_takes_are_refused_early() {
        let c = ColumnSchema::new;
        let message = |columns: Vec<ColumnSchema>| Schema::new(columns).expect_err("refused").to_string();
        assert!(message(vec![c("a", DataType::Int8)]).contains("key columns"));
        assert!(message(vec![c("a", DataType::Double).key()]).contains("cannot be of the key"));
        assert!(message(vec![c("a", DataType::Int8).key().nullable()]).contains("cannot be nullable"));
        assert!(message(vec![c("a", DataType::Int8).key(), c("a", DataType::Int8)]).contains("two columns"));
        let late = vec![c("a", DataType::Int8).key(), c("b", DataType::Int8), c("d", DataType::Int8).key()];
        assert!(message(late).contains("`d` stands behind"));
        let decimal = DataType::Decimal { precision: 39, scale: 0 };
        assert!(message(vec![c("a", DataType::Int8).key(), c("b", decimal)]).contains("1 to 38"));
    }
}
