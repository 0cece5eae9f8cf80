//! Option values: text to typed value, with messages that show the expected form.

use super::options::{OptionType, OptionValue};
use std::time::Duration;

/// Reads a value. The error says which form was expected; it never repeats the value, which may be a secret.
pub fn parse_value(kind: OptionType, text: &str) -> Result<OptionValue, String> {
    let trimmed = text.trim();
    match kind {
        OptionType::Text | OptionType::Prefix | OptionType::Ignored(_) => Ok(OptionValue::Text(text.to_string())),
        OptionType::Bool => parse_bool(trimmed),
        OptionType::Int { min, max } => parse_int(trimmed, min, max),
        OptionType::Float { min, max } => parse_float(trimmed, min, max),
        OptionType::Duration { bare } => parse_duration(trimmed, bare).map(OptionValue::Duration),
        OptionType::Size => size(trimmed).map(OptionValue::Size),
        OptionType::Enum(values) => values
            .iter()
            .find(|v| v.eq_ignore_ascii_case(trimmed))
            .map(|v| OptionValue::Text(v.to_string()))
            .ok_or_else(|| format!("one of {}", values.join(", "))),
        OptionType::List => Ok(OptionValue::List(split_list(text, &[',', '，']))),
        OptionType::ListBy(c) => Ok(OptionValue::List(split_list(text, &[c]))),
        OptionType::Char => parse_char(text).map(OptionValue::Char),
    }
}

fn parse_bool(text: &str) -> Result<OptionValue, String> {
    if text.eq_ignore_ascii_case("true") {
        Ok(OptionValue::Bool(true))
    } else if text.eq_ignore_ascii_case("false") {
        Ok(OptionValue::Bool(false))
    } else {
        Err("true or false".to_string())
    }
}

fn parse_int(text: &str, min: i64, max: i64) -> Result<OptionValue, String> {
    let n = text.parse::<i64>().ok().filter(|n| (min..=max).contains(n));
    n.map(OptionValue::Int).ok_or_else(|| match (min, max) {
        (i64::MIN, i64::MAX) => "an integer".to_string(),
        (min, i64::MAX) => format!("an integer of at least {min}"),
        (min, max) => format!("an integer from {min} to {max}"),
    })
}

fn parse_float(text: &str, min: f64, max: f64) -> Result<OptionValue, String> {
    let n = text.parse::<f64>().ok().filter(|n| (min..=max).contains(n));
    n.map(OptionValue::Float).ok_or_else(|| format!("a number from {min} to {max}"))
}

fn split_list(text: &str, separators: &[char]) -> Vec<String> {
    text.split(separators).map(str::trim).filter(|s| !s.is_empty()).map(str::to_string).collect()
}

/// The number in front and the unit behind it, in lower case.
fn number_and_unit(text: &str) -> Option<(u64, String)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim().to_lowercase()))
}

/// Flink's TimeUtils: a number and a unit.
fn parse_duration(text: &str, bare: Duration) -> Result<Duration, String> {
    const FORM: &str = "a duration such as 500 ms, 10 s, 5 min, 1 h";
    let (n, unit) = number_and_unit(text).ok_or(FORM)?;
    let nanos_per_unit: u128 = match unit.as_str() {
        "" => bare.as_nanos(),
        "d" | "day" | "days" => 86_400_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "min" | "m" | "minute" | "minutes" => 60_000_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
        "µs" | "us" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        _ => return Err(FORM.to_string()),
    };
    let nanos = u128::from(n) * nanos_per_unit;
    u64::try_from(nanos / 1_000_000_000)
        .map(|s| Duration::new(s, (nanos % 1_000_000_000) as u32))
        .map_err(|_| "a shorter duration".to_string())
}

/// Flink's Duration: `500 ms`, `10 s`, `1 h`; a number alone counts `bare`.
pub fn duration(text: &str, bare: Duration) -> Option<Duration> {
    parse_duration(text.trim(), bare).ok()
}

/// Flink's MemorySize in bytes: `512`, `64 kb`, `16 mb`; units are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    size(text.trim()).ok()
}

fn size(text: &str) -> Result<u64, String> {
    const FORM: &str = "a size such as 1024, 64 kb, 16 mb, 1 gb";
    let (n, unit) = number_and_unit(text).ok_or(FORM)?;
    let shift = match unit.as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kibibytes" => 10,
        "m" | "mb" | "mebibytes" => 20,
        "g" | "gb" | "gibibytes" => 30,
        "t" | "tb" | "tebibytes" => 40,
        _ => return Err(FORM.to_string()),
    };
    n.checked_mul(1 << shift).ok_or_else(|| "a smaller size".to_string())
}

/// One character, or one of `\t`, `\n`, `\r`, `\\`, `\u0001`, `U&'\0001'` (as a text, where SQL did not read it).
fn parse_char(text: &str) -> Result<char, String> {
    let one = |s: &str| {
        let mut chars = s.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    let hex = |s: &str| u32::from_str_radix(s, 16).ok().and_then(char::from_u32);
    let escaped = match text {
        "\\t" => Some('\t'),
        "\\n" => Some('\n'),
        "\\r" => Some('\r'),
        "\\\\" => Some('\\'),
        _ => text
            .strip_prefix("\\u")
            .or_else(|| text.strip_prefix("U&'\\").and_then(|t| t.strip_suffix('\'')))
            .filter(|digits| digits.len() == 4)
            .and_then(hex),
    };
    one(text).or(escaped).ok_or_else(|| "a single character such as , or \\t or \\u0001".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: OptionType = OptionType::Duration { bare: Duration::from_millis(1) };

    #[test]
    fn durations_take_flinks_units_and_bare_numbers() {
        for (text, ms) in
            [("60000", 60_000), ("10 s", 10_000), ("5min", 300_000), ("1 d", 86_400_000), (" 2 H ", 7_200_000)]
        {
            assert_eq!(parse_value(MS, text), Ok(OptionValue::Duration(Duration::from_millis(ms))), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "10 lightyears", "99999999999999999999"] {
            assert!(parse_value(MS, text).is_err(), "{text}");
        }
        assert!(parse_value(MS, &format!("{} d", u64::MAX)).is_err());
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_value(OptionType::Size, "16 mb"), Ok(OptionValue::Size(16 << 20)));
        assert_eq!(parse_value(OptionType::Size, "512"), Ok(OptionValue::Size(512)));
        assert!(parse_value(OptionType::Size, &format!("{}t", u64::MAX)).is_err());
    }

    #[test]
    fn lists_split_on_both_commas_and_are_trimmed() {
        let list = |v: &[&str]| Ok(OptionValue::List(v.iter().map(|s| s.to_string()).collect()));
        assert_eq!(parse_value(OptionType::List, "id，xx, y"), list(&["id", "xx", "y"]));
        assert_eq!(parse_value(OptionType::ListBy(';'), "a;b,c"), list(&["a", "b,c"]));
    }

    #[test]
    fn characters_may_be_escaped() {
        for (text, c) in [("|", '|'), ("\\t", '\t'), ("\\u0001", '\u{1}'), ("U&'\\0001'", '\u{1}'), ("，", '，')] {
            assert_eq!(parse_value(OptionType::Char, text), Ok(OptionValue::Char(c)), "{text}");
        }
        assert!(parse_value(OptionType::Char, "||").is_err());
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*", raw in proptest::collection::vec(proptest::prelude::any::<char>(), 0..20)) {
            let raw: String = raw.into_iter().collect();
            for text in [text.as_str(), raw.as_str()] {
                for kind in [
                    OptionType::Text, OptionType::Bool, OptionType::Int { min: 0, max: 5 },
                    OptionType::Float { min: 0.0, max: 1.0 }, MS, OptionType::Size, OptionType::Enum(&["a", "b"]),
                    OptionType::List, OptionType::ListBy(';'), OptionType::Char,
                ] {
                    let _ = parse_value(kind, text);
                }
                let _ = crate::diagnostic::redact(text);
            }
        }
    }
}
