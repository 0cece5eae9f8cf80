//! Gives back what it gets, in every type that the SDK knows; the host's tests compare.

use wasmill_guest::{Config, Date, Decimal, Row, Text, Time, Timestamp, TimestampLtz, formatter, scalar};

macro_rules! echo {
    ($($name:ident $ty:ty;)*) => {$(
        #[scalar]
        fn $name(value: $ty) -> $ty {
            value
        }
    )*};
}

echo! {
    echo_boolean bool;
    echo_tinyint i8;
    echo_smallint i16;
    echo_int i32;
    echo_bigint i64;
    echo_float f32;
    echo_double f64;
    echo_string String;
    echo_bytes Vec<u8>;
    echo_decimal Decimal<20, 4>;
    echo_date Date;
    echo_time Time;
    echo_timestamp Timestamp;
    echo_timestamp_ltz TimestampLtz;
    echo_option Option<i32>;
}

#[scalar]
fn echo_str(value: &str) -> &str {
    value
}

/// NULL counts as an empty text.
#[scalar]
fn len_or_zero(value: Option<&str>) -> i32 {
    value.map_or(0, |s| s.len() as i32)
}

/// An error for what is no number, NULL for 0.
#[scalar]
fn parse(value: &str) -> Result<Option<i64>, std::num::ParseIntError> {
    value.parse().map(|n| if n == 0 { None } else { Some(n) })
}

/// Panics at 13.
#[scalar]
fn unlucky(value: i64) -> i64 {
    assert!(value != 13, "thirteen is not served");
    value
}

#[scalar(name = "rowOf", nondeterministic)]
fn row_of(a: i64, b: &str) -> (i64, Option<String>) {
    (a, (!b.is_empty()).then(|| b.to_uppercase()))
}

/// Writes both parts of a ROW in place; refuses the empty text.
#[scalar]
fn halves(value: &str, first: &mut Text, second: &mut Text) -> Result<Option<()>, String> {
    match value {
        "" => Err("empty".into()),
        "null" => {
            first.push_str("dropped");
            Ok(None)
        }
        _ => {
            let middle = value.chars().count() / 2;
            value.chars().take(middle).for_each(|c| first.push(c));
            value.chars().skip(middle).for_each(|c| second.push(c));
            Ok(Some(()))
        }
    }
}

#[scalar]
fn option_of(name: &str, config: &Config) -> Option<String> {
    config.get(name).map(str::to_string)
}

#[scalar]
fn answer() -> i32 {
    42
}

/// `column=text` for every column; no record for a row whose first column is NULL, an error for 13.
#[formatter]
fn pairs(row: &Row, config: &Config) -> Result<Option<String>, String> {
    if row.is_null(0) {
        return Ok(None);
    }
    if row.get::<i64>(0) == Some(13) {
        return Err("13 is not written".into());
    }
    let separator = config.get("separator").unwrap_or(" ");
    let pairs: Vec<String> = (0..row.len()).map(|i| format!("{}={}", row.name(i), row.text(i))).collect();
    Ok(Some(format!("{:?}{separator}{}", row.kind(), pairs.join(separator))))
}

/// A second one, so that a table must say which.
#[formatter]
fn raw(row: &Row) -> Vec<u8> {
    vec![0xff; row.len()]
}
