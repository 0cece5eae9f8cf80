//! Values as text, in Flink's form.

use wasmill_abi::value::{Value, get};
use wasmill_abi::{Column, Type};

pub fn show(column: &Column, row: usize) -> String {
    get(column, row).map_or(String::new(), |value| show_value(&column.field.ty, &value, true))
}

fn show_value(ty: &Type, value: &Value, top: bool) -> String {
    match (ty, value) {
        (_, Value::Null) => {
            if top {
                String::new()
            } else {
                "NULL".into()
            }
        }
        (_, Value::Bool(b)) => if *b { "TRUE" } else { "FALSE" }.into(),
        (Type::Date, Value::Int(days)) => show_date(*days),
        (Type::Time(p), Value::Int(v)) => show_time(*v, *p),
        (Type::Timestamp(p), Value::Int(v)) => show_timestamp(*v, *p),
        (Type::TimestampLtz(p), Value::Int(v)) => show_timestamp(*v, *p) + "Z",
        (_, Value::Int(v)) => v.to_string(),
        (_, Value::Float(v)) => format!("{v:?}"),
        (_, Value::Double(v)) => format!("{v:?}"),
        (Type::Decimal { scale, .. }, Value::Decimal(v)) => show_decimal(*v, usize::from(*scale)),
        (_, Value::Decimal(v)) => v.to_string(),
        (_, Value::Text(s)) => s.clone(),
        (_, Value::Bytes(b)) => b.iter().map(|x| format!("{x:02x}")).collect(),
        (Type::Array(item), Value::List(items)) => {
            format!("[{}]", join(items.iter().map(|v| show_value(&item.ty, v, false))))
        }
        (Type::Map(kv), Value::Map(entries)) => {
            let one = |(k, v): &(Value, Value)| {
                format!("{}={}", show_value(&kv.0.ty, k, false), show_value(&kv.1.ty, v, false))
            };
            format!("{{{}}}", join(entries.iter().map(one)))
        }
        (Type::Row(fields), Value::Row(members)) => {
            format!("({})", join(fields.iter().zip(members).map(|(f, v)| show_value(&f.ty, v, false))))
        }
        (_, other) => format!("{other:?}"),
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn show_decimal(unscaled: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// Gregorian date of a day count (the era algorithm of Howard Hinnant's `civil_from_days`).
fn show_date(days: i64) -> String {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Units of a second, and digits of it that the type shows.
fn unit(precision: u8) -> (i64, usize) {
    (if Type::counts_nanoseconds(precision) { 1_000_000_000 } else { 1_000_000 }, usize::from(precision))
}

fn show_time(value: i64, precision: u8) -> String {
    let (per_second, digits) = unit(precision);
    let seconds = value.div_euclid(per_second);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    if digits == 0 {
        return time;
    }
    let width = if per_second == 1_000_000 { 6 } else { 9 };
    let fraction = format!("{:0width$}", value.rem_euclid(per_second));
    format!("{time}.{}", &fraction[..digits.min(width)])
}

fn show_timestamp(value: i64, precision: u8) -> String {
    let day = unit(precision).0 * 86_400;
    format!("{} {}", show_date(value.div_euclid(day)), show_time(value.rem_euclid(day), precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_look_as_in_sql() {
        let show = |ty: &str, value: Value| show_value(&ty.parse().unwrap(), &value, true);
        assert_eq!(show("DECIMAL(5, 2)", Value::Decimal(-7)), "-0.07");
        assert_eq!(show("DECIMAL(5, 0)", Value::Decimal(123)), "123");
        assert_eq!(show("DATE", Value::Int(0)), "1970-01-01");
        assert_eq!(show("DATE", Value::Int(-719_162)), "0001-01-01");
        assert_eq!(show("DATE", Value::Int(19_782)), "2024-02-29");
        assert_eq!(show("TIMESTAMP(3)", Value::Int(-1000)), "1969-12-31 23:59:59.999");
        assert_eq!(show("TIMESTAMP(9)", Value::Int(1_385_683_200_000_000_001)), "2013-11-29 00:00:00.000000001");
        assert_eq!(show("TIME(0)", Value::Int(86_399_000_000)), "23:59:59");
        assert_eq!(show("ARRAY<INT>", Value::List(vec![Value::Int(1), Value::Null])), "[1, NULL]");
        assert_eq!(show("DOUBLE", Value::Double(1.0)), "1.0");
    }
}
