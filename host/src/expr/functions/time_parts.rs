//! Parts of dates and times, and rounding to them. TIMESTAMP_LTZ counts on the wall clock of the job's zone.

use super::time::{as_type, walls};
use super::types;
use super::{Binding, Builtin, Call, PURE};
use crate::expr::cast::temporal::{number_of, to_instant};
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Int64Type};
use chrono::{Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use datafusion_common::Result;

const PART: Builtin = Builtin { coerce: one_moment, returns: types::bigint, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$extract", coerce: unit_and_moment, returns: part_type, eval: extract, ..PURE },
    Builtin { name: "year", eval: |c| parts(c, 0, Unit::Year), ..PART },
    Builtin { name: "quarter", eval: |c| parts(c, 0, Unit::Quarter), ..PART },
    Builtin { name: "month", eval: |c| parts(c, 0, Unit::Month), ..PART },
    Builtin { name: "week", eval: |c| parts(c, 0, Unit::Week), ..PART },
    Builtin { name: "dayofyear", eval: |c| parts(c, 0, Unit::DayOfYear), ..PART },
    Builtin { name: "dayofmonth", eval: |c| parts(c, 0, Unit::Day), ..PART },
    Builtin { name: "dayofweek", eval: |c| parts(c, 0, Unit::DayOfWeek), ..PART },
    Builtin { name: "hour", eval: |c| parts(c, 0, Unit::Hour), ..PART },
    Builtin { name: "minute", eval: |c| parts(c, 0, Unit::Minute), ..PART },
    Builtin { name: "second", eval: |c| parts(c, 0, Unit::Second), ..PART },
    Builtin { name: "$floor", coerce: unit_and_moment, returns: round_type, eval: |c| round(c, false), ..PURE },
    Builtin { name: "$ceil", coerce: unit_and_moment, returns: round_type, eval: |c| round(c, true), ..PURE },
];

#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Unit {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    DayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    Epoch,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

fn unit(name: &str) -> std::result::Result<Unit, String> {
    use Unit::*;
    Ok(match name.to_ascii_uppercase().as_str() {
        "MILLENNIUM" | "MILLENIUM" => Millennium,
        "CENTURY" => Century,
        "DECADE" => Decade,
        "YEAR" => Year,
        "ISOYEAR" => IsoYear,
        "QUARTER" => Quarter,
        "MONTH" => Month,
        "WEEK" => Week,
        "DOY" => DayOfYear,
        "DAY" => Day,
        "DOW" => DayOfWeek,
        "ISODOW" => IsoDayOfWeek,
        "EPOCH" => Epoch,
        "HOUR" => Hour,
        "MINUTE" => Minute,
        "SECOND" => Second,
        "MILLISECOND" => Millisecond,
        "MICROSECOND" => Microsecond,
        "NANOSECOND" => Nanosecond,
        other => return Err(format!("unknown unit '{other}'")),
    })
}

/// A DATE, TIME or TIMESTAMP; text as TIMESTAMP(3).
fn moment(t: &DataType) -> std::result::Result<DataType, String> {
    match t {
        DataType::Time32(_) | DataType::Time64(_) => Ok(t.clone()),
        t => types::signature(std::slice::from_ref(t), &[types::Arg::Moment], 1).map(|mut c| c.remove(0)),
    }
}

fn one_moment(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [t] => Ok(vec![moment(t)?]),
        other => types::signature(other, &[types::Arg::Moment], 1),
    }
}

fn unit_and_moment(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [unit, t] if types::is_text(unit) => Ok(vec![DataType::Utf8, moment(t)?]),
        _ => Err("expects a unit and a date or timestamp".to_string()),
    }
}

fn part_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let unit = unit(binding.text(0).unwrap_or_default())?;
    match binding.types.get(1) {
        Some(DataType::Time32(_) | DataType::Time64(_)) if unit < Unit::Hour => {
            Err("a TIME has no such part".to_string())
        }
        _ => Ok(DataType::Int64),
    }
}

fn extract(call: &Call<'_>) -> Result<ArrayRef> {
    match call.texts(0)?.get(0).map(unit) {
        Some(Ok(unit)) => parts(call, 1, unit),
        _ => call.internal("lost its unit"),
    }
}

fn parts(call: &Call<'_>, index: usize, unit: Unit) -> Result<ArrayRef> {
    let instant = matches!(call.array(index)?.data_type(), DataType::Timestamp(_, Some(_)));
    let walls = walls(call, index)?;
    Ok(call.primitive_rows::<Int64Type>(|i| {
        let wall = walls[i]?;
        if unit == Unit::Epoch {
            let utc = if instant { to_instant(wall, call.time_zone) } else { wall };
            return Some(utc.and_utc().timestamp());
        }
        Some(part(wall, unit))
    }))
}

fn part(t: NaiveDateTime, unit: Unit) -> i64 {
    let year = i64::from(t.year());
    let nanos = i64::from(t.nanosecond());
    match unit {
        // The first century has the years 1 to 100.
        Unit::Millennium => (year + 999).div_euclid(1000),
        Unit::Century => (year + 99).div_euclid(100),
        Unit::Decade => year.div_euclid(10),
        Unit::Year => year,
        Unit::IsoYear => i64::from(t.iso_week().year()),
        Unit::Quarter => i64::from(t.month0() / 3 + 1),
        Unit::Month => i64::from(t.month()),
        Unit::Week => i64::from(t.iso_week().week()),
        Unit::DayOfYear => i64::from(t.ordinal()),
        Unit::Day => i64::from(t.day()),
        Unit::DayOfWeek => i64::from(t.weekday().num_days_from_sunday() + 1),
        Unit::IsoDayOfWeek => i64::from(t.weekday().number_from_monday()),
        Unit::Epoch => t.and_utc().timestamp(),
        Unit::Hour => i64::from(t.hour()),
        Unit::Minute => i64::from(t.minute()),
        Unit::Second => i64::from(t.second()),
        // Without the seconds, otherwise than SQL has it.
        Unit::Millisecond => nanos / 1_000_000,
        Unit::Microsecond => nanos / 1_000,
        Unit::Nanosecond => nanos,
    }
}

fn round_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let name = binding.text(0).unwrap_or_default();
    let Some(t) = binding.types.get(1) else { return Err("expects a date or timestamp".to_string()) };
    match unit(name)? {
        Unit::IsoYear | Unit::DayOfYear | Unit::DayOfWeek | Unit::IsoDayOfWeek | Unit::Epoch => {
            Err(format!("cannot round to {name}"))
        }
        Unit::Microsecond | Unit::Nanosecond => Err(format!("cannot round to {name}")),
        _ if !matches!(t, DataType::Date32 | DataType::Timestamp(..)) => {
            Err(format!("cannot round {}: CAST it to TIMESTAMP", types::name(t)))
        }
        _ => Ok(t.clone()),
    }
}

fn round(call: &Call<'_>, up: bool) -> Result<ArrayRef> {
    let Some(Ok(unit)) = call.texts(0)?.get(0).map(unit) else { return call.internal("lost its unit") };
    let walls = walls(call, 1)?;
    let number = |t: NaiveDateTime| match call.returns {
        DataType::Date32 => Some(i64::from(t.date().to_epoch_days())),
        DataType::Timestamp(u, zone) => number_of(if zone.is_some() { to_instant(t, call.time_zone) } else { t }, *u),
        _ => None,
    };
    let numbers = (0..call.rows).map(|i| {
        let wall = walls[i]?;
        let floor = floor(wall, unit)?;
        number(if up && floor < wall { next(floor, unit)? } else { floor })
    });
    as_type(numbers.collect(), call.returns)
}

/// The start of the unit that `t` lies in; weeks begin on Sunday, as Calcite has it.
fn floor(t: NaiveDateTime, unit: Unit) -> Option<NaiveDateTime> {
    let midnight = |d: NaiveDate| d.and_time(NaiveTime::MIN);
    let start_of_year = |year: i32| NaiveDate::from_ymd_opt(year, 1, 1).map(midnight);
    let date = t.date();
    match unit {
        Unit::Millennium => start_of_year((t.year() - 1).div_euclid(1000) * 1000 + 1),
        Unit::Century => start_of_year((t.year() - 1).div_euclid(100) * 100 + 1),
        Unit::Decade => start_of_year(t.year().div_euclid(10) * 10),
        Unit::Quarter => NaiveDate::from_ymd_opt(t.year(), t.month0() / 3 * 3 + 1, 1).map(midnight),
        Unit::Month => date.with_day(1).map(midnight),
        Unit::Week => date.checked_sub_days(Days::new(u64::from(t.weekday().num_days_from_sunday()))).map(midnight),
        Unit::Day => Some(midnight(date)),
        Unit::Hour => date.and_hms_opt(t.hour(), 0, 0),
        Unit::Minute => date.and_hms_opt(t.hour(), t.minute(), 0),
        Unit::Second => t.with_nanosecond(0),
        Unit::Millisecond => t.with_nanosecond(t.nanosecond() / 1_000_000 * 1_000_000),
        _ => start_of_year(t.year()),
    }
}

/// The start of the unit after the one that begins at `start`.
fn next(start: NaiveDateTime, unit: Unit) -> Option<NaiveDateTime> {
    let months = |n| start.checked_add_months(Months::new(n));
    let millis = |n| start.checked_add_signed(chrono::TimeDelta::try_milliseconds(n)?);
    match unit {
        Unit::Millennium => months(12_000),
        Unit::Century => months(1_200),
        Unit::Decade => months(120),
        Unit::Quarter => months(3),
        Unit::Month => months(1),
        Unit::Week => start.checked_add_days(Days::new(7)),
        Unit::Day => start.checked_add_days(Days::new(1)),
        Unit::Hour => millis(3_600_000),
        Unit::Minute => millis(60_000),
        Unit::Second => millis(1_000),
        Unit::Millisecond => millis(1),
        _ => months(12),
    }
}
