//! The host's types and the wire's, and which argument fits which parameter.

use crate::data::LogicalType;
use arrow::datatypes::DataType;
use wasmill_abi::{Field, Type, UNBOUNDED};

/// The wire's type of a SQL type.
pub(super) fn to_wire(ty: &LogicalType) -> Type {
    match ty {
        LogicalType::Boolean => Type::Boolean,
        LogicalType::TinyInt => Type::TinyInt,
        LogicalType::SmallInt => Type::SmallInt,
        LogicalType::Int => Type::Int,
        LogicalType::BigInt => Type::BigInt,
        LogicalType::Float => Type::Float,
        LogicalType::Double => Type::Double,
        LogicalType::Decimal(precision, scale) => Type::Decimal { precision: *precision, scale: *scale },
        LogicalType::Char(n) => Type::Char(*n),
        LogicalType::Varchar(n) => Type::Varchar(n.unwrap_or(UNBOUNDED)),
        LogicalType::Binary(n) => Type::Binary(*n),
        LogicalType::Varbinary(n) => Type::Varbinary(n.unwrap_or(UNBOUNDED)),
        LogicalType::Date => Type::Date,
        LogicalType::Time(p) => Type::Time(*p),
        LogicalType::Timestamp(p) => Type::Timestamp(*p),
        LogicalType::TimestampLtz(p) => Type::TimestampLtz(*p),
        LogicalType::Array(item) => Type::array(to_wire(item)),
        LogicalType::Map(key, value) => Type::map(to_wire(key), to_wire(value)),
        LogicalType::Row(fields) => {
            Type::Row(fields.iter().map(|(name, ty)| Field::new(name, to_wire(ty), true)).collect())
        }
    }
}

/// The SQL type of a wire type. NOT NULL within nested types is dropped: the host's nested fields are nullable.
pub(super) fn from_wire(ty: &Type) -> LogicalType {
    let bounded = |n: u32| (n != UNBOUNDED).then_some(n);
    match ty {
        Type::Boolean => LogicalType::Boolean,
        Type::TinyInt => LogicalType::TinyInt,
        Type::SmallInt => LogicalType::SmallInt,
        Type::Int => LogicalType::Int,
        Type::BigInt => LogicalType::BigInt,
        Type::Float => LogicalType::Float,
        Type::Double => LogicalType::Double,
        Type::Decimal { precision, scale } => LogicalType::Decimal(*precision, *scale),
        Type::Char(n) => LogicalType::Char(*n),
        Type::Varchar(n) => LogicalType::Varchar(bounded(*n)),
        Type::Binary(n) => LogicalType::Binary(*n),
        Type::Varbinary(n) => LogicalType::Varbinary(bounded(*n)),
        Type::Date => LogicalType::Date,
        Type::Time(p) => LogicalType::Time(*p),
        Type::Timestamp(p) => LogicalType::Timestamp(*p),
        Type::TimestampLtz(p) => LogicalType::TimestampLtz(*p),
        Type::Array(item) => LogicalType::Array(Box::new(from_wire(&item.ty))),
        Type::Map(kv) => LogicalType::Map(Box::new(from_wire(&kv.0.ty)), Box::new(from_wire(&kv.1.ty))),
        Type::Row(fields) => LogicalType::Row(fields.iter().map(|f| (f.name.clone(), from_wire(&f.ty))).collect()),
    }
}

/// How a type is called in messages: Flink's spelling.
pub(super) fn show(ty: &DataType) -> String {
    match LogicalType::from_arrow(ty) {
        Some(t) => t.to_string(),
        None if *ty == DataType::Null => "NULL".into(),
        None => format!("{ty}"),
    }
}

/// Whether an argument may stand where a parameter of this type is, with a cast that loses nothing that Flink's
/// implicit casts would not lose (Flink's LogicalTypeCasts, implicit rules): NULL to anything, numbers to wider
/// numbers, text to text, dates to timestamps.
pub(super) fn fits(argument: &DataType, parameter: &DataType) -> bool {
    use LogicalType as T;
    if argument == parameter || *argument == DataType::Null {
        return true;
    }
    let (Some(from), Some(to)) = (LogicalType::from_arrow(argument), LogicalType::from_arrow(parameter)) else {
        return false;
    };
    match (&from, &to) {
        (a, b) if a.is_text() && b.is_text() => true,
        (T::Binary(_) | T::Varbinary(_), T::Binary(_) | T::Varbinary(_)) => true,
        (T::Decimal(p, s), T::Decimal(q, t)) => t >= s && q - t >= p - s,
        (a, T::Decimal(q, t)) => integer_digits(a).is_some_and(|digits| q - t >= digits),
        (T::Decimal(..), T::Float | T::Double) => true,
        (a, b) if a.is_numeric() && b.is_numeric() => number_rank(a) <= number_rank(b),
        (T::Date, T::Timestamp(_) | T::TimestampLtz(_)) => true,
        (T::Timestamp(a), T::Timestamp(b))
        | (T::TimestampLtz(a), T::TimestampLtz(b))
        | (T::Timestamp(a), T::TimestampLtz(b))
        | (T::TimestampLtz(a), T::Timestamp(b))
        | (T::Time(a), T::Time(b)) => a <= b,
        _ => false,
    }
}

fn integer_digits(ty: &LogicalType) -> Option<u8> {
    Some(match ty {
        LogicalType::TinyInt => 3,
        LogicalType::SmallInt => 5,
        LogicalType::Int => 10,
        LogicalType::BigInt => 19,
        _ => return None,
    })
}

fn number_rank(ty: &LogicalType) -> u8 {
    match ty {
        LogicalType::TinyInt => 1,
        LogicalType::SmallInt => 2,
        LogicalType::Int => 3,
        LogicalType::BigInt => 4,
        LogicalType::Float => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(a: LogicalType, b: LogicalType) -> bool {
        fits(&a.to_arrow(), &b.to_arrow())
    }

    #[test]
    fn widening_fits_and_narrowing_does_not() {
        use LogicalType as T;
        assert!(fit(T::Int, T::BigInt) && fit(T::BigInt, T::Double) && fit(T::Int, T::Decimal(12, 2)));
        assert!(!fit(T::BigInt, T::Int) && !fit(T::Double, T::Float) && !fit(T::Int, T::Decimal(11, 2)));
        assert!(fit(T::Decimal(10, 2), T::Decimal(12, 4)) && !fit(T::Decimal(10, 2), T::Decimal(10, 4)));
        assert!(fit(T::Char(3), T::STRING) && !fit(T::Int, T::STRING) && !fit(T::STRING, T::Int));
        assert!(fit(T::Timestamp(3), T::Timestamp(6)) && !fit(T::Timestamp(9), T::Timestamp(3)));
        assert!(fits(&DataType::Null, &DataType::Int32));
    }

    #[test]
    fn types_survive_the_way_to_the_wire_and_back() {
        let row = LogicalType::Row(vec![
            ("a".into(), LogicalType::Array(Box::new(LogicalType::Decimal(10, 2)))),
            ("m".into(), LogicalType::Map(Box::new(LogicalType::STRING), Box::new(LogicalType::TimestampLtz(3)))),
        ]);
        assert_eq!(from_wire(&to_wire(&row)), row);
    }
}
