//! Functions over numbers: those of DOUBLE are Java's `Math`, rounding is `BigDecimal`'s.

use super::call::at;
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use crate::expr::rounding;
use arrow::array::{ArrayRef, ArrowPrimitiveType, Decimal128Array};
use arrow::datatypes::*;
use datafusion_common::Result;
use std::sync::Arc;

const DOUBLE: Builtin = Builtin { coerce: types::one_double, returns: types::double, ..PURE };
const TWO_DOUBLES: Builtin =
    Builtin { coerce: |t| types::signature(t, &[Arg::Double; 2], 2), returns: types::double, ..PURE };
const CONSTANT: Builtin = Builtin { returns: types::double, ..PURE };
const ROUNDED: Builtin = Builtin { fallible: true, returns: rounded, ..PURE };
const PER_ROW: Builtin = Builtin { volatile: true, per_row: true, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "sqrt", eval: |c| unary(c, f64::sqrt), ..DOUBLE },
    Builtin { name: "cbrt", eval: |c| unary(c, f64::cbrt), ..DOUBLE },
    Builtin { name: "exp", eval: |c| unary(c, f64::exp), ..DOUBLE },
    Builtin { name: "ln", eval: |c| unary(c, f64::ln), ..DOUBLE },
    Builtin { name: "log10", eval: |c| unary(c, f64::log10), ..DOUBLE },
    Builtin { name: "log2", eval: |c| unary(c, f64::log2), ..DOUBLE },
    Builtin { name: "sin", eval: |c| unary(c, f64::sin), ..DOUBLE },
    Builtin { name: "cos", eval: |c| unary(c, f64::cos), ..DOUBLE },
    Builtin { name: "tan", eval: |c| unary(c, f64::tan), ..DOUBLE },
    Builtin { name: "cot", eval: |c| unary(c, |x| 1.0 / x.tan()), ..DOUBLE },
    Builtin { name: "asin", eval: |c| unary(c, f64::asin), ..DOUBLE },
    Builtin { name: "acos", eval: |c| unary(c, f64::acos), ..DOUBLE },
    Builtin { name: "atan", eval: |c| unary(c, f64::atan), ..DOUBLE },
    Builtin { name: "sinh", eval: |c| unary(c, f64::sinh), ..DOUBLE },
    Builtin { name: "cosh", eval: |c| unary(c, f64::cosh), ..DOUBLE },
    Builtin { name: "tanh", eval: |c| unary(c, f64::tanh), ..DOUBLE },
    Builtin { name: "degrees", eval: |c| unary(c, |x| x * 180.0 / std::f64::consts::PI), ..DOUBLE },
    Builtin { name: "radians", eval: |c| unary(c, |x| x / 180.0 * std::f64::consts::PI), ..DOUBLE },
    Builtin { name: "power", eval: |c| binary(c, power), ..TWO_DOUBLES },
    Builtin { name: "atan2", eval: |c| binary(c, f64::atan2), ..TWO_DOUBLES },
    Builtin { name: "log", coerce: |t| types::signature(t, &[Arg::Double; 2], 1), eval: log, ..TWO_DOUBLES },
    Builtin { name: "pi", eval: |c| Ok(c.primitive_rows::<Float64Type>(|_| Some(std::f64::consts::PI))), ..CONSTANT },
    Builtin { name: "e", eval: |c| Ok(c.primitive_rows::<Float64Type>(|_| Some(std::f64::consts::E))), ..CONSTANT },
    Builtin { name: "sign", coerce: types::one_number, returns: types::as_first, eval: sign, ..PURE },
    Builtin { name: "ceil", coerce: types::one_number, returns: whole, eval: |c| to_whole(c, true), ..PURE },
    Builtin { name: "ceiling", coerce: types::one_number, returns: whole, eval: |c| to_whole(c, true), ..PURE },
    Builtin { name: "floor", coerce: types::one_number, returns: whole, eval: |c| to_whole(c, false), ..PURE },
    Builtin { name: "round", coerce: types::one_number, eval: |c| to_digits(c, true), ..ROUNDED },
    Builtin { name: "$round", coerce: number_and_digits, eval: |c| to_digits(c, true), ..ROUNDED },
    Builtin { name: "truncate", coerce: types::one_number, eval: |c| to_digits(c, false), ..ROUNDED },
    Builtin { name: "$truncate", coerce: number_and_digits, eval: |c| to_digits(c, false), ..ROUNDED },
    Builtin { name: "rand", coerce: no_seed, returns: types::double, eval: rand, ..PER_ROW },
    Builtin {
        name: "rand_integer",
        fallible: true,
        coerce: |t| types::signature(t, &[Arg::Int], 1),
        returns: types::int,
        eval: rand_integer,
        ..PER_ROW
    },
    Builtin { name: "uuid", eval: uuid, ..PER_ROW },
];

type Returns = std::result::Result<DataType, String>;

fn unary(call: &Call<'_>, f: fn(f64) -> f64) -> Result<ArrayRef> {
    Ok(Arc::new(call.doubles(0)?.unary::<_, Float64Type>(f)))
}

fn binary(call: &Call<'_>, f: fn(f64, f64) -> f64) -> Result<ArrayRef> {
    Ok(Arc::new(arrow::compute::binary::<_, _, _, Float64Type>(&call.doubles(0)?, &call.doubles(1)?, f)?))
}

/// `Math.pow`, which unlike C's is NaN for 1 to the power of NaN, and for 1 or -1 to that of an infinity.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) { f64::NAN } else { base.powf(exponent) }
}

/// `LOG(x)` is the natural logarithm, `LOG(base, x)`.
fn log(call: &Call<'_>) -> Result<ArrayRef> {
    if call.arg_count() == 1 { unary(call, f64::ln) } else { binary(call, |base, x| x.ln() / base.ln()) }
}

macro_rules! by_type {
    ($call:expr, $to:expr, $f:ident) => {
        match $to {
            DataType::Int8 => $f::<Int8Type>($call),
            DataType::Int16 => $f::<Int16Type>($call),
            DataType::Int32 => $f::<Int32Type>($call),
            DataType::Int64 => $f::<Int64Type>($call),
            DataType::Float32 => $f::<Float32Type>($call),
            DataType::Float64 => $f::<Float64Type>($call),
            _ => $call.internal("was planned for another type"),
        }
    };
}

/// -1, 0 or 1 as a value of the argument's type.
fn sign(call: &Call<'_>) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType>(call: &Call<'_>) -> Result<ArrayRef>
    where
        T::Native: num_sign::Sign,
    {
        Ok(Arc::new(call.numbers::<T>(0)?.unary::<_, T>(num_sign::Sign::sign)))
    }
    if let DataType::Decimal128(p, s) = *call.returns {
        let one = 10i128.pow(u32::from(s.unsigned_abs()));
        let values = call.numbers::<Decimal128Type>(0)?.unary::<_, Decimal128Type>(|v| v.signum().saturating_mul(one));
        return Ok(Arc::new(values.with_precision_and_scale(p, s)?));
    }
    by_type!(call, call.returns, of)
}

mod num_sign {
    pub trait Sign {
        fn sign(self) -> Self;
    }
    macro_rules! integers {
        ($($t:ty),*) => { $(impl Sign for $t { fn sign(self) -> Self { self.signum() } })* };
    }
    integers!(i8, i16, i32, i64);
    macro_rules! floats {
        // `Math.signum`: zeros and NaN stay themselves.
        ($($t:ty),*) => { $(impl Sign for $t { fn sign(self) -> Self { if self == 0.0 { self } else { self.signum() } } })* };
    }
    floats!(f32, f64);
}

/// A DECIMAL loses its fraction (and keeps its precision), other numbers keep their type.
fn whole(binding: &Binding<'_>) -> Returns {
    match binding.types.first() {
        Some(DataType::Decimal128(p, s)) if *s > 0 => Ok(DataType::Decimal128(*p, 0)),
        _ => types::as_first(binding),
    }
}

fn to_whole(call: &Call<'_>, up: bool) -> Result<ArrayRef> {
    let source = call.array(0)?;
    Ok(match source.data_type() {
        DataType::Float32 => {
            let f = if up { f32::ceil } else { f32::floor };
            Arc::new(call.numbers::<Float32Type>(0)?.unary::<_, Float32Type>(f))
        }
        DataType::Float64 => {
            let f = if up { f64::ceil } else { f64::floor };
            Arc::new(call.doubles(0)?.unary::<_, Float64Type>(f))
        }
        DataType::Decimal128(p, s) if *s > 0 => {
            let unit = 10i128.pow(u32::from(s.unsigned_abs()));
            let values = call.numbers::<Decimal128Type>(0)?.unary::<_, Decimal128Type>(|v| {
                let floor = v.div_euclid(unit);
                if up && v.rem_euclid(unit) != 0 { floor + 1 } else { floor }
            });
            Arc::new(values.with_precision_and_scale(*p, 0)?)
        }
        _ => source,
    })
}

/// The digits are an integer, or the text of an integer literal (`plan::ast_passes`).
fn number_and_digits(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [number, DataType::Utf8] => Ok([
            types::signature(&[number.clone(), DataType::Int32], &[Arg::Number, Arg::Int], 2)?.remove(0),
            DataType::Utf8,
        ]
        .into()),
        args => types::signature(args, &[Arg::Number, Arg::Int], 1),
    }
}

/// `LogicalTypeMerging.findRoundDecimalType`; a number of digits that is not constant keeps the type.
fn rounded(binding: &Binding<'_>) -> Returns {
    let first = types::as_first(binding)?;
    let DataType::Decimal128(p, s) = first else { return Ok(first) };
    let digits = match binding.types.get(1) {
        None => 0,
        Some(DataType::Utf8) => literal(binding.text(1))?,
        Some(_) => return Ok(first),
    };
    let (precision, scale) = (i64::from(p), i64::from(s));
    Ok(if digits >= scale {
        first
    } else if digits < 0 {
        DataType::Decimal128((1 + precision - scale).min(38) as u8, 0)
    } else {
        DataType::Decimal128((1 + precision - scale + digits).min(38) as u8, digits as i8)
    })
}

fn literal(digits: Option<&str>) -> std::result::Result<i64, String> {
    digits.and_then(|d| d.parse().ok()).ok_or_else(|| "takes a number of digits".to_string())
}

/// ROUND (HALF_UP) and TRUNCATE. Results that their type cannot hold: integers wrap as in Java, DECIMAL is refused.
fn to_digits(call: &Call<'_>, half_up: bool) -> Result<ArrayRef> {
    let (mut column, mut constant) = (None, 0);
    if call.arg_count() > 1 {
        match call.array(1)?.data_type() {
            DataType::Utf8 => match literal(call.texts(1)?.get(0)) {
                Ok(digits) => constant = digits,
                Err(_) if call.rows == 0 => {}
                Err(_) => return call.internal("lost its digits"),
            },
            _ => column = Some(call.longs(1)?),
        }
    }
    let digits = |i: usize| column.as_ref().map_or(Some(constant), |d| at(d, i));
    macro_rules! integers {
        ($t:ty, $native:ty) => {{
            let a = call.numbers::<$t>(0)?;
            call.primitive_rows::<$t>(|i| {
                rounding::integer(i128::from(at(&a, i)?), digits(i)?, half_up).map(|v| v as $native)
            })
        }};
    }
    Ok(match call.returns {
        DataType::Int8 => integers!(Int8Type, i8),
        DataType::Int16 => integers!(Int16Type, i16),
        DataType::Int32 => integers!(Int32Type, i32),
        DataType::Int64 => integers!(Int64Type, i64),
        DataType::Float32 => {
            let a = call.numbers::<Float32Type>(0)?;
            call.primitive_rows::<Float32Type>(|i| Some(rounding::float(at(&a, i)?, digits(i)?, half_up)))
        }
        DataType::Float64 => {
            let a = call.doubles(0)?;
            call.primitive_rows::<Float64Type>(|i| Some(rounding::double(at(&a, i)?, digits(i)?, half_up)))
        }
        DataType::Decimal128(p, s) => return decimals(call, *p, *s, digits, half_up),
        _ => return call.internal("was planned for another type"),
    })
}

fn decimals(
    call: &Call<'_>,
    precision: u8,
    scale: i8,
    digits: impl Fn(usize) -> Option<i64>,
    half_up: bool,
) -> Result<ArrayRef> {
    let source = call.numbers::<Decimal128Type>(0)?;
    let from = i64::from(source.scale());
    let limit = 10i128.pow(u32::from(precision)).unsigned_abs();
    let fit = |value: i128, digits: i64| {
        let rounded = rounding::integer(value, digits - from, half_up)?;
        // From the source's scale to the result's.
        let shift = i64::from(scale) - from;
        let unit = 10i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
        let result = if shift >= 0 { rounded.checked_mul(unit)? } else { rounded / unit };
        (result.unsigned_abs() < limit).then_some(result)
    };
    let values: Decimal128Array = (0..call.rows)
        .map(|i| {
            let (value, digits) = (at(&source, i)?, digits(i)?);
            let result = fit(value, digits.min(from));
            if result.is_none() {
                call.fail(i, Reason::Arithmetic, "the rounded value is out of range");
            }
            result
        })
        .collect();
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

fn no_seed(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    if args.is_empty() {
        return Ok(vec![]);
    }
    Err("takes no arguments: a seed is not supported yet".to_string())
}

/// Random bytes for every row.
fn random<const N: usize>(call: &Call<'_>) -> Result<Vec<[u8; N]>> {
    let mut bytes = vec![0; N * call.rows];
    if getrandom::fill(&mut bytes).is_err() {
        return call.internal("got no random numbers from the system");
    }
    Ok(bytes.chunks_exact(N).map(|c| std::array::from_fn(|i| c[i])).collect())
}

/// From 0 (inclusive) to 1 (exclusive): 53 random bits, as `Random.nextDouble`.
fn rand(call: &Call<'_>) -> Result<ArrayRef> {
    let bits = random::<8>(call)?;
    let unit = 1.0 / (1u64 << 53) as f64;
    Ok(call.primitive_rows::<Float64Type>(|i| Some((u64::from_le_bytes(bits[i]) >> 11) as f64 * unit)))
}

/// From 0 (inclusive) to the bound (exclusive); a bound below 1 refuses the row.
fn rand_integer(call: &Call<'_>) -> Result<ArrayRef> {
    let bounds = call.longs(0)?;
    let bits = random::<8>(call)?;
    Ok(call.primitive_rows::<Int32Type>(|i| {
        let bound = at(&bounds, i)?;
        if !(1..=i64::from(i32::MAX)).contains(&bound) {
            call.fail(i, Reason::Arithmetic, format!("the bound {bound} is not between 1 and {}", i32::MAX));
            return None;
        }
        Some((u64::from_le_bytes(bits[i]) % bound.unsigned_abs()) as i32)
    }))
}

/// A random (version 4) UUID.
fn uuid(call: &Call<'_>) -> Result<ArrayRef> {
    let bytes = random::<16>(call)?;
    call.text_rows(|i, out| {
        let mut b = bytes[i];
        b[6] = (b[6] & 0x0F) | 0x40;
        b[8] = (b[8] & 0x3F) | 0x80;
        for (at, byte) in b.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            std::fmt::Write::write_fmt(out, format_args!("{byte:02x}")).ok()?;
        }
        Some(())
    })
}
