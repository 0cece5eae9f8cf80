//! Values to text in Flink's form (Java's, mostly), and the lengths of CHAR(n), VARCHAR(n), BINARY(n).

use super::temporal::{self, Moment};
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, GenericByteArray, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use chrono::{Datelike, NaiveDateTime, Timelike};
use chrono_tz::Tz;
use std::fmt::Write as _;

/// Text of every value of an atomic column; `zone` is the one in which TIMESTAMP_LTZ is shown.
pub(in crate::expr) fn column(source: &ArrayRef, zone: Tz) -> Result<StringArray, ArrowError> {
    macro_rules! display {
        ($t:ty) => {{
            let a = source.as_primitive::<$t>();
            build(a.len(), a.nulls(), |i, out| {
                let _ = write!(out, "{}", a.value(i));
            })
        }};
    }
    match source.data_type() {
        DataType::Int8 => display!(Int8Type),
        DataType::Int16 => display!(Int16Type),
        DataType::Int32 => display!(Int32Type),
        DataType::Int64 => display!(Int64Type),
        DataType::Float32 => {
            let a = source.as_primitive::<Float32Type>();
            build(a.len(), a.nulls(), |i, out| {
                let v = a.value(i);
                java_float(format_args!("{v:e}"), f64::from(v), out);
            })
        }
        DataType::Float64 => {
            let a = source.as_primitive::<Float64Type>();
            build(a.len(), a.nulls(), |i, out| double(a.value(i), out))
        }
        DataType::Decimal128(_, scale) => {
            let (a, scale) = (source.as_primitive::<Decimal128Type>(), scale.unsigned_abs());
            build(a.len(), a.nulls(), |i, out| decimal(a.value(i), scale, out))
        }
        DataType::Boolean => {
            // Upper case, as `BooleanToStringCastRule` and Calcite before it.
            let a = source.as_boolean();
            build(a.len(), a.nulls(), |i, out| out.push_str(if a.value(i) { "TRUE" } else { "FALSE" }))
        }
        DataType::Binary => {
            // Java's `new String(bytes, UTF_8)`: what is no UTF-8 becomes U+FFFD.
            let a = source.as_binary::<i32>();
            build(a.len(), a.nulls(), |i, out| out.push_str(&String::from_utf8_lossy(a.value(i))))
        }
        DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => {
            temporal_text(source, zone)
        }
        other => Err(ArrowError::CastError(format!("no text form of {other}"))),
    }
}

fn temporal_text(source: &ArrayRef, zone: Tz) -> Result<StringArray, ArrowError> {
    let moments = temporal::moments(source, zone)?;
    build(source.len(), source.nulls(), |i, out| match moments.at(i) {
        Some(Moment::Date(d)) => date(d.year(), d.month(), d.day(), out),
        Some(Moment::Time(t)) => {
            clock(&t, out);
            time_fraction(t.nanosecond(), moments.digits(), out);
        }
        Some(Moment::DateTime(t)) => timestamp(&t, moments.digits(), out),
        None => out.push_str("(out of range)"),
    })
}

/// `yyyy-MM-dd HH:mm:ss` and exactly `digits` digits of fraction, more where they are not zero.
pub(in crate::expr) fn timestamp(t: &NaiveDateTime, digits: usize, out: &mut String) {
    date(t.year(), t.month(), t.day(), out);
    out.push(' ');
    clock(t, out);
    push_fraction(t.nanosecond(), digits, out);
}

/// The point and the digits of a fraction: `least` of them, more where they are not zero.
fn push_fraction(nanos: u32, least: usize, out: &mut String) {
    let (mut rest, mut shown) = (nanos, 9);
    while shown > least && rest.is_multiple_of(10) {
        rest /= 10;
        shown -= 1;
    }
    if shown > 0 {
        out.push('.');
        pad(rest, shown, out);
    }
}

fn clock(t: &impl Timelike, out: &mut String) {
    pad(t.hour(), 2, out);
    out.push(':');
    pad(t.minute(), 2, out);
    out.push(':');
    pad(t.second(), 2, out);
}

/// A number with zeros in front, at least `width` digits: `{:0width$}`, without its cost.
pub(in crate::expr) fn pad(value: u32, width: usize, out: &mut String) {
    let mut digits = [b'0'; 10];
    let (mut rest, mut start) = (value, digits.len());
    while rest > 0 {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let shown = &digits[start.min(digits.len() - width.min(digits.len()))..];
    out.push_str(std::str::from_utf8(shown).unwrap_or_default());
}

/// Flink's TIME text drops trailing zeros but keeps one digit where the type has a fraction.
fn time_fraction(nanos: u32, digits: usize, out: &mut String) {
    if digits > 0 {
        let cut = 10u32.pow(9 - digits as u32);
        push_fraction(nanos / cut * cut, 1, out);
    }
}

fn date(year: i32, month: u32, day: u32, out: &mut String) {
    match u32::try_from(year) {
        Ok(year) => pad(year, 4, out),
        Err(_) => {
            let _ = write!(out, "{year:05}");
        }
    }
    out.push('-');
    pad(month, 2, out);
    out.push('-');
    pad(day, 2, out);
}

/// `BigDecimal.toPlainString`.
pub(super) fn decimal(unscaled: i128, scale: u8, out: &mut String) {
    let digits = unscaled.unsigned_abs().to_string();
    if unscaled < 0 {
        out.push('-');
    }
    let scale = usize::from(scale);
    if scale == 0 {
        out.push_str(&digits);
        return;
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    out.push_str(whole);
    out.push('.');
    out.push_str(fraction);
}

/// `Double.toString`.
pub(in crate::expr) fn double(value: f64, out: &mut String) {
    java_float(format_args!("{value:e}"), value, out);
}

/// Java's text of a floating-point number, from its shortest scientific form: plain with at least one digit after the
/// point from 10^-3 to 10^7, else `1.0E10`.
fn java_float(shortest: std::fmt::Arguments<'_>, value: f64, out: &mut String) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    if value == 0.0 {
        return out.push_str(if value.is_sign_negative() { "-0.0" } else { "0.0" });
    }
    let text = shortest.to_string();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |m| ("-", m));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    out.push_str(sign);
    match exponent {
        -3..0 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
            out.push_str(&digits);
        }
        0..7 => {
            let whole = exponent as usize + 1;
            let padded = format!("{digits:0<width$}", width = whole + 1);
            out.push_str(&padded[..whole]);
            out.push('.');
            out.push_str(&padded[whole..]);
        }
        _ => {
            out.push_str(&digits[..1]);
            out.push('.');
            out.push_str(if digits.len() > 1 { &digits[1..] } else { "0" });
            let _ = write!(out, "E{exponent}");
        }
    }
}

/// Builds a text column; rows that are NULL in `nulls` stay NULL.
pub(in crate::expr) fn build(
    len: usize,
    nulls: Option<&NullBuffer>,
    mut append: impl FnMut(usize, &mut String),
) -> Result<StringArray, ArrowError> {
    let mut data = String::with_capacity(len * 8);
    let mut offsets = Vec::with_capacity(len + 1);
    offsets.push(0i32);
    for i in 0..len {
        if nulls.is_none_or(|n| n.is_valid(i)) {
            append(i, &mut data);
        }
        offsets.push(offset(data.len())?);
    }
    StringArray::try_new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(data.into_bytes()), nulls.cloned())
}

/// The end of a value in a text column.
pub(in crate::expr) fn offset(bytes: usize) -> Result<i32, ArrowError> {
    i32::try_from(bytes)
        .map_err(|_| ArrowError::ComputeError("the text of one batch is longer than 2 GiB; use smaller batches".into()))
}

/// The most blanks that CHAR(n) may add to a batch; a larger n is refused instead of filling the memory.
const PADDING_MAX: usize = 256 << 20;

/// Cuts to `max` characters; with `pad`, fills up with blanks to as many.
pub(super) fn fit(source: StringArray, max: u32, pad: bool) -> Result<StringArray, ArrowError> {
    let max = max as usize;
    if source.value_data().is_ascii()
        && !pad
        && source.value_offsets().windows(2).all(|w| (w[1] - w[0]) as usize <= max)
    {
        return Ok(source);
    }
    if pad && max.saturating_mul(source.len()) > PADDING_MAX {
        return Err(ArrowError::ComputeError(format!("CHAR({max}) would fill this batch with too many blanks")));
    }
    build(source.len(), source.nulls(), |i, out| {
        let text = source.value(i);
        let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
        out.push_str(&text[..end]);
        if pad {
            out.extend(std::iter::repeat_n(' ', max - text[..end].chars().count()));
        }
    })
}

/// As [`fit`] for bytes; `pad` fills with zeros.
pub(super) fn fit_bytes(source: &BinaryArray, max: u32, pad: bool) -> Result<BinaryArray, ArrowError> {
    let max = max as usize;
    if pad && max.saturating_mul(source.len()) > PADDING_MAX {
        return Err(ArrowError::ComputeError(format!("BINARY({max}) would fill this batch with too many zeros")));
    }
    let mut data = Vec::new();
    let mut offsets = vec![0i32];
    for i in 0..source.len() {
        if source.is_valid(i) {
            let value = source.value(i);
            let kept = value.len().min(max);
            data.extend_from_slice(&value[..kept]);
            if pad {
                data.resize(data.len() + max - kept, 0);
            }
        }
        offsets.push(offset(data.len())?);
    }
    GenericByteArray::try_new(
        OffsetBuffer::new(ScalarBuffer::from(offsets)),
        Buffer::from_vec(data),
        source.nulls().cloned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn java(value: f64) -> String {
        let mut out = String::new();
        double(value, &mut out);
        out
    }

    #[test]
    fn doubles_print_as_in_java() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (100.0, "100.0"),
            (1234567.0, "1234567.0"),
            (9999999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (1e10, "1.0E10"),
            (123456789.25, "1.2345678925E8"),
            (0.001, "0.001"),
            (0.0012, "0.0012"),
            (0.000999, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(java(value), text);
        }
    }

    #[test]
    fn decimals_print_plainly() {
        for (value, scale, text) in [
            (1050, 2, "10.50"),
            (-5, 2, "-0.05"),
            (0, 3, "0.000"),
            (7, 0, "7"),
            (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        ] {
            let mut out = String::new();
            decimal(value, scale, &mut out);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn fit_counts_characters_not_bytes() {
        let source = StringArray::from(vec![Some("数据é"), Some("a"), None]);
        let cut = fit(source.clone(), 2, false).unwrap();
        assert_eq!(cut, StringArray::from(vec![Some("数据"), Some("a"), None]));
        let padded = fit(source, 2, true).unwrap();
        assert_eq!(padded, StringArray::from(vec![Some("数据"), Some("a "), None]));
    }
}
