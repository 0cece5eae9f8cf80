//! MySQL and MariaDB: SQL text, parameters, and values of the binary protocol
//! (<https://mariadb.com/kb/en/resultset-row/#binary-resultset-row>).

use super::error::DbError;
use super::types::{Kind, ServerColumn, Value};
use super::url::ZeroDates;
use super::values::{ReadRules, append_clock};
use crate::data::LogicalType;
use crate::formats::ColumnBuilder;
use chrono::NaiveDate;
use sqlx::mysql::{MySql, MySqlArguments, MySqlRow};
use sqlx::{Arguments as _, Decode, Row as _};

/// What does not fit is an error, never cut, whatever the server's own mode. The server does not give up on a scan
/// whose reader takes its time.
pub const SESSION: &str = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), net_write_timeout = 600";

pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// `(?, ?), (?, ?)`
pub fn rows_of_parameters(rows: usize, width: usize) -> String {
    let row = format!("({})", vec!["?"; width].join(", "));
    vec![row.as_str(); rows].join(", ")
}

/// A condition that holds for the rows with one of these keys. Not a comparison of tuples: older servers do not use
/// an index for those.
pub fn key_condition(columns: &[String], keys: usize) -> String {
    match columns {
        [column] => format!("{column} IN ({})", vec!["?"; keys].join(", ")),
        columns => {
            let one: Vec<String> = columns.iter().map(|c| format!("{c} = ?")).collect();
            let one = format!("({})", one.join(" AND "));
            vec![one.as_str(); keys].join(" OR ")
        }
    }
}

pub fn arguments(values: &[Value<'_>]) -> Result<MySqlArguments, DbError> {
    let mut arguments = MySqlArguments::default();
    add(&mut arguments, values)?;
    Ok(arguments)
}

pub fn add(arguments: &mut MySqlArguments, values: &[Value<'_>]) -> Result<(), DbError> {
    for value in values {
        let added = match value {
            Value::Null => arguments.add(None::<i64>),
            Value::Bool(v) => arguments.add(i64::from(*v)),
            Value::Int(v) => arguments.add(*v),
            Value::Float(v) => arguments.add(*v),
            Value::Text(v) => arguments.add(v.as_ref()),
            Value::Bytes(v) => arguments.add(*v),
        };
        added.map_err(|e| DbError::job(e.to_string()))?;
    }
    Ok(())
}

pub fn bytes(row: &MySqlRow, index: usize) -> Result<Option<&[u8]>, String> {
    let value = row.try_get_raw(index).map_err(|e| e.to_string())?;
    // The library calls zero dates NULL: only what has no bytes at all is.
    Ok(<&[u8] as Decode<MySql>>::decode(value).ok())
}

/// What a column holds, from the words of information_schema.
pub fn kind(data_type: &str, column_type: &str) -> Kind {
    match data_type {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => {
            Kind::Int { unsigned: column_type.contains("unsigned") }
        }
        "decimal" => {
            let scale = column_type.split([',', ')']).nth(1).and_then(|s| s.trim().parse().ok());
            Kind::Decimal { scale: scale.unwrap_or(0) }
        }
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bit" => Kind::Bit,
        "char" | "varchar" => {
            let max = column_type.split(['(', ')']).nth(1).and_then(|n| n.parse().ok());
            Kind::Text { max }
        }
        "tinytext" | "text" | "mediumtext" | "longtext" => Kind::Text { max: None },
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => Kind::Bytes,
        "date" => Kind::Date,
        "time" => Kind::Time,
        "datetime" => Kind::DateTime,
        "timestamp" => Kind::Instant,
        "year" => Kind::Year,
        "enum" | "set" | "json" | "inet6" | "inet4" => Kind::ByText,
        "uuid" => Kind::Uuid,
        _ => Kind::Unsupported,
    }
}

/// Appends a value that is not NULL.
pub fn append(b: &mut ColumnBuilder, bytes: &[u8], column: &ServerColumn, rules: &ReadRules) -> Result<(), String> {
    match column.kind {
        Kind::Int { unsigned } => append_integer(b, little_endian(bytes, !unsigned)?, rules),
        Kind::Year => append_integer(b, little_endian(bytes, false)?, rules),
        Kind::Bit if matches!(b.logical_type(), LogicalType::Binary(_) | LogicalType::Varbinary(_)) => {
            b.append_bytes(bytes)
        }
        Kind::Bit if bytes.len() <= 8 => {
            append_integer(b, bytes.iter().fold(0, |n, byte| n << 8 | i128::from(*byte)), rules)
        }
        Kind::Float => {
            let value = f32::from_le_bytes(bytes.try_into().map_err(|_| malformed())?);
            super::values::append_float(b, value, rules)
        }
        Kind::Double => b.append_f64(f64::from_le_bytes(bytes.try_into().map_err(|_| malformed())?)),
        Kind::Date | Kind::DateTime | Kind::Instant => append_date(b, bytes, column, rules),
        Kind::Time => append_time(b, bytes, rules),
        Kind::Decimal { .. } => b.append_text(std::str::from_utf8(bytes).map_err(|_| malformed())?, &rules.text),
        _ => super::values::append_text_or_bytes(b, bytes, rules),
    }
}

fn malformed() -> String {
    "the server sent a value that its type does not have".to_string()
}

fn little_endian(bytes: &[u8], signed: bool) -> Result<i128, String> {
    if bytes.is_empty() || bytes.len() > 8 {
        return Err(malformed());
    }
    let fill = if signed && bytes[bytes.len() - 1] & 0x80 != 0 { 0xff } else { 0 };
    let mut whole = [fill; 16];
    whole[..bytes.len()].copy_from_slice(bytes);
    Ok(i128::from_le_bytes(whole))
}

fn append_integer(b: &mut ColumnBuilder, value: i128, rules: &ReadRules) -> Result<(), String> {
    match (b.logical_type(), i64::try_from(value)) {
        (LogicalType::Boolean, _) if rules.any_number_is_bool => b.append_bool(value != 0),
        (_, Ok(value)) => b.append_i64(value),
        (_, Err(_)) => b.append_text(&value.to_string(), &rules.text),
    }
}

/// Length, year (2 bytes), month, day, then hour, minute, second, then microseconds (4 bytes), as far as not zero.
fn append_date(b: &mut ColumnBuilder, bytes: &[u8], column: &ServerColumn, rules: &ReadRules) -> Result<(), String> {
    let part = |at: usize| bytes.get(at).copied().map_or(0, u32::from);
    let (year, month, day) = (part(1) + (part(2) << 8), part(3), part(4));
    let date = if year == 0 || month == 0 || day == 0 {
        match rules.zero_dates {
            ZeroDates::Null => {
                b.append_null();
                return Ok(());
            }
            ZeroDates::Round => NaiveDate::from_ymd_opt(year.max(1) as i32, month.max(1), day.max(1)),
            ZeroDates::Refuse => {
                return Err(format!(
                    "{year:04}-{month:02}-{day:02} is no date (zeroDateTimeBehavior=convertToNull in the URL makes it NULL)"
                ));
            }
        }
    } else {
        NaiveDate::from_ymd_opt(year as i32, month, day)
    };
    let date = date.ok_or_else(malformed)?;
    if column.kind == Kind::Date {
        return super::values::append_date(b, date, rules);
    }
    let micros = part(8) + (part(9) << 8) + (part(10) << 16) + (part(11) << 24);
    let clock = date.and_hms_micro_opt(part(5), part(6), part(7), micros).ok_or_else(malformed)?;
    append_clock(b, clock, column.kind == Kind::Instant, rules)
}

/// Length, sign, days (4 bytes), hour, minute, second, then microseconds (4 bytes): a span of up to 838 hours.
fn append_time(b: &mut ColumnBuilder, bytes: &[u8], rules: &ReadRules) -> Result<(), String> {
    let part = |at: usize| bytes.get(at).copied().map_or(0, u32::from);
    let four = |at: usize| part(at) + (part(at + 1) << 8) + (part(at + 2) << 16) + (part(at + 3) << 24);
    let hours = four(2).saturating_mul(24).saturating_add(part(6));
    let sign = if part(1) == 1 { "-" } else { "" };
    let mut text = format!("{sign}{hours:02}:{:02}:{:02}", part(7), part(8));
    let micros = four(9);
    if micros > 0 {
        text.push_str(format!(".{micros:06}").trim_end_matches('0'));
    }
    b.append_text(&text, &rules.text)
}
