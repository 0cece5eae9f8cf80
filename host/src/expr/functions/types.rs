//! Argument and result types: the building blocks of the function tables.

use super::Binding;
use crate::data::LogicalType;
use arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use std::sync::Arc;

type Coerced = Result<Vec<DataType>, String>;
type Returns = Result<DataType, String>;

/// Flink's name of a type, for messages.
pub fn name(t: &DataType) -> String {
    match t {
        DataType::List(f) => format!("ARRAY<{}>", name(f.data_type())),
        DataType::Null => "NULL".to_string(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".to_string(),
        _ => LogicalType::from_arrow(t).map_or_else(|| t.to_string(), |t| t.to_string()),
    }
}

fn names(types: &[DataType]) -> String {
    types.iter().map(name).collect::<Vec<_>>().join(", ")
}

pub fn is_integer(t: &DataType) -> bool {
    matches!(t, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
}

pub fn is_float(t: &DataType) -> bool {
    matches!(t, DataType::Float32 | DataType::Float64)
}

pub fn is_decimal(t: &DataType) -> bool {
    matches!(t, DataType::Decimal128(..))
}

pub fn is_numeric(t: &DataType) -> bool {
    is_integer(t) || is_float(t) || is_decimal(t)
}

pub fn is_text(t: &DataType) -> bool {
    matches!(t, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
}

pub fn is_temporal(t: &DataType) -> bool {
    matches!(t, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..))
}

/// What becomes text where a function wants text: everything atomic but bytes.
fn to_text(t: &DataType) -> Result<DataType, String> {
    if is_text(t) || is_numeric(t) || is_temporal(t) || matches!(t, DataType::Boolean | DataType::Null) {
        Ok(DataType::Utf8)
    } else {
        Err(format!("expects text, not {}", name(t)))
    }
}

fn count(types: &[DataType], range: std::ops::RangeInclusive<usize>) -> Result<(), String> {
    if range.contains(&types.len()) {
        return Ok(());
    }
    let (min, max) = (*range.start(), *range.end());
    let expected = if min == max { min.to_string() } else { format!("{min} to {max}") };
    Err(format!("expects {expected} arguments, not {} ({})", types.len(), names(types)))
}

/// What an argument has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// Text, or an atomic value's text.
    Text,
    /// Any integer type, as BIGINT.
    Int,
    /// Any number, as DOUBLE.
    Double,
    /// Any number as it is.
    Number,
    Boolean,
    Bytes,
    /// DATE, TIMESTAMP or TIMESTAMP_LTZ; text is read as TIMESTAMP(3).
    Moment,
    Array,
    Map,
    Any,
}

impl Arg {
    fn word(self) -> &'static str {
        match self {
            Arg::Text => "text",
            Arg::Int => "integer",
            Arg::Double | Arg::Number => "number",
            Arg::Boolean => "boolean",
            Arg::Bytes => "bytes",
            Arg::Moment => "date or timestamp",
            Arg::Array => "array",
            Arg::Map => "map",
            Arg::Any => "any value",
        }
    }

    /// The type that an argument of type `t` is cast to; None if it does not fit.
    fn accept(self, t: &DataType) -> Option<DataType> {
        let null = *t == DataType::Null;
        match self {
            Arg::Text => to_text(t).ok(),
            Arg::Int => (is_integer(t) || null).then_some(DataType::Int64),
            Arg::Double => (is_numeric(t) || null).then_some(DataType::Float64),
            Arg::Number if null => Some(DataType::Int32),
            Arg::Number => is_numeric(t).then(|| t.clone()),
            Arg::Boolean => (*t == DataType::Boolean || null).then_some(DataType::Boolean),
            Arg::Bytes => (*t == DataType::Binary || null).then_some(DataType::Binary),
            Arg::Moment => match t {
                DataType::Date32 | DataType::Timestamp(..) => Some(t.clone()),
                t if is_text(t) || null => Some(LogicalType::Timestamp(3).to_arrow()),
                _ => None,
            },
            Arg::Array => matches!(t, DataType::List(_)).then(|| t.clone()),
            Arg::Map => matches!(t, DataType::Map(..)).then(|| t.clone()),
            Arg::Any => Some(t.clone()),
        }
    }
}

/// Arguments of a fixed list, of which those from `required` on may be left out.
pub fn signature(types: &[DataType], takes: &[Arg], required: usize) -> Coerced {
    let shown = || {
        let word = |(i, a): (usize, &Arg)| if i < required { a.word().to_string() } else { format!("[{}]", a.word()) };
        takes.iter().enumerate().map(word).collect::<Vec<_>>().join(", ")
    };
    if !(required..=takes.len()).contains(&types.len()) {
        return Err(format!("takes ({}), not {} arguments ({})", shown(), types.len(), names(types)));
    }
    types
        .iter()
        .zip(takes)
        .enumerate()
        .map(|(i, (t, arg))| {
            arg.accept(t)
                .ok_or_else(|| format!("takes ({}), not ({}): argument {} does not fit", shown(), names(types), i + 1))
        })
        .collect()
}

/// One number, as DOUBLE.
pub fn one_double(types: &[DataType]) -> Coerced {
    signature(types, &[Arg::Double], 1)
}

/// Two texts.
pub fn two_texts(types: &[DataType]) -> Coerced {
    signature(types, &[Arg::Text, Arg::Text], 2)
}

/// No arguments.
pub fn none(types: &[DataType]) -> Coerced {
    count(types, 0..=0)?;
    Ok(vec![])
}

/// One text.
pub fn one_text(types: &[DataType]) -> Coerced {
    count(types, 1..=1)?;
    types.iter().map(to_text).collect()
}

/// One or two texts.
pub fn one_or_two_texts(types: &[DataType]) -> Coerced {
    count(types, 1..=2)?;
    types.iter().map(to_text).collect()
}

/// One text or more.
pub fn texts(types: &[DataType]) -> Coerced {
    if types.is_empty() {
        return Err("expects at least one argument".to_string());
    }
    types.iter().map(to_text).collect()
}

/// Text, a position, a length if any.
pub fn text_and_positions(types: &[DataType]) -> Coerced {
    count(types, 2..=3)?;
    let mut coerced = vec![to_text(&types[0])?];
    for t in &types[1..] {
        if !is_integer(t) && !matches!(t, DataType::Null) {
            return Err(format!("expects integers for position and length, not {}", name(t)));
        }
        coerced.push(DataType::Int64);
    }
    Ok(coerced)
}

/// One number.
pub fn one_number(types: &[DataType]) -> Coerced {
    count(types, 1..=1)?;
    match &types[0] {
        t if is_numeric(t) => Ok(vec![t.clone()]),
        DataType::Null => Ok(vec![DataType::Int32]),
        t => Err(format!("expects a number, not {}", name(t))),
    }
}

/// All of one type, the common one.
pub fn common(types: &[DataType]) -> Coerced {
    let Some(first) = types.first() else { return Err("expects at least one argument".to_string()) };
    let common = types[1..].iter().try_fold(first.clone(), |a, b| merge(&a, b));
    match common {
        Some(t) => Ok(vec![t; types.len()]),
        None => Err(format!("the arguments have no common type ({})", names(types))),
    }
}

/// The least type that holds the values of both (Calcite's `leastRestrictive`, `LogicalTypeMerging.findCommonType`).
pub fn merge(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, t) | (t, Null) => t.clone(),
        (a, b) if is_text(a) && is_text(b) => Utf8,
        (a, b) if is_integer(a) && is_integer(b) => wider(a, b),
        (a, b) if is_numeric(a) && is_numeric(b) => match (decimal_of(a), decimal_of(b)) {
            (Some((p1, s1)), Some((p2, s2))) => {
                let scale = s1.max(s2);
                Decimal128(((p1 - s1).max(p2 - s2) + scale).min(38), scale as i8)
            }
            _ if is_decimal(a) || is_decimal(b) || *a == Float64 || *b == Float64 => Float64,
            _ => Float32,
        },
        (Timestamp(u, tz), Timestamp(v, tz2)) if tz.is_some() == tz2.is_some() => Timestamp(finer(*u, *v), tz.clone()),
        (Date32, t @ Timestamp(_, None)) | (t @ Timestamp(_, None), Date32) => t.clone(),
        _ => return None,
    })
}

/// Of two integer types, the one with more bits.
pub fn wider(a: &DataType, b: &DataType) -> DataType {
    let bits = |t: &DataType| t.primitive_width().unwrap_or(0);
    if bits(a) >= bits(b) { a.clone() } else { b.clone() }
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let rank = |u| match u {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if rank(a) >= rank(b) { a } else { b }
}

/// Precision and scale of an exact number; integers are decimals of their widest value.
pub fn decimal_of(t: &DataType) -> Option<(u8, u8)> {
    Some(match t {
        DataType::Int8 => (3, 0),
        DataType::Int16 => (5, 0),
        DataType::Int32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::Decimal128(p, s) => (*p, u8::try_from(*s).ok()?),
        _ => return None,
    })
}

/// The result is text.
pub fn text(_: &Binding<'_>) -> Returns {
    Ok(DataType::Utf8)
}

/// The result is INT.
pub fn int(_: &Binding<'_>) -> Returns {
    Ok(DataType::Int32)
}

/// The result is BIGINT.
pub fn bigint(_: &Binding<'_>) -> Returns {
    Ok(DataType::Int64)
}

/// The result is DOUBLE.
pub fn double(_: &Binding<'_>) -> Returns {
    Ok(DataType::Float64)
}

/// The result is BOOLEAN.
pub fn boolean(_: &Binding<'_>) -> Returns {
    Ok(DataType::Boolean)
}

/// The result is BYTES.
pub fn bytes(_: &Binding<'_>) -> Returns {
    Ok(DataType::Binary)
}

/// The layout of an array of `element`.
pub fn array_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", element, true)))
}

/// The layout of a map.
pub fn map_of(key: DataType, value: DataType) -> DataType {
    let entry = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry), false)), false)
}

/// The result is ARRAY<STRING>.
pub fn text_array(_: &Binding<'_>) -> Returns {
    Ok(array_of(DataType::Utf8))
}

/// The element type of an array.
pub fn element(t: &DataType) -> Option<&DataType> {
    match t {
        DataType::List(f) => Some(f.data_type()),
        _ => None,
    }
}

/// Key and value type of a map.
pub fn entry(t: &DataType) -> Option<(&DataType, &DataType)> {
    match t {
        DataType::Map(f, _) => match f.data_type() {
            DataType::Struct(kv) if kv.len() == 2 => Some((kv[0].data_type(), kv[1].data_type())),
            _ => None,
        },
        _ => None,
    }
}

/// The result has the type of the first argument.
pub fn as_first(binding: &Binding<'_>) -> Returns {
    binding.types.first().cloned().ok_or_else(|| "expects an argument".to_string())
}

/// TIMESTAMP(3).
pub fn timestamp_millis(_: &Binding<'_>) -> Returns {
    Ok(LogicalType::Timestamp(3).to_arrow())
}

/// TIMESTAMP_LTZ(3).
pub fn instant_millis(_: &Binding<'_>) -> Returns {
    Ok(LogicalType::TimestampLtz(3).to_arrow())
}

/// TIME(0).
pub fn time(_: &Binding<'_>) -> Returns {
    Ok(LogicalType::Time(0).to_arrow())
}

/// DATE.
pub fn date(_: &Binding<'_>) -> Returns {
    Ok(DataType::Date32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    #[test]
    fn common_types_are_flinks() {
        let cases = [
            (Int32, Int64, Some(Int64)),
            (Int32, Float32, Some(Float32)),
            (Int64, Decimal128(20, 2), Some(Decimal128(21, 2))),
            (Decimal128(10, 2), Decimal128(10, 4), Some(Decimal128(12, 4))),
            (Decimal128(10, 2), Float32, Some(Float64)),
            (Null, Utf8, Some(Utf8)),
            (Utf8, Int32, None),
            (Boolean, Int32, None),
            (
                Timestamp(TimeUnit::Second, Option::None),
                Timestamp(TimeUnit::Millisecond, Option::None),
                Some(Timestamp(TimeUnit::Millisecond, Option::None)),
            ),
        ];
        for (a, b, expected) in cases {
            assert_eq!(merge(&a, &b), expected, "{a} {b}");
            assert_eq!(merge(&b, &a), expected, "{b} {a}");
        }
    }
}
