//! INTERVAL literals: `INTERVAL '1' DAY`, `INTERVAL '1-6' YEAR TO MONTH`, `INTERVAL '1 02:03:04.5' DAY TO SECOND`.

use sqlparser::ast::{self as sp, DateTimeField as F};

/// Months, or milliseconds; never both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    Months(i64),
    Millis(i64),
}

/// Reads a literal; an error says what is wrong with it.
pub fn read(interval: &sp::Interval) -> Result<Interval, String> {
    let sp::Interval { value, leading_field, leading_precision: _, last_field, fractional_seconds_precision: _ } =
        interval;
    let text = match value.as_ref() {
        sp::Expr::Value(v) => match &v.value {
            sp::Value::SingleQuotedString(text) => text.trim(),
            _ => return Err("the value of an INTERVAL stands in quotes: INTERVAL '10' SECOND".to_string()),
        },
        _ => return Err("the value of an INTERVAL stands in quotes: INTERVAL '10' SECOND".to_string()),
    };
    let Some(first) = leading_field.as_ref().and_then(rank) else {
        return Err(format!("INTERVAL '{text}' needs a unit: YEAR, MONTH, DAY, HOUR, MINUTE or SECOND"));
    };
    let last = match last_field {
        None => first,
        Some(last) => rank(last)
            .filter(|l| *l > first && same_family(first, *l))
            .ok_or_else(|| format!("INTERVAL '{text}' cannot go from {} to {last}", NAMES[first]))?,
    };
    let wrong = || {
        let form =
            if first == last { NAMES[first].to_string() } else { format!("{} TO {}", NAMES[first], NAMES[last]) };
        format!("INTERVAL '{text}' is no {form}")
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let total = parts(digits, first, last).ok_or_else(wrong)?;
    // Months and days are 32-bit numbers.
    if total / if first <= MONTH { 1 } else { SIZES[DAY] } > i64::from(i32::MAX) {
        return Err(format!("INTERVAL '{text}' is too long"));
    }
    let signed = if negative { -total } else { total };
    Ok(if first <= MONTH { Interval::Months(signed) } else { Interval::Millis(signed) })
}

const NAMES: [&str; 8] = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"];
/// Of each unit: months up to MONTH, milliseconds from WEEK on.
const SIZES: [i64; 8] = [12, 3, 1, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];
const YEAR: usize = 0;
const MONTH: usize = 2;
const DAY: usize = 4;
const SECOND: usize = 7;

fn rank(field: &F) -> Option<usize> {
    Some(match field {
        F::Year | F::Years => 0,
        F::Quarter => 1,
        F::Month | F::Months => 2,
        F::Week(None) | F::Weeks => 3,
        F::Day | F::Days => 4,
        F::Hour | F::Hours => 5,
        F::Minute | F::Minutes => 6,
        F::Second | F::Seconds => 7,
        _ => return None,
    })
}

/// Weeks and quarters stand alone.
fn same_family(first: usize, last: usize) -> bool {
    (first == YEAR && last == MONTH) || (first >= DAY && last <= SECOND)
}

fn parts(text: &str, first: usize, last: usize) -> Option<i64> {
    let units: Vec<usize> = if (first, last) == (YEAR, MONTH) { vec![YEAR, MONTH] } else { (first..=last).collect() };
    let mut rest = text;
    let mut total = 0i64;
    for (n, unit) in units.iter().enumerate() {
        let part = match units.get(n + 1) {
            Some(next) => {
                let separator = match (*unit, *next) {
                    (YEAR, _) => '-',
                    (DAY, _) => ' ',
                    _ => ':',
                };
                let (part, after) = rest.split_once(separator)?;
                rest = after.trim_start();
                part
            }
            None => rest,
        };
        let (whole, fraction) = match part.split_once('.') {
            Some((whole, fraction)) if *unit == SECOND => (whole, fraction),
            Some(_) => return None,
            None => (part, ""),
        };
        let limit = if n == 0 { i64::MAX } else { [0, 0, 11, 0, 0, 23, 59, 59][*unit] };
        let value = digits(whole)?;
        if value > limit {
            return None;
        }
        total = total.checked_add(value.checked_mul(SIZES[*unit])?)?.checked_add(millis(fraction)?)?;
    }
    Some(total)
}

fn digits(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Digits beyond the third are cut.
fn millis(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<3}")[..3].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::FlinkDialect;
    use sqlparser::parser::Parser;

    fn of(sql: &str) -> Result<Interval, String> {
        match Parser::new(&FlinkDialect).try_with_sql(sql).unwrap().parse_expr().unwrap() {
            sp::Expr::Interval(i) => read(&i),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn literals_are_months_or_milliseconds() {
        for (sql, expected) in [
            ("INTERVAL '10' SECOND", Interval::Millis(10_000)),
            ("INTERVAL '1.5' SECOND", Interval::Millis(1_500)),
            ("INTERVAL '-2' DAY", Interval::Millis(-172_800_000)),
            ("INTERVAL '1' WEEK", Interval::Millis(604_800_000)),
            ("INTERVAL '400' DAY(3)", Interval::Millis(34_560_000_000)),
            ("INTERVAL '1 02:03' DAY TO MINUTE", Interval::Millis(93_780_000)),
            ("INTERVAL '1 02:03:04.005' DAY TO SECOND(3)", Interval::Millis(93_784_005)),
            ("INTERVAL '1:30' MINUTE TO SECOND", Interval::Millis(90_000)),
            ("INTERVAL '2-6' YEAR TO MONTH", Interval::Months(30)),
            ("INTERVAL '1' QUARTER", Interval::Months(3)),
            ("INTERVAL '5' YEARS", Interval::Months(60)),
        ] {
            assert_eq!(of(sql), Ok(expected), "{sql}");
        }
    }

    #[test]
    fn what_is_no_interval_is_refused() {
        for (sql, what) in [
            ("INTERVAL '1'", "unit"),
            ("INTERVAL 1 DAY", "quotes"),
            ("INTERVAL 'x' DAY", "is no DAY"),
            ("INTERVAL '1' DAY TO HOUR", "is no DAY TO HOUR"),
            ("INTERVAL '1 25' DAY TO HOUR", "is no DAY TO HOUR"),
            ("INTERVAL '1' MONTH TO DAY", "cannot go from MONTH"),
            ("INTERVAL '1.5' HOUR", "is no HOUR"),
            ("INTERVAL '999999999' YEAR", "too long"),
        ] {
            assert!(of(sql).unwrap_err().contains(what), "{sql}");
        }
    }
}
