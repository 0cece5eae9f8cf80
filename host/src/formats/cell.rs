//! Columns as text, cell by cell: the one spelling that JSON, CSV and text columns of databases share.

use super::columns::units_per_second;
use super::text;
use crate::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use base64::Engine as _;
use std::borrow::Cow;

/// A column, opened for reading by row.
pub struct Cell<'a> {
    nulls: Option<&'a NullBuffer>,
    pub(super) values: CellValues<'a>,
}

pub(super) enum CellValues<'a> {
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal(&'a Decimal128Array, u8),
    Text(&'a StringArray),
    Binary(&'a BinaryArray),
    Date(&'a [i32]),
    /// With the units in a second.
    Time32(&'a [i32], i64),
    Time64(&'a [i64], i64),
    /// With the units in a second, and whether it is an instant (written in UTC with a `Z`).
    Timestamp(&'a [i64], i64, bool),
    List(&'a [i32], Box<Cell<'a>>),
    Map(&'a [i32], Box<Cell<'a>>, Box<Cell<'a>>),
    Row(Vec<(&'a str, Cell<'a>)>),
}

/// A single value, for sinks with types of their own.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Text, and the text form of decimals, dates, times and timestamps.
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

/// How text is spelled, where formats differ.
#[derive(Debug, Clone, Copy)]
pub struct Spelling {
    /// Between date and time: a blank (SQL) or `T` (ISO-8601).
    pub separator: u8,
    /// Instants are written on the clock of this zone with its offset; None: in UTC with a `Z`.
    pub zone: Option<chrono_tz::Tz>,
}

impl Spelling {
    pub const SQL: Spelling = Spelling { separator: b' ', zone: None };
}

impl<'a> Cell<'a> {
    /// An internal error for an Arrow layout that no logical type has.
    pub fn new(array: &'a ArrayRef) -> Result<Cell<'a>> {
        Ok(Cell { nulls: array.nulls(), values: CellValues::new(array)? })
    }

    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|n| n.is_null(row))
    }

    /// The value of a plain type. The error says why there is none.
    pub fn scalar(&self, row: usize) -> std::result::Result<Scalar<'a>, String> {
        if self.is_null(row) {
            return Ok(Scalar::Null);
        }
        Ok(match &self.values {
            CellValues::Boolean(a) => Scalar::Boolean(a.value(row)),
            CellValues::Int8(v) => Scalar::Integer(i64::from(v[row])),
            CellValues::Int16(v) => Scalar::Integer(i64::from(v[row])),
            CellValues::Int32(v) => Scalar::Integer(i64::from(v[row])),
            CellValues::Int64(v) => Scalar::Integer(v[row]),
            CellValues::Float32(v) => Scalar::Float(f64::from(v[row])),
            CellValues::Float64(v) => Scalar::Float(v[row]),
            CellValues::Text(a) => Scalar::Text(Cow::Borrowed(a.value(row))),
            CellValues::Binary(a) => Scalar::Bytes(a.value(row)),
            _ => {
                let mut text = Vec::new();
                self.write_text(row, Spelling::SQL, &mut text)?;
                Scalar::Text(Cow::Owned(String::from_utf8(text).map_err(|e| e.to_string())?))
            }
        })
    }

    /// Appends the text of a value that is not NULL: numbers plain and exact, timestamps `yyyy-MM-dd HH:mm:ss[.f]`,
    /// bytes as base64. The error says why the value has no text form.
    pub fn write_text(&self, row: usize, spelling: Spelling, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        match &self.values {
            CellValues::Boolean(a) => out.extend_from_slice(if a.value(row) { b"true" } else { b"false" }),
            CellValues::Int8(v) => write_integer(out, i64::from(v[row])),
            CellValues::Int16(v) => write_integer(out, i64::from(v[row])),
            CellValues::Int32(v) => write_integer(out, i64::from(v[row])),
            CellValues::Int64(v) => write_integer(out, v[row]),
            CellValues::Float32(v) => {
                write_float(out, v[row].is_finite(), f64::from(v[row]), |out| serde_json::to_writer(out, &v[row]))
            }
            CellValues::Float64(v) => {
                write_float(out, v[row].is_finite(), v[row], |out| serde_json::to_writer(out, &v[row]))
            }
            CellValues::Decimal(a, scale) => text::write_decimal(out, a.value(row), *scale),
            CellValues::Text(a) => out.extend_from_slice(a.value(row).as_bytes()),
            CellValues::Binary(a) => write_base64(out, a.value(row)),
            CellValues::Date(v) => {
                if !text::write_date(out, i64::from(v[row])) {
                    return Err(format!("the date {} days from 1970 has no four-digit year", v[row]));
                }
            }
            CellValues::Time32(v, unit) => write_time(out, i64::from(v[row]), *unit),
            CellValues::Time64(v, unit) => write_time(out, v[row], *unit),
            CellValues::Timestamp(v, unit, instant) => {
                let (mut seconds, rest) = (v[row].div_euclid(*unit), v[row].rem_euclid(*unit));
                let offset = spelling.zone.filter(|_| *instant).map(|zone| text::offset_of(seconds, zone));
                seconds += i64::from(offset.unwrap_or(0));
                if !text::write_timestamp(out, seconds, rest * (1_000_000_000 / unit), spelling.separator) {
                    return Err(format!("the timestamp {seconds} seconds from 1970 has no four-digit year"));
                }
                match offset {
                    Some(offset) => text::write_offset(out, offset),
                    None if *instant => out.push(b'Z'),
                    None => {}
                }
            }
            CellValues::List(..) | CellValues::Map(..) | CellValues::Row(_) => {
                return Err("a nested value has no plain text form".into());
            }
        }
        Ok(())
    }
}

impl<'a> CellValues<'a> {
    fn new(array: &'a ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Boolean => Self::Boolean(array.as_boolean()),
            DataType::Int8 => Self::Int8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Self::Int16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Self::Int32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>().values()),
            DataType::Float32 => Self::Float32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, scale) if *scale >= 0 => {
                Self::Decimal(array.as_primitive::<Decimal128Type>(), *scale as u8)
            }
            DataType::Utf8 => Self::Text(array.as_string::<i32>()),
            DataType::Binary => Self::Binary(array.as_binary::<i32>()),
            DataType::Date32 => Self::Date(array.as_primitive::<Date32Type>().values()),
            DataType::Time32(TimeUnit::Second) => Self::Time32(array.as_primitive::<Time32SecondType>().values(), 1),
            DataType::Time32(_) => Self::Time32(array.as_primitive::<Time32MillisecondType>().values(), 1_000),
            DataType::Time64(TimeUnit::Microsecond) => {
                Self::Time64(array.as_primitive::<Time64MicrosecondType>().values(), 1_000_000)
            }
            DataType::Time64(_) => Self::Time64(array.as_primitive::<Time64NanosecondType>().values(), 1_000_000_000),
            DataType::Timestamp(unit, zone) => {
                Self::Timestamp(timestamp_values(array, *unit), units_per_second(*unit), zone.is_some())
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Self::List(list.offsets(), Box::new(Cell::new(list.values())?))
            }
            DataType::Map(..) => {
                let map = array.as_map();
                Self::Map(map.offsets(), Box::new(Cell::new(map.keys())?), Box::new(Cell::new(map.values())?))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns();
                let cells = fields.iter().zip(columns).map(|(f, c)| Ok((f.name().as_str(), Cell::new(c)?)));
                Self::Row(cells.collect::<Result<_>>()?)
            }
            other => return Err(Error::internal(format!("no text form for the Arrow type {other}"))),
        })
    }
}

fn timestamp_values(array: &ArrayRef, unit: TimeUnit) -> &[i64] {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
    }
}

fn write_integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    let mut digits = [0_u8; 20];
    let (mut rest, mut at) = (value.unsigned_abs(), digits.len());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The shortest text that reads back as the same number; Java's words for the rest.
fn write_float(
    out: &mut Vec<u8>,
    finite: bool,
    value: f64,
    shortest: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
) {
    if finite {
        // Writing to memory cannot fail.
        let _ = shortest(out);
        return;
    }
    out.extend_from_slice(match value {
        v if v.is_nan() => b"NaN".as_slice(),
        v if v > 0.0 => b"Infinity",
        _ => b"-Infinity",
    });
}

fn write_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    let engine = base64::engine::general_purpose::STANDARD;
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = engine.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
}

fn write_time(out: &mut Vec<u8>, value: i64, unit: i64) {
    text::write_time(out, value.rem_euclid(86_400 * unit) * (1_000_000_000 / unit));
}
