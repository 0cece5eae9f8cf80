//! Which types of the job and of Kudu go together, and their values in both directions.

use crate::data::{Column, LogicalType, Reason, RowError};
use crate::error::Result;
use crate::formats::{ColumnBuilder, TextRules, local_offset, offset_of, write_decimal};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType as A, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use chrono_tz::Tz;
use kudu_rs::{DataType, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// Whether values of one go into the other. Integers of other widths do, and each value is looked at: one that is too
/// large is refused with its row.
pub fn fits(job: &LogicalType, kudu: DataType, direction: Direction) -> bool {
    use LogicalType as T;
    let write = direction == Direction::Write;
    let integer = |t: DataType| matches!(t, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64);
    match job {
        T::Boolean => kudu == DataType::Bool,
        T::TinyInt | T::SmallInt | T::Int => integer(kudu) || (write && matches!(kudu, DataType::Decimal { .. })),
        T::BigInt => {
            integer(kudu) || kudu == DataType::UnixtimeMicros || (write && matches!(kudu, DataType::Decimal { .. }))
        }
        T::Float => kudu == DataType::Float || (write && kudu == DataType::Double),
        T::Double => kudu == DataType::Double || (!write && kudu == DataType::Float),
        T::Decimal(..) => matches!(kudu, DataType::Decimal { .. }) || (!write && integer(kudu)),
        T::Char(_) | T::Varchar(_) => matches!(kudu, DataType::String | DataType::Varchar { .. }),
        T::Binary(_) | T::Varbinary(_) => kudu == DataType::Binary,
        T::Date => kudu == DataType::Date,
        T::Timestamp(_) | T::TimestampLtz(_) => kudu == DataType::UnixtimeMicros,
        _ => false,
    }
}

/// The type of a column that is made for the job's type; why there is none.
pub fn made_for(job: &LogicalType) -> Result<DataType, String> {
    use LogicalType as T;
    Ok(match job {
        T::Boolean => DataType::Bool,
        T::TinyInt => DataType::Int8,
        T::SmallInt => DataType::Int16,
        T::Int => DataType::Int32,
        T::BigInt => DataType::Int64,
        T::Float => DataType::Float,
        T::Double => DataType::Double,
        T::Decimal(precision, scale) => DataType::Decimal { precision: *precision, scale: *scale },
        // Kudu's VARCHAR has a limit of 65535 characters; beyond it, and without one, a text is a STRING.
        T::Char(n) => varchar(Some(*n)),
        T::Varchar(n) => varchar(*n),
        T::Binary(_) | T::Varbinary(_) => DataType::Binary,
        T::Date => DataType::Date,
        T::Timestamp(p) | T::TimestampLtz(p) if *p <= 6 => DataType::UnixtimeMicros,
        T::Timestamp(_) | T::TimestampLtz(_) => return Err("Kudu keeps microseconds: declare a precision of 6".into()),
        other => return Err(format!("Kudu has no {other}")),
    })
}

fn varchar(length: Option<u32>) -> DataType {
    match length.and_then(|n| u16::try_from(n).ok()) {
        Some(length) if length > 0 => DataType::Varchar { length },
        _ => DataType::String,
    }
}

/// A value of the job for a column of Kudu's; whether it fits there, the client says.
pub fn to_kudu(column: &ArrayRef, row: usize, to: DataType, zone: Tz) -> Result<Value, String> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    let value = match column.data_type() {
        A::Boolean => Value::Bool(column.as_boolean().value(row)),
        A::Int8 => integer(column.as_primitive::<Int8Type>().value(row).into(), to),
        A::Int16 => integer(column.as_primitive::<Int16Type>().value(row).into(), to),
        A::Int32 => integer(column.as_primitive::<Int32Type>().value(row).into(), to),
        A::Int64 => integer(column.as_primitive::<Int64Type>().value(row), to),
        A::Float32 => Value::Float(column.as_primitive::<Float32Type>().value(row)),
        A::Float64 => Value::Double(column.as_primitive::<Float64Type>().value(row)),
        A::Decimal128(_, scale) => Value::Decimal {
            unscaled: column.as_primitive::<Decimal128Type>().value(row),
            scale: u8::try_from(*scale).map_err(|_| "a decimal with a negative scale")?,
        },
        A::Utf8 => Value::String(column.as_string::<i32>().value(row).to_string()),
        A::Binary => Value::Binary(column.as_binary::<i32>().value(row).to_vec().into()),
        A::Date32 => Value::Date(column.as_primitive::<Date32Type>().value(row)),
        A::Timestamp(unit, instant) => {
            let (seconds, nanos) = match unit {
                TimeUnit::Second => (column.as_primitive::<TimestampSecondType>().value(row), 0),
                TimeUnit::Millisecond => split(column.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
                TimeUnit::Microsecond => split(column.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
                TimeUnit::Nanosecond => {
                    split(column.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000)
                }
            };
            if nanos % 1_000 != 0 {
                return Err("has digits below the microsecond, which Kudu does not keep".into());
            }
            // A wall clock is read in the job's zone.
            let offset = match instant {
                Some(_) => 0,
                None => local_offset(seconds, zone).ok_or("is out of range")?,
            };
            let micros =
                (seconds - i64::from(offset)).checked_mul(1_000_000).and_then(|m| m.checked_add(nanos / 1_000));
            Value::UnixtimeMicros(micros.ok_or("is out of range")?)
        }
        other => return Err(format!("Kudu has no {other}")),
    };
    Ok(value)
}

fn integer(v: i64, to: DataType) -> Value {
    match to {
        DataType::Decimal { .. } => Value::Decimal { unscaled: v.into(), scale: 0 },
        DataType::UnixtimeMicros => Value::UnixtimeMicros(v),
        _ => Value::Int64(v),
    }
}

/// Seconds and nanoseconds of a count of units.
fn split(value: i64, per_second: i64) -> (i64, i64) {
    (value.div_euclid(per_second), value.rem_euclid(per_second) * (1_000_000_000 / per_second))
}

/// A column of Kudu's as the job has it. A value that does not fit is NULL and told with its row.
pub fn from_kudu(column: &ArrayRef, to: &Column, zone: Tz, failed: &mut Vec<RowError>) -> Result<ArrayRef> {
    if *column.data_type() == to.logical_type.to_arrow() && (to.nullable || column.null_count() == 0) {
        return Ok(column.clone());
    }
    let rules = TextRules { time_zone: zone, epoch_millis: false };
    let mut builder = ColumnBuilder::new(&to.logical_type);
    for row in 0..column.len() {
        if column.is_null(row) {
            if !to.nullable {
                let message = "is NULL, but the column is NOT NULL";
                failed.push(RowError::new(row as u32, Reason::NotNull, message).column(&to.name));
            }
            builder.append_null();
            continue;
        }
        if let Err(why) = append(&mut builder, column, row, to, zone, &rules) {
            failed.push(RowError::new(row as u32, Reason::Decode, why).column(&to.name));
            builder.append_null();
        }
    }
    builder.finish()
}

fn append(
    builder: &mut ColumnBuilder,
    column: &ArrayRef,
    row: usize,
    to: &Column,
    zone: Tz,
    rules: &TextRules,
) -> Result<(), String> {
    match column.data_type() {
        A::Boolean => builder.append_bool(column.as_boolean().value(row)),
        A::Int8 => number(builder, column.as_primitive::<Int8Type>().value(row).into(), to, rules),
        A::Int16 => number(builder, column.as_primitive::<Int16Type>().value(row).into(), to, rules),
        A::Int32 => number(builder, column.as_primitive::<Int32Type>().value(row).into(), to, rules),
        A::Int64 => number(builder, column.as_primitive::<Int64Type>().value(row), to, rules),
        A::Float32 => builder.append_f64(column.as_primitive::<Float32Type>().value(row).into()),
        A::Float64 => builder.append_f64(column.as_primitive::<Float64Type>().value(row)),
        A::Decimal128(_, scale) => {
            let mut text = vec![];
            write_decimal(
                &mut text,
                column.as_primitive::<Decimal128Type>().value(row),
                (*scale).try_into().unwrap_or(0),
            );
            builder.append_number(&String::from_utf8_lossy(&text), rules)
        }
        A::Utf8 => builder.append_text(column.as_string::<i32>().value(row), rules),
        A::Binary => builder.append_bytes(column.as_binary::<i32>().value(row)),
        A::Date32 => builder.append_days(column.as_primitive::<Date32Type>().value(row)),
        A::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = column.as_primitive::<TimestampMicrosecondType>().value(row);
            let (seconds, nanos) = split(micros, 1_000_000);
            match to.logical_type {
                LogicalType::BigInt => builder.append_i64(micros),
                LogicalType::Timestamp(_) => {
                    builder.append_timestamp(seconds + i64::from(offset_of(seconds, zone)), nanos)
                }
                _ => builder.append_timestamp(seconds, nanos),
            }
        }
        other => Err(format!("Kudu gave {other}")),
    }
}

fn number(builder: &mut ColumnBuilder, v: i64, to: &Column, rules: &TextRules) -> Result<(), String> {
    match to.logical_type {
        LogicalType::Decimal(..) => builder.append_number(&v.to_string(), rules),
        _ => builder.append_i64(v),
    }
}
