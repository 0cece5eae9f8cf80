//! Times from text and numbers, and back. Text is read and shown in the job's zone where the value is an instant.

use super::call::{Texts, at};
use super::time::{Patterns, VOLATILE, check_pattern, shifted, step, walls};
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::{LogicalType, Reason};
use crate::expr::cast::temporal::{datetime_of, number_of, parse_date, parse_timestamp, to_instant, to_wall_clock};
use crate::expr::clock;
use crate::expr::java_format::JavaFormat;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::*;
use chrono::{Datelike, NaiveDateTime};
use chrono_tz::Tz;
use datafusion_common::Result;
use std::fmt::Write as _;

const FALLIBLE: Builtin = Builtin { fallible: true, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "to_date", coerce: types::one_or_two_texts, returns: date_type, eval: to_date, ..FALLIBLE },
    Builtin { name: "from_unixtime", coerce: number_and_pattern, returns: text_type, eval: from_unixtime, ..FALLIBLE },
    Builtin { name: "unix_timestamp", returns: types::bigint, eval: unix_now, ..VOLATILE },
    Builtin {
        name: "$unix_timestamp",
        coerce: types::one_or_two_texts,
        returns: unix_type,
        eval: unix_timestamp,
        ..FALLIBLE
    },
    Builtin { name: "to_timestamp_ltz", coerce: ltz_args, returns: ltz_type, eval: to_timestamp_ltz, ..FALLIBLE },
    Builtin {
        name: "convert_tz",
        coerce: |t| types::signature(t, &[Arg::Text; 3], 3),
        returns: convert_type,
        eval: convert_tz,
        ..FALLIBLE
    },
    Builtin {
        name: "datediff",
        coerce: |t| types::signature(t, &[Arg::Moment; 2], 2),
        returns: types::int,
        eval: datediff,
        ..PURE
    },
    Builtin { name: "date_add", coerce: date_and_days, eval: |c| date_shift(c, 1), ..FALLIBLE },
    Builtin { name: "date_sub", coerce: date_and_days, eval: |c| date_shift(c, -1), ..FALLIBLE },
    Builtin { name: "timestampdiff", coerce: diff_args, returns: diff_type, eval: timestampdiff, ..PURE },
];

type Coerced = std::result::Result<Vec<DataType>, String>;
type Returns = std::result::Result<DataType, String>;

fn date_type(binding: &Binding<'_>) -> Returns {
    check_pattern(binding)?;
    types::date(binding)
}

fn text_type(binding: &Binding<'_>) -> Returns {
    check_pattern(binding)?;
    types::text(binding)
}

fn unix_type(binding: &Binding<'_>) -> Returns {
    check_pattern(binding)?;
    types::bigint(binding)
}

/// A reader of the text argument 0 with the pattern argument 1, if there is one, else of `plain`.
fn read_with<'a>(
    call: &'a Call<'a>,
    plain: fn(&str) -> Option<NaiveDateTime>,
) -> Result<impl Fn(usize) -> Option<Option<NaiveDateTime>> + 'a> {
    let source = call.texts(0)?;
    let patterns = if call.arg_count() > 1 { Some(Patterns::new(call, 1)?) } else { None };
    Ok(move |row: usize| {
        let text = source.get(row)?;
        Some(match &patterns {
            Some(patterns) => patterns.get(row)?.parse(text),
            None => plain(text),
        })
    })
}

/// NULL for what is no date.
fn to_date(call: &Call<'_>) -> Result<ArrayRef> {
    let read = read_with(call, |t| parse_date(t).map(|d| d.and_time(Default::default())))?;
    Ok(call.primitive_rows::<Date32Type>(|i| read(i)?.map(|t| t.date().to_epoch_days())))
}

fn number_and_pattern(args: &[DataType]) -> Coerced {
    types::signature(args, &[Arg::Int, Arg::Text], 1)
}

/// Seconds since 1970 as text in the job's zone.
fn from_unixtime(call: &Call<'_>) -> Result<ArrayRef> {
    let seconds = call.longs(0)?;
    let patterns = if call.arg_count() > 1 { Some(Patterns::new(call, 1)?) } else { None };
    let default = JavaFormat::new("yyyy-MM-dd HH:mm:ss").ok();
    call.text_rows(|i, out| {
        let seconds = at(&seconds, i)?;
        let Some(utc) = datetime_of(seconds, TimeUnit::Second) else {
            call.fail(i, Reason::Arithmetic, format!("{seconds} seconds are out of range"));
            return None;
        };
        let wall = to_wall_clock(utc, call.time_zone);
        match &patterns {
            Some(patterns) => patterns.get(i)?.format(&wall, out),
            None => default.as_ref()?.format(&wall, out),
        }
        Some(())
    })
}

fn unix_now(call: &Call<'_>) -> Result<ArrayRef> {
    Ok(call.primitive_rows::<Int64Type>(|_| Some(clock::now().and_utc().timestamp())))
}

/// Text that does not fit is the least BIGINT, as Flink documents it.
fn unix_timestamp(call: &Call<'_>) -> Result<ArrayRef> {
    let read = read_with(call, parse_timestamp)?;
    Ok(call.primitive_rows::<Int64Type>(|i| {
        let wall = read(i)?;
        Some(wall.map_or(i64::MIN, |t| to_instant(t, call.time_zone).and_utc().timestamp()))
    }))
}

/// A number and its digits after the second (3 without), or text, its pattern and its zone.
fn ltz_args(args: &[DataType]) -> Coerced {
    match args.first() {
        Some(t) if types::is_text(t) => types::signature(args, &[Arg::Text; 3], 1),
        Some(t) if types::is_integer(t) => types::signature(args, &[Arg::Int, Arg::Int], 1),
        _ => types::signature(args, &[Arg::Double, Arg::Int], 1),
    }
}

fn ltz_type(binding: &Binding<'_>) -> Returns {
    if binding.types.first() == Some(&DataType::Utf8) {
        check_pattern(binding)?;
        if let Some(name) = binding.text(2) {
            zone_of(name)?;
        }
    }
    types::instant_millis(binding)
}

fn to_timestamp_ltz(call: &Call<'_>) -> Result<ArrayRef> {
    let number = |utc: NaiveDateTime| number_of(utc, TimeUnit::Millisecond);
    if *call.array(0)?.data_type() == DataType::Utf8 {
        let read = read_with(call, parse_timestamp)?;
        let zones = if call.arg_count() > 2 { Some(call.texts(2)?) } else { None };
        let numbers = (0..call.rows).map(|i| {
            let zone = match zones {
                Some(zones) => zone_in(call, zones, i)?,
                // Text without a zone is UTC's, as Flink documents it.
                None => Tz::UTC,
            };
            number(to_instant(read(i)??, zone))
        });
        return super::time::as_type(numbers.collect(), call.returns);
    }
    let precisions = if call.arg_count() > 1 { Some(call.longs(1)?) } else { None };
    let whole = matches!(call.array(0)?.data_type(), DataType::Int64).then(|| call.longs(0)).transpose()?;
    let approximate = if whole.is_none() { Some(call.doubles(0)?) } else { None };
    let millis = |i: usize| {
        let precision = precisions.as_ref().map_or(Some(3), |p| at(p, i))?;
        let factor = match precision {
            0 => 1000,
            3 => 1,
            other => {
                call.fail(i, Reason::Cast, format!("the precision {other} is neither 0 nor 3"));
                return None;
            }
        };
        let value = match (&whole, &approximate) {
            (Some(whole), _) => at(whole, i)?.checked_mul(factor),
            (None, Some(approximate)) => Some((at(approximate, i)? * factor as f64) as i64),
            _ => None,
        };
        // What no date can hold is refused rather than shown as another one.
        let known = value.filter(|v| datetime_of(*v, TimeUnit::Millisecond).is_some());
        if known.is_none() {
            call.fail(i, Reason::Arithmetic, "the number is out of the range of timestamps");
        }
        known
    };
    super::time::as_type((0..call.rows).map(millis).collect(), call.returns)
}

fn zone_of(name: &str) -> std::result::Result<Tz, String> {
    name.parse().map_err(|_| format!("unknown time zone '{name}': it must be one like Asia/Shanghai or UTC"))
}

/// The zone of a row; an unknown one refuses it.
fn zone_in(call: &Call<'_>, names: Texts<'_>, row: usize) -> Option<Tz> {
    zone_of(names.get(row)?).map_err(|message| call.fail(row, Reason::Cast, message)).ok()
}

fn convert_type(binding: &Binding<'_>) -> Returns {
    for index in [1, 2] {
        if let Some(name) = binding.text(index) {
            zone_of(name)?;
        }
    }
    types::text(binding)
}

/// `CONVERT_TZ('yyyy-MM-dd HH:mm:ss', from, to)`; NULL for what is no timestamp.
fn convert_tz(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, from, to) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    let format = JavaFormat::new("yyyy-MM-dd HH:mm:ss").ok();
    call.text_rows(|i, out| {
        let wall = parse_timestamp(source.get(i)?)?;
        let (from, to) = (zone_in(call, from, i)?, zone_in(call, to, i)?);
        format.as_ref()?.format(&to_wall_clock(to_instant(wall, from), to), out);
        Some(())
    })
}

/// Days from the second to the first.
fn datediff(call: &Call<'_>) -> Result<ArrayRef> {
    let (to, from) = (walls(call, 0)?, walls(call, 1)?);
    Ok(call.primitive_rows::<Int32Type>(|i| Some(to[i]?.date().to_epoch_days() - from[i]?.date().to_epoch_days())))
}

fn date_and_days(args: &[DataType]) -> Coerced {
    types::signature(args, &[Arg::Moment, Arg::Int], 2)
}

/// Text `yyyy-MM-dd`, as in Flink 1.9 and flinkStreamSQL.
fn date_shift(call: &Call<'_>, sign: i64) -> Result<ArrayRef> {
    let (from, days) = (walls(call, 0)?, call.longs(1)?);
    call.text_rows(|i, out| {
        let (from, days) = (from[i]?, at(&days, i)?);
        let day = step("DAY").and_then(|day| shifted(from, day, days.checked_mul(sign)?));
        let Some(day) = day.filter(|d| (0..=9999).contains(&d.year())) else {
            call.fail(i, Reason::Arithmetic, format!("the result of adding {days} days is out of range"));
            return None;
        };
        write!(out, "{}", day.format("%Y-%m-%d")).ok()
    })
}

fn diff_args(args: &[DataType]) -> Coerced {
    let [unit, from, to] = args else { return Err("takes a unit and two dates or timestamps".to_string()) };
    if !types::is_text(unit) {
        return Err(format!("the unit must be {}", super::time::UNITS));
    }
    let mut coerced = vec![DataType::Utf8];
    coerced.extend(types::signature(&[from.clone(), to.clone()], &[Arg::Moment; 2], 2)?);
    Ok(coerced)
}

fn diff_type(binding: &Binding<'_>) -> Returns {
    let unit = binding.text(0).unwrap_or_default();
    match step(unit) {
        Some(_) => Ok(LogicalType::Int.to_arrow()),
        None => Err(format!("unknown unit '{unit}': it must be {}", super::time::UNITS)),
    }
}

/// Whole units from the first to the second; a started one does not count.
fn timestampdiff(call: &Call<'_>) -> Result<ArrayRef> {
    use super::time::Step;
    let Some(unit) = call.texts(0)?.get(0).and_then(step) else { return call.internal("lost its unit") };
    let (from, to) = (walls(call, 1)?, walls(call, 2)?);
    Ok(call.primitive_rows::<Int32Type>(|i| {
        let (from, to) = (from[i]?, to[i]?);
        let units = match unit {
            Step::Months(months) => months_between(from, to) / months,
            // Millis, not nanos: as Flink cuts.
            Step::Seconds(seconds) => {
                let millis = to.and_utc().timestamp_millis() - from.and_utc().timestamp_millis();
                millis / (seconds * 1000)
            }
        };
        // As Java's cast of a long.
        Some(units as i32)
    }))
}

/// The most months that can be added to the first without passing the second; a month later than the 31st may be the 28th.
fn months_between(from: NaiveDateTime, to: NaiveDateTime) -> i64 {
    if to < from {
        return -months_between(to, from);
    }
    let count = |t: NaiveDateTime| i64::from(t.year()) * 12 + i64::from(t.month0());
    let months = count(to) - count(from);
    let added = u32::try_from(months).ok().and_then(|m| from.checked_add_months(chrono::Months::new(m)));
    if added.is_some_and(|t| t > to) { months - 1 } else { months }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn started_months_do_not_count() {
        for (from, to, months) in [
            ("2024-01-31", "2024-02-29", 1),
            ("2024-01-31", "2024-02-28", 0),
            ("2024-01-15", "2024-02-15", 1),
            ("2024-01-15 10:00:00", "2024-02-15 09:00:00", 0),
            ("2024-02-15", "2024-01-15", -1),
            ("2024-02-15", "2024-01-16", 0),
        ] {
            let t = |text| parse_timestamp(text).unwrap();
            assert_eq!(months_between(t(from), t(to)), months, "{from} {to}");
        }
    }
}
