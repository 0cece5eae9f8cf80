//! Values of a decoder into the types of the table's columns. Nothing is rounded or cut: what does not fit is an error.

use crate::{Date, Decimal, Time, Timestamp, TimestampLtz};
use wasmill_abi::Type;
use wasmill_abi::value::Value;

/// A value on its way into a column: what `NewRow::set` takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell(Form);

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Plain(Value),
    /// Unscaled value and scale.
    Decimal(i128, u8),
    Date(i32),
    /// Microseconds of a TIME, TIMESTAMP or TIMESTAMP_LTZ.
    Micros(i64),
}

macro_rules! cells {
    ($($ty:ty, $value:pat => $form:expr;)*) => {$(
        impl From<$ty> for Cell {
            fn from($value: $ty) -> Cell {
                Cell($form)
            }
        }
    )*};
}

cells! {
    bool, v => Form::Plain(Value::Bool(v));
    i8, v => Form::Plain(Value::Int(v.into()));
    i16, v => Form::Plain(Value::Int(v.into()));
    i32, v => Form::Plain(Value::Int(v.into()));
    i64, v => Form::Plain(Value::Int(v));
    u8, v => Form::Plain(Value::Int(v.into()));
    u16, v => Form::Plain(Value::Int(v.into()));
    u32, v => Form::Plain(Value::Int(v.into()));
    f32, v => Form::Plain(Value::Float(v));
    f64, v => Form::Plain(Value::Double(v));
    &str, v => Form::Plain(Value::Text(v.to_string()));
    String, v => Form::Plain(Value::Text(v));
    &[u8], v => Form::Plain(Value::Bytes(v.to_vec()));
    Vec<u8>, v => Form::Plain(Value::Bytes(v));
    Date, v => Form::Date(v.0);
    Time, v => Form::Micros(v.0);
    Timestamp, v => Form::Micros(v.0);
    TimestampLtz, v => Form::Micros(v.0);
    Value, v => Form::Plain(v);
}

impl<const P: u8, const S: u8> From<Decimal<P, S>> for Cell {
    fn from(v: Decimal<P, S>) -> Cell {
        Cell(Form::Decimal(v.0, S))
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(v: Option<T>) -> Cell {
        v.map_or(Cell(Form::Plain(Value::Null)), Into::into)
    }
}

/// The value as a value of the column's type.
pub fn fit(cell: Cell, ty: &Type) -> Result<Value, String> {
    match (cell.0, ty) {
        (Form::Plain(value), ty) => fit_plain(value, ty),
        (Form::Decimal(unscaled, scale), Type::Decimal { precision, scale: wanted }) => {
            rescale(unscaled, scale, *precision, *wanted).map(Value::Decimal)
        }
        (Form::Decimal(..), _) => Err("a decimal does not fit".into()),
        (Form::Date(days), Type::Date) => Ok(Value::Int(days.into())),
        (Form::Date(_), _) => Err("a date does not fit".into()),
        (Form::Micros(micros), Type::Time(p) | Type::Timestamp(p) | Type::TimestampLtz(p)) => from_micros(micros, *p),
        (Form::Micros(_), _) => Err("a time does not fit".into()),
    }
}

fn fit_plain(value: Value, ty: &Type) -> Result<Value, String> {
    Ok(match (value, ty) {
        (Value::Null, _) => Value::Null,
        (Value::Int(v), _) => return fit_integer(v, ty),
        (v @ Value::Bool(_), Type::Boolean)
        | (v @ Value::Float(_), Type::Float)
        | (v @ Value::Double(_), Type::Double)
        | (v @ Value::Text(_), Type::Char(_) | Type::Varchar(_))
        | (v @ Value::Bytes(_), Type::Binary(_) | Type::Varbinary(_)) => v,
        (Value::Float(v), Type::Double) => Value::Double(v.into()),
        (Value::Double(v), Type::Float) => Value::Float(v as f32),
        (Value::Decimal(v), Type::Decimal { precision, scale }) => {
            Value::Decimal(rescale(v, *scale, *precision, *scale)?)
        }
        (Value::List(items), Type::Array(item)) => {
            Value::List(items.into_iter().map(|v| fit_plain(v, &item.ty)).collect::<Result<_, _>>()?)
        }
        (Value::Map(entries), Type::Map(kv)) => {
            let entry = |(k, v)| match fit_plain(k, &kv.0.ty)? {
                Value::Null => Err("a key of a MAP is NULL".to_string()),
                key => Ok((key, fit_plain(v, &kv.1.ty)?)),
            };
            Value::Map(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
        (Value::Row(members), Type::Row(fields)) if members.len() == fields.len() => {
            let members = members.into_iter().zip(fields).map(|(v, f)| fit_plain(v, &f.ty));
            Value::Row(members.collect::<Result<_, _>>()?)
        }
        (other, _) => return Err(format!("{} does not fit", kind(&other))),
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bool(_) => "a boolean",
        Value::Int(_) => "an integer",
        Value::Float(_) | Value::Double(_) => "a floating point number",
        Value::Decimal(_) => "a decimal",
        Value::Text(_) => "a text",
        Value::Bytes(_) => "a byte string",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
        Value::Row(_) => "a row",
    }
}

fn fit_integer(v: i64, ty: &Type) -> Result<Value, String> {
    let (min, max) = match ty {
        Type::TinyInt => (i8::MIN.into(), i8::MAX.into()),
        Type::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        Type::Int => (i32::MIN.into(), i32::MAX.into()),
        Type::BigInt => (i64::MIN, i64::MAX),
        Type::Float => return Ok(Value::Float(v as f32)),
        Type::Double => return Ok(Value::Double(v as f64)),
        Type::Decimal { precision, scale } => return rescale(v.into(), 0, *precision, *scale).map(Value::Decimal),
        _ => return Err("an integer does not fit".into()),
    };
    if (min..=max).contains(&v) { Ok(Value::Int(v)) } else { Err(format!("{v} is out of range")) }
}

fn rescale(unscaled: i128, scale: u8, precision: u8, wanted: u8) -> Result<i128, String> {
    let too_long = || "a decimal with more digits than fit".to_string();
    let power = |n: u8| 10_i128.checked_pow(n.into()).ok_or_else(too_long);
    let value = if wanted >= scale {
        unscaled.checked_mul(power(wanted - scale)?).ok_or_else(too_long)?
    } else {
        let factor = power(scale - wanted)?;
        if unscaled % factor != 0 {
            return Err(too_long());
        }
        unscaled / factor
    };
    if value.unsigned_abs() < power(precision)?.unsigned_abs() { Ok(value) } else { Err(too_long()) }
}

/// In the wire's unit: microseconds up to 6 digits, nanoseconds beyond.
fn from_micros(micros: i64, precision: u8) -> Result<Value, String> {
    let value = if precision <= 6 { Some(micros) } else { micros.checked_mul(1000) };
    value.map(Value::Int).ok_or_else(|| "a point in time out of range".to_string())
}

/// A value from its text.
pub fn parse(text: &str, ty: &Type) -> Result<Value, String> {
    let bad = || {
        let shown: String = text.chars().take(64).collect();
        format!("'{shown}' does not fit")
    };
    let trimmed = text.trim();
    match ty {
        Type::Char(_) | Type::Varchar(_) => Ok(Value::Text(text.to_string())),
        Type::Binary(_) | Type::Varbinary(_) => Ok(Value::Bytes(text.as_bytes().to_vec())),
        Type::Boolean if trimmed.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
        Type::Boolean if trimmed.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
        Type::TinyInt | Type::SmallInt | Type::Int | Type::BigInt => {
            trimmed.parse().map_err(|_| bad()).and_then(|v| fit_integer(v, ty))
        }
        Type::Float => trimmed.parse().map(Value::Float).map_err(|_| bad()),
        Type::Double => trimmed.parse().map(Value::Double).map_err(|_| bad()),
        Type::Decimal { precision, scale } => {
            let (unscaled, written) = decimal(trimmed).ok_or_else(bad)?;
            rescale(unscaled, written, *precision, *scale).map(Value::Decimal)
        }
        Type::Date => date(trimmed).map(Value::Int).ok_or_else(bad),
        Type::Time(p) => from_micros(time(trimmed).ok_or_else(bad)?, *p),
        Type::Timestamp(p) | Type::TimestampLtz(p) => from_micros(timestamp(trimmed).ok_or_else(bad)?, *p),
        _ => Err(bad()),
    }
}

fn decimal(text: &str) -> Option<(i128, u8)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.trim_start_matches(['-', '+']);
    if whole.len() - digits.len() > 1 || digits.len() + fraction.len() == 0 || fraction.len() > 38 {
        return None;
    }
    if !digits.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let unscaled: i128 = format!("{digits}{fraction}").parse().ok()?;
    Some((if whole.starts_with('-') { -unscaled } else { unscaled }, fraction.len() as u8))
}

/// Digits only, at most `max`.
fn number(text: &str, max: usize) -> Option<i64> {
    let plain = (1..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Days since 1970 of `yyyy-MM-dd`.
fn date(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-');
    let (y, m, d) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let days = match m {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&d) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last one.
    let (y, m) = if m > 2 { (y, m - 3) } else { (y - 1, m + 9) };
    let (era, year) = (y.div_euclid(400), y.rem_euclid(400));
    Some(era * 146_097 + year * 365 + year / 4 - year / 100 + (153 * m + 2) / 5 + d - 1 - 719_468)
}

/// Microseconds since midnight of `HH:mm[:ss[.ffffff]]`.
fn time(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hour, minute, rest) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?, parts.next().unwrap_or("0"));
    let (second, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let micros = number(fraction, 6)? * 10_i64.pow(6 - fraction.len() as u32);
    let second = number(second, 2)?;
    let fits = hour < 24 && minute < 60 && second < 60;
    fits.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// Microseconds since 1970 of `yyyy-MM-dd HH:mm[:ss[.ffffff]]`, with a blank or a `T`; a final `Z` says UTC, which an
/// instant is in anyway.
fn timestamp(text: &str) -> Option<i64> {
    let (day, clock) = text.split_once([' ', 'T'])?;
    let micros = time(clock.strip_suffix('Z').unwrap_or(clock))?;
    date(day)?.checked_mul(86_400_000_000)?.checked_add(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, ty: &str) -> Result<Value, String> {
        parse(text, &ty.parse().unwrap())
    }

    #[test]
    fn texts_become_values_exactly_or_not_at_all() {
        assert_eq!(parsed("-7", "TINYINT"), Ok(Value::Int(-7)));
        assert_eq!(parsed("128", "TINYINT"), Err("128 is out of range".into()));
        assert_eq!(parsed("1.5", "INT"), Err("'1.5' does not fit".into()));
        assert_eq!(parsed("-1.50", "DECIMAL(5, 1)"), Ok(Value::Decimal(-15)));
        assert!(parsed("1.55", "DECIMAL(5, 1)").is_err() && parsed("12345", "DECIMAL(5, 1)").is_err());
        assert_eq!(parsed(" TRUE", "BOOLEAN"), Ok(Value::Bool(true)));
        assert_eq!(parsed("1970-01-02", "DATE"), Ok(Value::Int(1)));
        assert_eq!(parsed("2000-02-29", "DATE"), Ok(Value::Int(11_016)));
        assert_eq!(parsed("1969-12-31", "DATE"), Ok(Value::Int(-1)));
        assert!(parsed("1900-02-29", "DATE").is_err() && parsed("2020-13-01", "DATE").is_err());
        assert_eq!(parsed("23:59:59.5", "TIME(3)"), Ok(Value::Int(86_399_500_000)));
        assert_eq!(parsed("1970-01-01T00:00:01.25Z", "TIMESTAMP(3)"), Ok(Value::Int(1_250_000)));
        assert_eq!(parsed("1970-01-01 00:00:01", "TIMESTAMP(9)"), Ok(Value::Int(1_000_000_000)));
        assert!(parsed("x", "ARRAY<INT>").is_err());
    }

    #[test]
    fn values_are_widened_but_never_cut() {
        let fitted = |cell: Cell, ty: &str| fit(cell, &ty.parse().unwrap());
        assert_eq!(fitted(7_i32.into(), "BIGINT"), Ok(Value::Int(7)));
        assert_eq!(fitted(7_i32.into(), "DECIMAL(5, 2)"), Ok(Value::Decimal(700)));
        assert!(fitted(70_000_i64.into(), "SMALLINT").is_err() && fitted("7".into(), "INT").is_err());
        assert_eq!(fitted(Decimal::<5, 2>(150).into(), "DECIMAL(9, 4)"), Ok(Value::Decimal(15_000)));
        assert_eq!(fitted(Timestamp(5).into(), "TIMESTAMP(9)"), Ok(Value::Int(5000)));
        assert_eq!(fitted(None::<i32>.into(), "INT"), Ok(Value::Null));
        let list = Value::List(vec![Value::Int(1), Value::Int(300)]);
        assert_eq!(fitted(list.into(), "ARRAY<TINYINT>"), Err("300 is out of range".into()));
    }
}
