//! Reads the type names that `LogicalType` prints, for the atomic types: how a CAST carries its target through the
//! planner, which would drop the length of CHAR and VARCHAR.

use crate::data::LogicalType;

/// The type that prints as `name`; None for anything else (nested types cannot be CAST targets).
pub fn parse(name: &str) -> Option<LogicalType> {
    let (head, arguments) = match name.split_once('(') {
        Some((head, rest)) => (head, numbers(rest.strip_suffix(')')?)?),
        None => (name, vec![]),
    };
    Some(match (head, arguments.as_slice()) {
        ("BOOLEAN", []) => LogicalType::Boolean,
        ("TINYINT", []) => LogicalType::TinyInt,
        ("SMALLINT", []) => LogicalType::SmallInt,
        ("INT", []) => LogicalType::Int,
        ("BIGINT", []) => LogicalType::BigInt,
        ("FLOAT", []) => LogicalType::Float,
        ("DOUBLE", []) => LogicalType::Double,
        ("DECIMAL", [p @ 1..=38, s]) if s <= p => LogicalType::Decimal(u8::try_from(*p).ok()?, u8::try_from(*s).ok()?),
        ("CHAR", [n]) => LogicalType::Char(*n),
        ("STRING", []) => LogicalType::STRING,
        ("VARCHAR", [n]) => LogicalType::Varchar(Some(*n)),
        ("BINARY", [n]) => LogicalType::Binary(*n),
        ("BYTES", []) => LogicalType::BYTES,
        ("VARBINARY", [n]) => LogicalType::Varbinary(Some(*n)),
        ("DATE", []) => LogicalType::Date,
        ("TIME", [p @ 0..=9]) => LogicalType::Time(u8::try_from(*p).ok()?),
        ("TIMESTAMP", [p @ 0..=9]) => LogicalType::Timestamp(u8::try_from(*p).ok()?),
        ("TIMESTAMP_LTZ", [p @ 0..=9]) => LogicalType::TimestampLtz(u8::try_from(*p).ok()?),
        _ => return None,
    })
}

fn numbers(list: &str) -> Option<Vec<u32>> {
    list.split(',').map(|n| n.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_every_atomic_type_that_is_printed() {
        let types = [
            LogicalType::Boolean,
            LogicalType::TinyInt,
            LogicalType::SmallInt,
            LogicalType::Int,
            LogicalType::BigInt,
            LogicalType::Float,
            LogicalType::Double,
            LogicalType::Decimal(38, 18),
            LogicalType::Char(3),
            LogicalType::STRING,
            LogicalType::Varchar(Some(20)),
            LogicalType::Binary(4),
            LogicalType::BYTES,
            LogicalType::Varbinary(Some(7)),
            LogicalType::Date,
            LogicalType::Time(0),
            LogicalType::Timestamp(3),
            LogicalType::TimestampLtz(9),
        ];
        for t in types {
            assert_eq!(parse(&t.to_string()), Some(t));
        }
    }

    #[test]
    fn refuses_what_is_no_atomic_type() {
        for name in [
            "",
            "INT(",
            "DECIMAL(1)",
            "ARRAY<INT>",
            "CHAR(x)",
            "DECIMAL(300, 0)",
            "DECIMAL(39, 0)",
            "DECIMAL(2, 3)",
            "TIMESTAMP(10)",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
