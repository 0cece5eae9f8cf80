//! Arithmetic that differs from DataFusion's: DECIMAL with Flink's result types, division and remainder that refuse a
//! zero divisor row by row. (Integer and floating-point `+ - *` are DataFusion's: they wrap, as Java's do.)

use super::{Binding, Builtin, Call, PURE, types};
use crate::data::Reason;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$add", coerce: exact, returns: decimal_sum, eval: add, ..PURE },
    Builtin { name: "$subtract", coerce: exact, returns: decimal_sum, eval: subtract, ..PURE },
    Builtin { name: "$multiply", coerce: exact, returns: decimal_product, eval: multiply, ..PURE },
    Builtin { name: "$divide", fallible: true, coerce: exact, returns: quotient, eval: divide, ..PURE },
    Builtin { name: "$modulo", fallible: true, coerce: exact, returns: remainder, eval: modulo, ..PURE },
    Builtin { name: "abs", coerce: types::one_number, returns: types::as_first, eval: abs, ..PURE },
];

/// The sign of an operator function.
pub(super) fn sign(name: &str) -> Option<&'static str> {
    Some(match name {
        "$add" => "+",
        "$subtract" => "-",
        "$multiply" => "*",
        "$divide" => "/",
        "$modulo" => "%",
        _ => return None,
    })
}

/// Two exact numbers: of one integer type, or both DECIMAL with scales of their own.
fn exact(operands: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let known = |t: &DataType| if *t == DataType::Null { DataType::Int32 } else { t.clone() };
    let operands: Vec<_> = operands.iter().map(known).collect();
    match operands.as_slice() {
        [l, r] if types::is_integer(l) && types::is_integer(r) => {
            let wide = types::wider(l, r);
            Ok(vec![wide.clone(), wide])
        }
        [l, r] => match (types::decimal_of(l), types::decimal_of(r)) {
            (Some((p, s)), Some((q, t))) => {
                Ok(vec![DataType::Decimal128(p, s as i8), DataType::Decimal128(q, t as i8)])
            }
            _ => Err(format!("expects exact numbers, not {} and {}", types::name(l), types::name(r))),
        },
        _ => Err("expects two operands".to_string()),
    }
}

type Returns = std::result::Result<DataType, String>;

/// Precision and scale of both operands, as `i32` to reckon with.
fn operands(binding: &Binding<'_>) -> std::result::Result<(i32, i32, i32, i32), String> {
    let [l, r] = binding.types else { return Err("expects two operands".to_string()) };
    match (types::decimal_of(l), types::decimal_of(r)) {
        (Some((p, s)), Some((q, t))) => Ok((i32::from(p), i32::from(s), i32::from(q), i32::from(t))),
        _ => Err(format!("expects exact numbers, not {} and {}", types::name(l), types::name(r))),
    }
}

/// `LogicalTypeMerging.adjustPrecisionScale`: above 38 digits the fraction gives way, down to six of its digits.
fn adjusted(precision: i32, scale: i32) -> DataType {
    if precision <= 38 {
        return DataType::Decimal128(precision as u8, scale as i8);
    }
    let whole = precision - scale;
    DataType::Decimal128(38, (38 - whole).max(scale.min(6)) as i8)
}

// The four rules are those of `LogicalTypeMerging.find*DecimalType`.

fn decimal_sum(binding: &Binding<'_>) -> Returns {
    let (p, s, q, t) = operands(binding)?;
    let scale = s.max(t);
    Ok(adjusted((p - s).max(q - t) + scale + 1, scale))
}

fn decimal_product(binding: &Binding<'_>) -> Returns {
    let (p, s, q, t) = operands(binding)?;
    Ok(adjusted(p + q + 1, s + t))
}

fn quotient(binding: &Binding<'_>) -> Returns {
    if let [l, r] = binding.types
        && types::is_integer(l)
        && types::is_integer(r)
    {
        return Ok(types::wider(l, r));
    }
    let (p, s, q, t) = operands(binding)?;
    let scale = 6.max(s + q + 1);
    Ok(adjusted(p - s + t + scale, scale))
}

fn remainder(binding: &Binding<'_>) -> Returns {
    if let [l, r] = binding.types
        && types::is_integer(l)
        && types::is_integer(r)
    {
        return Ok(types::wider(l, r));
    }
    let (p, s, q, t) = operands(binding)?;
    let scale = s.max(t);
    Ok(adjusted((p - s).min(q - t) + scale, scale))
}

fn add(call: &Call<'_>) -> Result<ArrayRef> {
    decimals(call, |a, b, _| {
        let scale = a.scale.max(b.scale);
        Some((a.at(scale)?.checked_add(b.at(scale)?)?, scale))
    })
}

fn subtract(call: &Call<'_>) -> Result<ArrayRef> {
    decimals(call, |a, b, _| {
        let scale = a.scale.max(b.scale);
        Some((a.at(scale)?.checked_sub(b.at(scale)?)?, scale))
    })
}

fn multiply(call: &Call<'_>) -> Result<ArrayRef> {
    decimals(call, |a, b, _| {
        Some((i256::from_i128(a.unscaled).checked_mul(i256::from_i128(b.unscaled))?, a.scale + b.scale))
    })
}

fn divide(call: &Call<'_>) -> Result<ArrayRef> {
    match call.returns {
        DataType::Int8 => integers::<Int8Type>(call, i8::wrapping_div),
        DataType::Int16 => integers::<Int16Type>(call, i16::wrapping_div),
        DataType::Int32 => integers::<Int32Type>(call, i32::wrapping_div),
        DataType::Int64 => integers::<Int64Type>(call, i64::wrapping_div),
        _ => decimals(call, |a, b, at| {
            // One digit more than asked for decides the rounding: HALF_UP looks at no other.
            let shift = i32::from(at) + 1 + i32::from(b.scale) - i32::from(a.scale);
            let power = power_of_ten(shift.unsigned_abs())?;
            let (dividend, divisor) = (i256::from_i128(a.unscaled), i256::from_i128(b.unscaled));
            let quotient = if shift >= 0 {
                dividend.checked_mul(power)?.checked_div(divisor)?
            } else {
                dividend.checked_div(divisor.checked_mul(power)?)?
            };
            Some((quotient, at + 1))
        }),
    }
}

fn modulo(call: &Call<'_>) -> Result<ArrayRef> {
    match call.returns {
        DataType::Int8 => integers::<Int8Type>(call, i8::wrapping_rem),
        DataType::Int16 => integers::<Int16Type>(call, i16::wrapping_rem),
        DataType::Int32 => integers::<Int32Type>(call, i32::wrapping_rem),
        DataType::Int64 => integers::<Int64Type>(call, i64::wrapping_rem),
        _ => decimals(call, |a, b, _| {
            let scale = a.scale.max(b.scale);
            Some((a.at(scale)?.checked_rem(b.at(scale)?)?, scale))
        }),
    }
}

/// Integer division or remainder; a zero divisor refuses the row.
fn integers<T: ArrowPrimitiveType>(call: &Call<'_>, f: fn(T::Native, T::Native) -> T::Native) -> Result<ArrayRef> {
    let (l, r) = (call.numbers::<T>(0)?, call.numbers::<T>(1)?);
    let zero = T::Native::default();
    let nulls = refuse_zeros(call, l.nulls(), r.nulls(), |i| r.value(i) == zero);
    let values: Vec<T::Native> =
        l.values().iter().zip(r.values()).map(|(&a, &b)| if b == zero { zero } else { f(a, b) }).collect();
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
}

/// The result's validity; rows with a zero divisor are refused and become NULL.
fn refuse_zeros(
    call: &Call<'_>,
    left: Option<&NullBuffer>,
    right: Option<&NullBuffer>,
    is_zero: impl Fn(usize) -> bool,
) -> Option<NullBuffer> {
    let nulls = NullBuffer::union(left, right);
    let zeros: Vec<usize> =
        (0..call.rows).filter(|&i| is_zero(i) && nulls.as_ref().is_none_or(|n| n.is_valid(i))).collect();
    if zeros.is_empty() {
        return nulls;
    }
    let mut valid = vec![true; call.rows];
    for i in zeros {
        valid[i] = false;
        call.fail(i, Reason::Arithmetic, "division by zero");
    }
    NullBuffer::union(nulls.as_ref(), Some(&valid.into()))
}

#[derive(Clone, Copy)]
struct Decimal {
    unscaled: i128,
    scale: u8,
}

impl Decimal {
    /// The unscaled value at a scale that is no less than its own.
    fn at(self, scale: u8) -> Option<i256> {
        i256::from_i128(self.unscaled).checked_mul(power_of_ten(u32::from(scale.checked_sub(self.scale)?))?)
    }
}

fn power_of_ten(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

/// Applies `f` (operands, result's scale) -> (unscaled, its scale) and fits the outcome into the result's type.
/// What does not fit is NULL, as Flink's `DecimalData.fromBigDecimal` answers.
fn decimals(call: &Call<'_>, f: impl Fn(Decimal, Decimal, u8) -> Option<(i256, u8)>) -> Result<ArrayRef> {
    let (l, r) = (call.numbers::<Decimal128Type>(0)?, call.numbers::<Decimal128Type>(1)?);
    let DataType::Decimal128(precision, scale) = *call.returns else {
        return call.internal("was planned for another result type");
    };
    let (to, limit) = (scale.unsigned_abs(), 10i128.pow(u32::from(precision)));
    let (left_scale, right_scale) = (l.scale().unsigned_abs(), r.scale().unsigned_abs());
    let divides = matches!(call.name(), "$divide" | "$modulo");
    let nulls = if divides {
        refuse_zeros(call, l.nulls(), r.nulls(), |i| r.value(i) == 0)
    } else {
        NullBuffer::union(l.nulls(), r.nulls())
    };
    let value = |i: usize| {
        if nulls.as_ref().is_some_and(|n| n.is_null(i)) {
            return None;
        }
        let left = Decimal { unscaled: l.value(i), scale: left_scale };
        let right = Decimal { unscaled: r.value(i), scale: right_scale };
        let (unscaled, from) = f(left, right, to)?;
        let fitted = narrow(unscaled, from, to)?;
        (fitted.unsigned_abs() < limit.unsigned_abs()).then_some(fitted)
    };
    let result: Decimal128Array = (0..call.rows).map(value).collect();
    Ok(Arc::new(result.with_precision_and_scale(precision, scale)?))
}

/// A 256-bit value at another scale, HALF_UP, if it fits 128 bits.
fn narrow(value: i256, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return value.checked_mul(power_of_ten(u32::from(to - from))?)?.to_i128();
    }
    let divisor = power_of_ten(u32::from(from - to))?;
    let (quotient, rest) = (value.checked_div(divisor)?, value.checked_rem(divisor)?);
    let doubled = rest.wrapping_abs().checked_mul(i256::from_i128(2))?;
    let up =
        if doubled >= divisor { if value.is_negative() { i256::MINUS_ONE } else { i256::ONE } } else { i256::ZERO };
    quotient.checked_add(up)?.to_i128()
}

/// Wraps at the least integer, as `Math.abs`.
fn abs(call: &Call<'_>) -> Result<ArrayRef> {
    Ok(match call.returns {
        DataType::Int8 => Arc::new(call.numbers::<Int8Type>(0)?.unary::<_, Int8Type>(i8::wrapping_abs)),
        DataType::Int16 => Arc::new(call.numbers::<Int16Type>(0)?.unary::<_, Int16Type>(i16::wrapping_abs)),
        DataType::Int32 => Arc::new(call.numbers::<Int32Type>(0)?.unary::<_, Int32Type>(i32::wrapping_abs)),
        DataType::Int64 => Arc::new(call.numbers::<Int64Type>(0)?.unary::<_, Int64Type>(i64::wrapping_abs)),
        DataType::Float32 => Arc::new(call.numbers::<Float32Type>(0)?.unary::<_, Float32Type>(f32::abs)),
        DataType::Float64 => Arc::new(call.numbers::<Float64Type>(0)?.unary::<_, Float64Type>(f64::abs)),
        DataType::Decimal128(p, s) => {
            let values = call.numbers::<Decimal128Type>(0)?.unary::<_, Decimal128Type>(i128::wrapping_abs);
            Arc::new(values.with_precision_and_scale(*p, *s)?)
        }
        _ => return call.internal("was planned for another type"),
    })
}
