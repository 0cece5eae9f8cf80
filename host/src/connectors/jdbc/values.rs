//! Values between the job's columns and the server's, as far as both products share it.

use super::types::{Kind, Value};
use super::url::ZeroDates;
use crate::data::LogicalType;
use crate::error::Result;
use crate::formats::{Cell, ColumnBuilder, Scalar, Spelling, TextRules, local_offset};
use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use chrono::{DateTime, NaiveDate, NaiveDateTime, Offset, TimeZone};
use std::sync::Arc;

/// How the server's values are read.
#[derive(Debug, Clone)]
pub struct ReadRules {
    pub text: TextRules,
    /// Of wall clocks that stand for instants and the reverse.
    pub zone: chrono_tz::Tz,
    pub zero_dates: ZeroDates,
    pub any_number_is_bool: bool,
}

/// A wall clock (or an instant, in UTC) for whatever column the job has.
pub fn append_clock(
    b: &mut ColumnBuilder,
    clock: NaiveDateTime,
    instant: bool,
    rules: &ReadRules,
) -> Result<(), String> {
    let (seconds, nanos) = (clock.and_utc().timestamp(), i64::from(clock.and_utc().timestamp_subsec_nanos()));
    match (b.logical_type(), instant) {
        (LogicalType::TimestampLtz(_), false) => b.append_timestamp(to_instant(seconds, rules.zone), nanos),
        (LogicalType::Timestamp(_), true) => b.append_timestamp(to_wall_clock(seconds, rules.zone), nanos),
        (LogicalType::TimestampLtz(_) | LogicalType::Timestamp(_), _) => b.append_timestamp(seconds, nanos),
        _ => {
            let mut text = clock.format("%Y-%m-%d %H:%M:%S%.9f").to_string();
            text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
            if instant {
                text.push('Z');
            }
            b.append_text(&text, &rules.text)
        }
    }
}

pub fn append_date(b: &mut ColumnBuilder, date: NaiveDate, rules: &ReadRules) -> Result<(), String> {
    match (b.logical_type(), date.and_hms_opt(0, 0, 0)) {
        (LogicalType::Timestamp(_), Some(midnight)) => append_clock(b, midnight, false, rules),
        _ => b.append_text(&date.format("%Y-%m-%d").to_string(), &rules.text),
    }
}

/// A single-precision number keeps its own shortest text where it becomes one.
pub fn append_float(b: &mut ColumnBuilder, value: f32, rules: &ReadRules) -> Result<(), String> {
    match b.logical_type() {
        LogicalType::Char(_) | LogicalType::Varchar(_) | LogicalType::Decimal(..) if value.is_finite() => {
            b.append_text(&value.to_string(), &rules.text)
        }
        _ => b.append_f64(f64::from(value)),
    }
}

pub fn append_text_or_bytes(b: &mut ColumnBuilder, bytes: &[u8], rules: &ReadRules) -> Result<(), String> {
    match b.logical_type() {
        LogicalType::Char(_) | LogicalType::Varchar(_) | LogicalType::Binary(_) | LogicalType::Varbinary(_) => {
            b.append_bytes(bytes)
        }
        _ => b.append_text(std::str::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_string())?, &rules.text),
    }
}

/// Seconds of a wall clock in a zone, as seconds of UTC.
fn to_instant(seconds: i64, zone: chrono_tz::Tz) -> i64 {
    seconds - i64::from(local_offset(seconds, zone).unwrap_or(0))
}

fn to_wall_clock(seconds: i64, zone: chrono_tz::Tz) -> i64 {
    let offset = DateTime::from_timestamp(seconds, 0)
        .map_or(0, |t| zone.offset_from_utc_datetime(&t.naive_utc()).fix().local_minus_utc());
    seconds + i64::from(offset)
}

/// Instants that go into a wall clock's column become wall clocks of the zone, and the reverse.
pub fn shifted(column: &ArrayRef, server: Kind, zone: chrono_tz::Tz) -> Result<ArrayRef> {
    let (unit, shift): (TimeUnit, fn(i64, chrono_tz::Tz) -> i64) = match (column.data_type(), server) {
        (DataType::Timestamp(unit, Some(_)), Kind::DateTime) => (*unit, to_wall_clock),
        (DataType::Timestamp(unit, None), Kind::Instant) => (*unit, to_instant),
        _ => return Ok(column.clone()),
    };
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let numbers = cast(column, &DataType::Int64)?;
    let moved: Int64Array = numbers.as_primitive::<Int64Type>().unary(|v| {
        let seconds = v.div_euclid(per_second);
        v.saturating_add((shift(seconds, zone) - seconds).saturating_mul(per_second))
    });
    Ok(cast(&(Arc::new(moved) as ArrayRef), &DataType::Timestamp(unit, None))?)
}

/// A value for the server. Texts where the server reads them exactly: decimals, dates, times.
pub fn value<'a>(cell: &Cell<'a>, row: usize, server: Kind) -> Result<Value<'a>, String> {
    let scalar = cell.scalar(row)?;
    Ok(match (scalar, server) {
        (Scalar::Null, _) => Value::Null,
        (Scalar::Boolean(v), Kind::Bool) => Value::Bool(v),
        (Scalar::Boolean(v), Kind::Text { .. } | Kind::ByText) => Value::Text(if v { "true" } else { "false" }.into()),
        (Scalar::Boolean(v), _) => Value::Int(i64::from(v)),
        (Scalar::Integer(v), _) => Value::Int(v),
        (Scalar::Float(v), Kind::Float | Kind::Double) => Value::Float(v),
        (Scalar::Float(v), _) if !v.is_finite() => return Err(format!("{v} has no decimal form")),
        (Scalar::Float(_), _) => {
            let mut text = Vec::new();
            cell.write_text(row, Spelling::SQL, &mut text)?;
            Value::Text(String::from_utf8(text).map_err(|e| e.to_string())?.into())
        }
        (Scalar::Bytes(v), _) => Value::Bytes(v),
        (Scalar::Text(v), Kind::DateTime | Kind::Instant) => match v.strip_suffix('Z') {
            // The session's zone is UTC.
            Some(utc) => Value::Text(utc.to_string().into()),
            None => Value::Text(v),
        },
        (Scalar::Text(v), _) => Value::Text(v),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::TimestampMillisecondArray;
    use arrow::datatypes::TimestampMillisecondType;

    #[test]
    fn instants_and_wall_clocks_change_into_one_another_by_the_zone() {
        let shanghai = chrono_tz::Asia::Shanghai;
        let instants: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(1), None]).with_timezone("UTC"));
        let walls = shifted(&instants, Kind::DateTime, shanghai).unwrap();
        assert_eq!(walls.data_type(), &DataType::Timestamp(TimeUnit::Millisecond, None));
        assert_eq!(walls.as_primitive::<TimestampMillisecondType>().value(0), 8 * 3_600_000 + 1);
        let back = shifted(&walls, Kind::Instant, shanghai).unwrap();
        assert_eq!(back.as_primitive::<TimestampMillisecondType>().value(0), 1);
        assert!(back.is_null(1));
        let same = shifted(&instants, Kind::Instant, shanghai).unwrap();
        assert_eq!(same.data_type(), instants.data_type());
    }
}
