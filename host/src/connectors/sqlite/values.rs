//! Values between Arrow and SQLite's five storage classes. What SQLite has no class for is text: decimals (exact),
//! dates, times, timestamps.

use crate::data::{Column, LogicalType};
use crate::error::{Error, Result};
use crate::formats::{Cell, ColumnBuilder, Scalar, TextRules};
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteValueRef};
use sqlx::{Arguments, Decode, TypeInfo, ValueRef};

/// The column type of a table that we make.
pub fn column_type(t: &LogicalType) -> &'static str {
    use LogicalType as T;
    match t {
        T::Boolean | T::TinyInt | T::SmallInt | T::Int | T::BigInt => "INTEGER",
        T::Float | T::Double => "REAL",
        T::Binary(_) | T::Varbinary(_) => "BLOB",
        _ => "TEXT",
    }
}

/// Nested types have no place in SQLite.
pub fn check_types(table: &str, columns: &[Column]) -> Result<()> {
    match columns
        .iter()
        .find(|c| matches!(c.logical_type, LogicalType::Array(_) | LogicalType::Map(..) | LogicalType::Row(_)))
    {
        None => Ok(()),
        Some(c) => {
            let message = format!("table {table}, column {}: SQLite cannot hold a {}", c.name, c.logical_type);
            Err(Error::user(message).with_hint("select the fields of the value as columns of their own"))
        }
    }
}

/// Appends a value as it is stored; SQLite's columns hold any class, so each value is looked at by itself.
pub fn append(b: &mut ColumnBuilder, value: SqliteValueRef<'_>, rules: &TextRules) -> std::result::Result<(), String> {
    if value.is_null() {
        b.append_null();
        return Ok(());
    }
    let class = value.type_info().name().to_string();
    match class.as_str() {
        "INTEGER" => b.append_i64(decode(value)?),
        "REAL" => b.append_f64(decode(value)?),
        "TEXT" if matches!(b.logical_type(), LogicalType::Binary(_) | LogicalType::Varbinary(_)) => {
            b.append_bytes(decode::<&str>(value)?.as_bytes())
        }
        "TEXT" => b.append_text(decode(value)?, rules),
        _ => b.append_bytes(decode(value)?),
    }
}

fn decode<'r, T: Decode<'r, Sqlite>>(value: SqliteValueRef<'r>) -> std::result::Result<T, String> {
    T::decode(value).map_err(|e| e.to_string())
}

/// Binds a value. SQLite would store NaN as NULL: that is an error here.
pub fn bind(arguments: &mut SqliteArguments, cell: &Cell<'_>, row: usize) -> std::result::Result<(), String> {
    let bound = match cell.scalar(row)? {
        Scalar::Null => arguments.add(None::<i64>),
        Scalar::Boolean(v) => arguments.add(i64::from(v)),
        Scalar::Integer(v) => arguments.add(v),
        Scalar::Float(v) if v.is_nan() => return Err("SQLite has no NaN".into()),
        Scalar::Float(v) => arguments.add(v),
        Scalar::Text(v) => arguments.add(v.into_owned()),
        Scalar::Bytes(v) => arguments.add(v.to_vec()),
    };
    bound.map_err(|e| e.to_string())
}
