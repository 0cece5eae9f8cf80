//! The types that CAST and literals name, from the syntax tree.

use crate::data::LogicalType;
use sqlparser::ast as sp;

/// The type that a CAST names; None for one that we do not have.
pub fn logical_type(t: &sp::DataType) -> Option<LogicalType> {
    use sp::DataType as D;
    Some(match t {
        D::Boolean | D::Bool => LogicalType::Boolean,
        D::TinyInt(_) => LogicalType::TinyInt,
        D::SmallInt(_) | D::Int16 => LogicalType::SmallInt,
        D::Int(_) | D::Integer(_) | D::Int32 => LogicalType::Int,
        D::BigInt(_) | D::Int64 => LogicalType::BigInt,
        D::Float(_) | D::Real => LogicalType::Float,
        D::Double(_) | D::DoublePrecision => LogicalType::Double,
        D::Decimal(info) | D::Dec(info) | D::Numeric(info) => decimal(info)?,
        D::Char(n) | D::Character(n) => LogicalType::Char(length(n)?.unwrap_or(1)),
        D::Varchar(n) | D::CharVarying(n) | D::CharacterVarying(n) => {
            // Flink's VARCHAR without a length is VARCHAR(1); flinkStreamSQL and everyone else mean STRING.
            LogicalType::Varchar(length(n)?)
        }
        D::String(_) | D::Text => LogicalType::STRING,
        D::Binary(n) => LogicalType::Binary(n.map_or(Some(1), |n| u32::try_from(n).ok())?),
        D::Varbinary(n) => match n {
            None | Some(sp::BinaryLength::Max) => LogicalType::BYTES,
            Some(sp::BinaryLength::IntegerLength { length }) => {
                LogicalType::Varbinary(Some(u32::try_from(*length).ok()?))
            }
        },
        D::Bytes(_) => LogicalType::BYTES,
        D::Date => LogicalType::Date,
        D::Time(p, sp::TimezoneInfo::None | sp::TimezoneInfo::WithoutTimeZone) => LogicalType::Time(digits(*p, 0)?),
        D::Timestamp(p, sp::TimezoneInfo::None | sp::TimezoneInfo::WithoutTimeZone) => {
            LogicalType::Timestamp(digits(*p, 6)?)
        }
        D::Custom(name, args) => custom(&name.to_string(), args)?,
        _ => return None,
    })
}

/// Names that the parser has no variant for.
fn custom(name: &str, args: &[String]) -> Option<LogicalType> {
    let number = match args {
        [] => None,
        [n] => Some(n.trim().parse::<u64>().ok()?),
        _ => return None,
    };
    match name.to_ascii_uppercase().as_str() {
        "STRING" => Some(LogicalType::STRING),
        "BYTES" => Some(LogicalType::BYTES),
        "TIMESTAMP_LTZ" => Some(LogicalType::TimestampLtz(digits(number, 6)?)),
        _ => None,
    }
}

fn digits(precision: Option<u64>, default: u8) -> Option<u8> {
    match precision {
        None => Some(default),
        Some(p) => u8::try_from(p).ok().filter(|p| *p <= 9),
    }
}

fn decimal(info: &sp::ExactNumberInfo) -> Option<LogicalType> {
    let (p, s) = match info {
        sp::ExactNumberInfo::None => (10, 0),
        sp::ExactNumberInfo::Precision(p) => (*p, 0),
        sp::ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    let (p, s) = (u8::try_from(p).ok()?, u8::try_from(s).ok()?);
    ((1..=38).contains(&p) && s <= p).then_some(LogicalType::Decimal(p, s))
}

/// Outer None: not a length in characters that we can hold.
fn length(n: &Option<sp::CharacterLength>) -> Option<Option<u32>> {
    match n {
        None | Some(sp::CharacterLength::Max) => Some(None),
        Some(sp::CharacterLength::IntegerLength { length, unit: _ }) => u32::try_from(*length).ok().map(Some),
    }
}
