//! Values of cells, and their bytes.

use crate::error::{Error, Result};
use crate::schema::{ColumnSchema, DataType};
use bytes::Bytes;
use std::fmt;

/// Limit of the servers for one cell (`--max_cell_size_bytes`).
pub const MAX_CELL: usize = 64 * 1024;
/// 0001-01-01 and 9999-12-31.
const DATES: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;

/// One value. Integers fit any integer column that is wide enough; decimals are given with their own scale.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    Null,
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    /// `unscaled` / 10^`scale`
    Decimal {
        unscaled: i128,
        scale: u8,
    },
    String(String),
    Binary(Bytes),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 00:00 UTC.
    UnixtimeMicros(i64),
}

macro_rules! from {
    ($($t:ty => $variant:ident),*) => { $(impl From<$t> for Value {
        fn from(v: $t) -> Self { Self::$variant(v.into()) }
    })* };
}
from!(bool => Bool, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, f32 => Float, f64 => Double,
      String => String, &str => String, Vec<u8> => Binary, Bytes => Binary);

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Null, Into::into)
    }
}

impl Value {
    /// This value as the column holds it; an error when it does not fit. Nothing is cut or rounded.
    pub(crate) fn fit(self, column: &ColumnSchema) -> Result<Self> {
        let t = column.data_type;
        let no = |what: String| Err(Error::invalid(format!("column `{}` ({t}): {what}", column.name)));
        let fitted = match (t, self) {
            (_, Self::Null) if column.nullable => return Ok(Self::Null),
            (_, Self::Null) => return no("NULL in a column that is not nullable".into()),
            (DataType::Bool, v @ Self::Bool(_))
            | (DataType::Float, v @ Self::Float(_))
            | (DataType::Double, v @ Self::Double(_))
            | (DataType::UnixtimeMicros, v @ Self::UnixtimeMicros(_)) => v,
            (DataType::Double, Self::Float(f)) => Self::Double(f.into()),
            (DataType::UnixtimeMicros, Self::Int64(v)) => Self::UnixtimeMicros(v),
            (DataType::Date, Self::Date(d) | Self::Int32(d)) => match DATES.contains(&d) {
                true => Self::Date(d),
                false => return no(format!("day {d} is not of the years 1 to 9999")),
            },
            (DataType::Decimal { precision, scale }, Self::Decimal { unscaled, scale: s }) => {
                match rescale(unscaled, s, scale).filter(|v| v.unsigned_abs() < 10u128.pow(precision.into())) {
                    Some(unscaled) => Self::Decimal { unscaled, scale },
                    None => return no(format!("{} does not fit", Self::Decimal { unscaled, scale: s })),
                }
            }
            (DataType::String, Self::String(s)) => Self::String(s),
            (DataType::Varchar { length }, Self::String(s)) => {
                let has = if s.len() <= usize::from(length) { 0 } else { s.chars().count() };
                if has > usize::from(length) {
                    return no(format!("a text of {has} characters is too long"));
                }
                Self::String(s)
            }
            (DataType::Binary, Self::Binary(b)) => Self::Binary(b),
            (DataType::Binary, Self::String(s)) => Self::Binary(s.into()),
            (DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64, v) => {
                let Some(n) = v.integer() else { return no(format!("{} is no value of this type", v.kind())) };
                let fits = match t {
                    DataType::Int8 => i8::try_from(n).map(Self::Int8).ok(),
                    DataType::Int16 => i16::try_from(n).map(Self::Int16).ok(),
                    DataType::Int32 => i32::try_from(n).map(Self::Int32).ok(),
                    _ => Some(Self::Int64(n)),
                };
                match fits {
                    Some(v) => v,
                    None => return no(format!("{n} does not fit")),
                }
            }
            (_, v) => return no(format!("{} is no value of this type", v.kind())),
        };
        match fitted.bytes_len() {
            n if n > MAX_CELL => no(format!("a value of {n} bytes, cells hold at most {MAX_CELL}")),
            _ => Ok(fitted),
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Int8(v) => Some((*v).into()),
            Self::Int16(v) => Some((*v).into()),
            Self::Int32(v) => Some((*v).into()),
            Self::Int64(v) => Some(*v),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "a boolean",
            Self::Int8(_) | Self::Int16(_) | Self::Int32(_) | Self::Int64(_) => "an integer",
            Self::Float(_) | Self::Double(_) => "a floating point number",
            Self::Decimal { .. } => "a decimal",
            Self::String(_) => "a text",
            Self::Binary(_) => "binary data",
            Self::Date(_) => "a date",
            Self::UnixtimeMicros(_) => "a timestamp",
        }
    }

    /// Bytes of a value of variable length; 0 for others.
    pub(crate) fn bytes_len(&self) -> usize {
        self.bytes().len()
    }
    /// The bytes of a value of variable length.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::String(s) => s.as_bytes(),
            Self::Binary(b) => b,
            _ => &[],
        }
    }

    /// A fitted value as it stands in cells, predicates and defaults.
    pub(crate) fn put_bytes(&self, data_type: DataType, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Bool(v) => out.push(u8::from(*v)),
            Self::Int8(v) => out.extend(v.to_le_bytes()),
            Self::Int16(v) => out.extend(v.to_le_bytes()),
            Self::Int32(v) | Self::Date(v) => out.extend(v.to_le_bytes()),
            Self::Int64(v) | Self::UnixtimeMicros(v) => out.extend(v.to_le_bytes()),
            Self::Float(v) => out.extend(v.to_le_bytes()),
            Self::Double(v) => out.extend(v.to_le_bytes()),
            Self::Decimal { unscaled, .. } => out.extend(&unscaled.to_le_bytes()[..data_type.cell_size()]),
            Self::String(_) | Self::Binary(_) => out.extend(self.bytes()),
        }
    }

    /// The reverse of `put_bytes`.
    pub(crate) fn from_bytes(data_type: DataType, bytes: &[u8]) -> Result<Self> {
        if !data_type.is_variable() && bytes.len() != data_type.cell_size() {
            return Err(Error::protocol(format!("a {data_type} of {} bytes", bytes.len())));
        }
        // Sign-extended to 16 bytes: one way for all integers.
        let integer = || {
            let negative = bytes.last().is_some_and(|b| b & 0x80 != 0);
            let mut wide = [if negative { 0xff } else { 0 }; 16];
            for (w, b) in wide.iter_mut().zip(bytes) {
                *w = *b;
            }
            i128::from_le_bytes(wide)
        };
        Ok(match data_type {
            DataType::Bool => Self::Bool(bytes[0] != 0),
            DataType::Int8 => Self::Int8(integer() as i8),
            DataType::Int16 => Self::Int16(integer() as i16),
            DataType::Int32 => Self::Int32(integer() as i32),
            DataType::Date => Self::Date(integer() as i32),
            DataType::Int64 => Self::Int64(integer() as i64),
            DataType::UnixtimeMicros => Self::UnixtimeMicros(integer() as i64),
            DataType::Decimal { scale, .. } => Self::Decimal { unscaled: integer(), scale },
            DataType::Float => Self::Float(f32::from_bits(integer() as u32)),
            DataType::Double => Self::Double(f64::from_bits(integer() as u64)),
            DataType::Binary => Self::Binary(Bytes::copy_from_slice(bytes)),
            DataType::String | DataType::Varchar { .. } => Self::String(
                String::from_utf8(bytes.to_vec()).map_err(|_| Error::protocol("a text that is not valid UTF-8"))?,
            ),
        })
    }
}

/// The same number at another scale; None when digits would be lost.
fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if from <= to {
        10i128.checked_pow(u32::from(to - from)).and_then(|f| unscaled.checked_mul(f))
    } else {
        match 10i128.checked_pow(u32::from(from - to)) {
            Some(f) => (unscaled % f == 0).then(|| unscaled / f),
            None => (unscaled == 0).then_some(0),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Null => write!(f, "NULL"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Int8(v) => write!(f, "{v}"),
            Self::Int16(v) => write!(f, "{v}"),
            Self::Int32(v) => write!(f, "{v}"),
            Self::Int64(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Double(v) => write!(f, "{v}"),
            Self::Decimal { unscaled, scale } => {
                let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(*scale) + 1);
                let (whole, rest) = digits.split_at(digits.len() - usize::from(*scale));
                let sign = if *unscaled < 0 { "-" } else { "" };
                let point = if rest.is_empty() { "" } else { "." };
                write!(f, "{sign}{whole}{point}{rest}")
            }
            Self::String(s) => write!(f, "{s:?}"),
            Self::Binary(b) => b.iter().try_for_each(|b| write!(f, "{b:02x}")),
            Self::Date(d) => write!(f, "day {d}"),
            Self::UnixtimeMicros(m) => write!(f, "{m} µs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(t: DataType, v: impl Into<Value>) -> Result<Value> {
        v.into().fit(&ColumnSchema::new("c", t))
    }
    fn decimal(unscaled: i128, scale: u8) -> Value {
        Value::Decimal { unscaled, scale }
    }

    #[test]
    fn a_varchar_is_counted_in_characters_and_never_cut() {
        let five = DataType::Varchar { length: 5 };
        assert_eq!(fit(five, "h\u{e9}llo").expect("five characters"), Value::from("h\u{e9}llo"));
        let e = fit(five, "h\u{e9}llo!").expect_err("six");
        assert_eq!(e.to_string(), "column `c` (VARCHAR(5)): a text of 6 characters is too long");
    }

    #[test]
    fn decimals_are_rescaled_without_loss_or_refused() {
        let t = DataType::Decimal { precision: 5, scale: 2 };
        assert_eq!(fit(t, decimal(12, 1)).expect("1.2"), decimal(120, 2));
        assert_eq!(fit(t, decimal(12300, 4)).expect("1.23"), decimal(123, 2));
        assert!(fit(t, decimal(12345, 4)).is_err());
        assert_eq!(fit(t, decimal(-99999, 2)).expect("-999.99"), decimal(-99999, 2));
        assert!(fit(t, decimal(100_000, 2)).expect_err("1000.00").to_string().contains("1000.00 does not fit"));
        assert!(fit(t, decimal(i128::MAX, 0)).is_err());
        assert!(fit(DataType::Decimal { precision: 38, scale: 0 }, decimal(10i128.pow(38) - 1, 0)).is_ok());
        assert!(fit(DataType::Decimal { precision: 38, scale: 0 }, decimal(10i128.pow(38), 0)).is_err());
    }

    #[test]
    fn integers_fit_where_they_are_small_enough() {
        assert_eq!(fit(DataType::Int8, -128i64).expect("fits"), Value::Int8(-128));
        assert!(fit(DataType::Int8, 128i16).is_err());
        assert!(fit(DataType::Int32, 1.0f64).is_err());
        assert!(fit(DataType::Int32, Value::Null).is_err());
        assert!(fit(DataType::String, "x".repeat(MAX_CELL + 1)).expect_err("too long").to_string().contains("65537"));
        assert!(fit(DataType::Date, Value::Date(2_932_897)).is_err());
    }

    proptest! {
        #[test]
        fn bytes_of_a_value_give_it_back(v in any::<i64>(), d in any::<i32>(), s in ".{0,20}") {
            let numbers = DataType::Decimal { precision: 38, scale: 3 };
            let cases = [
                (DataType::Int64, Value::Int64(v)),
                (DataType::Int16, Value::Int16(v as i16)),
                (DataType::Date, Value::Date(d)),
                (numbers, Value::Decimal { unscaled: i128::from(v) * 7919, scale: 3 }),
                (DataType::String, Value::String(s)),
            ];
            for (t, value) in cases {
                let mut bytes = Vec::new();
                value.put_bytes(t, &mut bytes);
                prop_assert_eq!(Value::from_bytes(t, &bytes).expect("valid"), value);
            }
        }
        #[test]
        fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            for t in [DataType::Bool, DataType::Int8, DataType::Double, DataType::String, DataType::Date,
                      DataType::Decimal { precision: 20, scale: 2 }] {
                let _ = Value::from_bytes(t, &bytes);
            }
        }
    }
}
