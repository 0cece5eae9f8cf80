//! PostgreSQL: SQL text, parameters, and values of the binary protocol. Rows travel as one array for each column, so a
//! statement has the same text however many rows it writes.

use super::error::DbError;
use super::types::{Kind, ServerColumn, Value};
use super::values::{ReadRules, append_clock};
use crate::formats::ColumnBuilder;
use chrono::{DateTime, NaiveDate, TimeDelta};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Arguments as _, Row as _};
use std::borrow::Cow;

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Which array a column's values travel in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Bool,
    Int,
    Float,
    Bytes,
    Text,
}

impl Carrier {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Bool => Self::Bool,
            Kind::Int { .. } => Self::Int,
            Kind::Float | Kind::Double => Self::Float,
            Kind::Bytes => Self::Bytes,
            _ => Self::Text,
        }
    }
    fn array(self) -> &'static str {
        match self {
            Self::Bool => "boolean[]",
            Self::Int => "bigint[]",
            Self::Float => "double precision[]",
            Self::Bytes => "bytea[]",
            Self::Text => "text[]",
        }
    }
}

/// `UNNEST($1::bigint[], $2::text[]) AS r(c0, c1)`
pub fn unnest(columns: &[&ServerColumn]) -> String {
    let arrays = columns.iter().enumerate().map(|(i, c)| format!("${}::{}", i + 1, Carrier::of(c.kind).array()));
    let names = (0..columns.len()).map(|i| format!("c{i}"));
    format!("UNNEST({}) AS r({})", arrays.collect::<Vec<_>>().join(", "), names.collect::<Vec<_>>().join(", "))
}

/// A value of `unnest` as the column's type. Never cast to a type with a length: that would cut what does not fit.
pub fn cast_from_row(index: usize, column: &ServerColumn) -> String {
    match column.cast.as_str() {
        "" => format!("r.c{index}"),
        cast => format!("CAST(r.c{index} AS {cast})"),
    }
}

/// How a column is read: by itself where its binary form is simple, else as text.
pub fn selected(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Decimal { .. } | Kind::ByText | Kind::Uuid => format!("CAST({name} AS text)"),
        _ => name.to_string(),
    }
}

/// One array for each of the columns, from rows that follow one another.
pub fn arrays(columns: &[&ServerColumn], values: &[Value<'_>]) -> Result<PgArguments, DbError> {
    let mut arguments = PgArguments::default();
    let width = columns.len().max(1);
    for (i, column) in columns.iter().enumerate() {
        let of_column = || values.iter().skip(i).step_by(width);
        let added = match Carrier::of(column.kind) {
            Carrier::Bool => arguments.add(of_column().map(as_bool).collect::<Result<Vec<_>, _>>()?),
            Carrier::Int => arguments.add(of_column().map(as_int).collect::<Result<Vec<_>, _>>()?),
            Carrier::Float => arguments.add(of_column().map(as_float).collect::<Result<Vec<_>, _>>()?),
            Carrier::Bytes => arguments.add(of_column().map(as_bytes).collect::<Result<Vec<_>, _>>()?),
            Carrier::Text => arguments.add(of_column().map(as_text).collect::<Result<Vec<_>, _>>()?),
        };
        added.map_err(|e| DbError::job(e.to_string()))?;
    }
    Ok(arguments)
}

/// Parameters one by one.
pub fn scalars(values: &[Value<'_>]) -> Result<PgArguments, DbError> {
    let mut arguments = PgArguments::default();
    add(&mut arguments, values)?;
    Ok(arguments)
}

pub fn add(arguments: &mut PgArguments, values: &[Value<'_>]) -> Result<(), DbError> {
    for value in values {
        let added = match value {
            Value::Int(v) => arguments.add(*v),
            Value::Float(v) => arguments.add(*v),
            other => arguments.add(as_text(other)?),
        };
        added.map_err(|e| DbError::job(e.to_string()))?;
    }
    Ok(())
}

/// Whether the array of the column can hold the value; asked before a statement is made of many.
pub fn holds(column: &ServerColumn, value: &Value<'_>) -> Result<(), String> {
    let outcome = match Carrier::of(column.kind) {
        Carrier::Bool => as_bool(value).err(),
        Carrier::Int => as_int(value).err(),
        Carrier::Float => as_float(value).err(),
        Carrier::Bytes => as_bytes(value).err(),
        Carrier::Text => as_text(value).err(),
    };
    if let Value::Text(t) = value
        && t.contains('\0')
    {
        return Err("PostgreSQL's texts cannot hold the character U+0000".to_string());
    }
    outcome.map_or(Ok(()), |e| Err(e.message))
}

fn misfit(value: &Value<'_>, column: &str) -> DbError {
    let shown = match value {
        Value::Text(t) => t.chars().take(64).collect::<String>(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Null | Value::Bytes(_) => "the value".to_string(),
    };
    DbError::job(format!("{shown} is not a valid {column}"))
}

fn as_bool(value: &Value<'_>) -> Result<Option<bool>, DbError> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(v) => Ok(Some(*v)),
        other => Err(misfit(other, "boolean")),
    }
}

fn as_int(value: &Value<'_>) -> Result<Option<i64>, DbError> {
    match value {
        Value::Null => Ok(None),
        Value::Int(v) => Ok(Some(*v)),
        Value::Bool(v) => Ok(Some(i64::from(*v))),
        Value::Text(t) => t.trim().parse().map(Some).map_err(|_| misfit(value, "bigint")),
        other => Err(misfit(other, "bigint")),
    }
}

fn as_float(value: &Value<'_>) -> Result<Option<f64>, DbError> {
    match value {
        Value::Null => Ok(None),
        Value::Float(v) => Ok(Some(*v)),
        Value::Int(v) => Ok(Some(*v as f64)),
        Value::Text(t) => t.trim().parse().map(Some).map_err(|_| misfit(value, "double precision")),
        other => Err(misfit(other, "double precision")),
    }
}

fn as_bytes<'a>(value: &'a Value<'_>) -> Result<Option<&'a [u8]>, DbError> {
    match value {
        Value::Null => Ok(None),
        Value::Bytes(v) => Ok(Some(v)),
        Value::Text(t) => Ok(Some(t.as_bytes())),
        other => Err(misfit(other, "bytea")),
    }
}

fn as_text<'a>(value: &'a Value<'_>) -> Result<Option<Cow<'a, str>>, DbError> {
    Ok(match value {
        Value::Null => None,
        Value::Bool(v) => Some(if *v { "true" } else { "false" }.into()),
        Value::Int(v) => Some(v.to_string().into()),
        Value::Float(v) => Some(v.to_string().into()),
        Value::Text(t) => Some(Cow::Borrowed(t.as_ref())),
        Value::Bytes(_) => return Err(misfit(value, "text")),
    })
}

pub fn bytes(row: &PgRow, index: usize) -> Result<Option<&[u8]>, String> {
    let value = row.try_get_raw(index).map_err(|e| e.to_string())?;
    // The only error is that there is no value.
    Ok(value.as_bytes().ok())
}

/// What a column holds, and what its values are cast to: from its type without a length, as `format_type` spells it.
pub fn kind(base: &str, full: &str, category: &str) -> (Kind, String) {
    let between = |n: usize| full.split(['(', ',', ')']).nth(n).and_then(|t| t.trim().parse::<u64>().ok());
    let (kind, cast) = match base {
        "boolean" => (Kind::Bool, ""),
        "smallint" | "integer" | "bigint" => (Kind::Int { unsigned: false }, base),
        "numeric" => (Kind::Decimal { scale: between(2).unwrap_or(0) as u32 }, base),
        "real" => (Kind::Float, base),
        "double precision" => (Kind::Double, ""),
        "text" | "name" => (Kind::Text { max: None }, ""),
        "character varying" => (Kind::Text { max: between(1) }, ""),
        // Without a length this one is not cut; "character" alone would be a single one.
        "character" => (Kind::Text { max: between(1) }, "bpchar"),
        "bytea" => (Kind::Bytes, ""),
        "date" => (Kind::Date, base),
        "time without time zone" => (Kind::Time, base),
        "timestamp without time zone" => (Kind::DateTime, base),
        "timestamp with time zone" => (Kind::Instant, base),
        "uuid" => (Kind::Uuid, base),
        // Digits, which are no number; "bit" alone would be a single one.
        "bit" | "bit varying" => (Kind::ByText, "bit varying"),
        // Arrays and composite types have a text form, too, but not one that the job's types know.
        _ if category == "A" || category == "C" => (Kind::Unsupported, ""),
        _ => (Kind::ByText, base),
    };
    (kind, cast.to_string())
}

/// Appends a value that is not NULL.
pub fn append(b: &mut ColumnBuilder, bytes: &[u8], column: &ServerColumn, rules: &ReadRules) -> Result<(), String> {
    match column.kind {
        Kind::Bool => match b.logical_type() {
            crate::data::LogicalType::Boolean
            | crate::data::LogicalType::Varchar(_)
            | crate::data::LogicalType::Char(_) => b.append_bool(bytes.first() == Some(&1)),
            _ => b.append_i64(i64::from(bytes.first() == Some(&1))),
        },
        Kind::Int { .. } => match b.logical_type() {
            crate::data::LogicalType::Boolean => b.append_bool(big_endian(bytes)? != 0),
            _ => b.append_i64(big_endian(bytes)?),
        },
        Kind::Float => {
            let value = f32::from_be_bytes(bytes.try_into().map_err(|_| malformed())?);
            super::values::append_float(b, value, rules)
        }
        Kind::Double => b.append_f64(f64::from_be_bytes(bytes.try_into().map_err(|_| malformed())?)),
        Kind::Date => {
            let days = big_endian(bytes)?;
            // The largest and the smallest number stand for infinity.
            let date = epoch().and_then(|e| e.checked_add_signed(TimeDelta::try_days(days)?));
            super::values::append_date(b, date.ok_or_else(|| infinite("date"))?, rules)
        }
        Kind::Time => {
            let micros = big_endian(bytes)?;
            let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
            let mut text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            if rest > 0 {
                text.push_str(format!(".{rest:06}").trim_end_matches('0'));
            }
            b.append_text(&text, &rules.text)
        }
        Kind::DateTime | Kind::Instant => {
            let micros = big_endian(bytes)?.checked_add(MICROS_TO_2000).ok_or_else(|| infinite("timestamp"))?;
            let clock = DateTime::from_timestamp_micros(micros).ok_or_else(|| infinite("timestamp"))?;
            append_clock(b, clock.naive_utc(), column.kind == Kind::Instant, rules)
        }
        Kind::Decimal { .. } => b.append_text(std::str::from_utf8(bytes).map_err(|_| malformed())?, &rules.text),
        _ => super::values::append_text_or_bytes(b, bytes, rules),
    }
}

/// From 1970 to 2000, where PostgreSQL's time begins.
const MICROS_TO_2000: i64 = 946_684_800_000_000;

fn epoch() -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(2000, 1, 1)
}

fn malformed() -> String {
    "the server sent a value that its type does not have".to_string()
}

fn infinite(what: &str) -> String {
    format!("the {what} is infinite or out of range")
}

fn big_endian(bytes: &[u8]) -> Result<i64, String> {
    let sign = bytes.first().ok_or_else(malformed)?;
    if bytes.len() > 8 {
        return Err(malformed());
    }
    let mut whole = [if sign & 0x80 == 0 { 0 } else { 0xff }; 8];
    whole[8 - bytes.len()..].copy_from_slice(bytes);
    Ok(i64::from_be_bytes(whole))
}
