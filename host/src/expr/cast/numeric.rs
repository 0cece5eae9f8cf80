//! Numbers to numbers, as Java converts them (`NumericPrimitiveCastRule`, `DecimalToNumericPrimitiveCastRule`):
//! narrowing integers wraps, a fraction is cut, floating point saturates and NaN is 0. Only DECIMAL can overflow:
//! Flink answers NULL there, we refuse the row, so that the value is not lost without a word.

use super::parse::{self, Refused};
use super::{Failures, text};
use crate::data::LogicalType;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use std::sync::Arc;

/// What a numeric column can be read as.
#[derive(Clone, Copy)]
enum Value {
    Integer(i64),
    Float(f32),
    Double(f64),
    Decimal(i128),
}

/// Casts a numeric or boolean column to a numeric or boolean type.
pub(super) fn column(source: &ArrayRef, to: &LogicalType, failures: &mut Failures<'_>) -> Result<ArrayRef, ArrowError> {
    use LogicalType as L;
    let scale = match source.data_type() {
        DataType::Decimal128(_, s) => s.unsigned_abs(),
        _ => 0,
    };
    let ten = 10i128.pow(u32::from(scale));
    let whole = move |v: i128| (v / ten) as i64;
    Ok(match to {
        L::Boolean => Arc::new(boolean(source)?),
        L::TinyInt => map::<Int8Type>(source, |v| match v {
            Value::Integer(v) => v as i8,
            Value::Float(v) => v as i32 as i8,
            Value::Double(v) => v as i32 as i8,
            Value::Decimal(v) => whole(v) as i8,
        })?,
        L::SmallInt => map::<Int16Type>(source, |v| match v {
            Value::Integer(v) => v as i16,
            Value::Float(v) => v as i32 as i16,
            Value::Double(v) => v as i32 as i16,
            Value::Decimal(v) => whole(v) as i16,
        })?,
        L::Int => map::<Int32Type>(source, |v| match v {
            Value::Integer(v) => v as i32,
            Value::Float(v) => v as i32,
            Value::Double(v) => v as i32,
            Value::Decimal(v) => whole(v) as i32,
        })?,
        L::BigInt => map::<Int64Type>(source, |v| match v {
            Value::Integer(v) => v,
            Value::Float(v) => v as i64,
            Value::Double(v) => v as i64,
            Value::Decimal(v) => whole(v),
        })?,
        L::Float => map::<Float32Type>(source, |v| match v {
            Value::Integer(v) => v as f32,
            Value::Float(v) => v,
            Value::Double(v) => v as f32,
            Value::Decimal(v) => decimal_to_double(v, scale) as f32,
        })?,
        L::Double => map::<Float64Type>(source, |v| match v {
            Value::Integer(v) => v as f64,
            Value::Float(v) => f64::from(v),
            Value::Double(v) => v,
            Value::Decimal(v) => decimal_to_double(v, scale),
        })?,
        L::Decimal(p, s) => Arc::new(decimal_column(source, scale, *p, *s, failures)?),
        other => return Err(ArrowError::CastError(format!("{other} is no numeric type"))),
    })
}

fn map<T: ArrowPrimitiveType>(source: &ArrayRef, f: impl Fn(Value) -> T::Native) -> Result<ArrayRef, ArrowError> {
    macro_rules! unary {
        ($from:ty, $wrap:expr) => {{
            let a: PrimitiveArray<T> = source.as_primitive::<$from>().unary(|v| f($wrap(v)));
            a
        }};
    }
    let out = match source.data_type() {
        DataType::Int8 => unary!(Int8Type, |v| Value::Integer(i64::from(v))),
        DataType::Int16 => unary!(Int16Type, |v| Value::Integer(i64::from(v))),
        DataType::Int32 => unary!(Int32Type, |v| Value::Integer(i64::from(v))),
        DataType::Int64 => unary!(Int64Type, Value::Integer),
        DataType::Float32 => unary!(Float32Type, Value::Float),
        DataType::Float64 => unary!(Float64Type, Value::Double),
        DataType::Decimal128(..) => unary!(Decimal128Type, Value::Decimal),
        DataType::Boolean => {
            let a = source.as_boolean();
            let values = (0..a.len()).map(|i| f(Value::Integer(i64::from(a.value(i))))).collect::<Vec<_>>();
            PrimitiveArray::new(values.into(), a.nulls().cloned())
        }
        other => return Err(ArrowError::CastError(format!("{other} is not numeric"))),
    };
    Ok(Arc::new(out))
}

fn boolean(source: &ArrayRef) -> Result<BooleanArray, ArrowError> {
    let wide = map::<Int64Type>(source, |v| match v {
        Value::Integer(v) => v,
        Value::Float(v) => i64::from(v != 0.0),
        Value::Double(v) => i64::from(v != 0.0),
        Value::Decimal(v) => i64::from(v != 0),
    })?;
    let wide = wide.as_primitive::<Int64Type>();
    Ok(BooleanArray::new(wide.values().iter().map(|v| *v != 0).collect(), wide.nulls().cloned()))
}

/// Exact where both the digits and the power of ten are, else by the decimal text.
fn decimal_to_double(unscaled: i128, scale: u8) -> f64 {
    if unscaled.unsigned_abs() < 1 << 53 && scale <= 22 {
        return unscaled as f64 / 10f64.powi(i32::from(scale));
    }
    let mut out = String::new();
    text::decimal(unscaled, scale, &mut out);
    out.parse().unwrap_or(f64::NAN)
}

const RANGE: &str = "it is out of range";

fn decimal_column(
    source: &ArrayRef,
    from_scale: u8,
    precision: u8,
    scale: u8,
    failures: &mut Failures<'_>,
) -> Result<Decimal128Array, ArrowError> {
    let limit = 10i128.pow(u32::from(precision));
    let fits = |v: i128| if v.unsigned_abs() < limit.unsigned_abs() { Ok(v) } else { Err(RANGE) };
    let mut scratch = String::new();
    let mut convert = |value: Value| match value {
        Value::Integer(v) => rescale(i128::from(v), 0, scale).ok_or(RANGE).and_then(fits),
        Value::Decimal(v) => rescale(v, from_scale, scale).ok_or(RANGE).and_then(fits),
        // Java goes through the number's text (`BigDecimal.valueOf`), so 1.005 is 1.005 and not its binary form.
        Value::Float(v) => {
            scratch.clear();
            text::double(f64::from(v), &mut scratch);
            parse::decimal(scratch.as_bytes(), precision, scale)
        }
        Value::Double(v) => {
            scratch.clear();
            text::double(v, &mut scratch);
            parse::decimal(scratch.as_bytes(), precision, scale)
        }
    };
    let mut values = vec![0i128; source.len()];
    let mut refused = Refused::default();
    let mut put = |i: usize, value: Value| match convert(value) {
        Ok(v) => values[i] = v,
        Err(why) => {
            failures.add(i, why);
            refused.0.push(i);
        }
    };
    macro_rules! each {
        ($from:ty, $wrap:expr) => {{
            let a = source.as_primitive::<$from>();
            (0..a.len()).filter(|&i| a.is_valid(i)).for_each(|i| put(i, $wrap(a.value(i))));
        }};
    }
    match source.data_type() {
        DataType::Int8 => each!(Int8Type, |v| Value::Integer(i64::from(v))),
        DataType::Int16 => each!(Int16Type, |v| Value::Integer(i64::from(v))),
        DataType::Int32 => each!(Int32Type, |v| Value::Integer(i64::from(v))),
        DataType::Int64 => each!(Int64Type, Value::Integer),
        DataType::Float32 => each!(Float32Type, Value::Float),
        DataType::Float64 => each!(Float64Type, Value::Double),
        DataType::Decimal128(..) => each!(Decimal128Type, Value::Decimal),
        DataType::Boolean => {
            let a = source.as_boolean();
            (0..a.len()).filter(|&i| a.is_valid(i)).for_each(|i| put(i, Value::Integer(i64::from(a.value(i)))));
        }
        other => return Err(ArrowError::CastError(format!("{other} is not numeric"))),
    }
    Decimal128Array::new(values.into(), refused.mask(source.nulls(), source.len()))
        .with_precision_and_scale(precision, scale as i8)
}

/// The unscaled value at another scale, HALF_UP; None if it does not fit 128 bits.
fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return unscaled.checked_mul(10i128.checked_pow(u32::from(to - from))?);
    }
    let divisor = 10i128.checked_pow(u32::from(from - to))?;
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let up = rest.unsigned_abs() * 2 >= divisor.unsigned_abs();
    Some(if up { quotient + unscaled.signum() } else { quotient })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rescaling_rounds_half_away_from_zero() {
        assert_eq!(rescale(1005, 3, 2), Some(101));
        assert_eq!(rescale(-1005, 3, 2), Some(-101));
        assert_eq!(rescale(1004, 3, 2), Some(100));
        assert_eq!(rescale(7, 0, 2), Some(700));
        assert_eq!(rescale(i128::MAX, 0, 1), None);
    }

    #[test]
    fn wide_decimals_become_the_nearest_double() {
        assert_eq!(decimal_to_double(1050, 2), 10.5);
        assert_eq!(decimal_to_double(12_345_678_901_234_567_890, 10), 1_234_567_890.123_456_8);
    }
}
