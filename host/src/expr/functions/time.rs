//! Functions over dates and times. TIMESTAMP is a wall clock, TIMESTAMP_LTZ an instant shown in the job's zone.

use super::call::Texts;
use super::{Binding, Builtin, Call, PURE, types};
use crate::data::{LogicalType, Reason};
use crate::expr::cast::temporal::{
    Moment, datetime_of, moments, number_of, parse_timestamp, to_instant, to_wall_clock,
};
use crate::expr::cast::text::build;
use crate::expr::clock;
use crate::expr::java_format::JavaFormat;
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use chrono::{Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const VOLATILE: Builtin = Builtin { volatile: true, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "to_timestamp",
        fallible: true,
        coerce: types::one_or_two_texts,
        returns: to_timestamp_type,
        eval: to_timestamp,
        ..PURE
    },
    Builtin {
        name: "date_format",
        fallible: true,
        coerce: date_format_args,
        returns: date_format_type,
        eval: date_format,
        ..PURE
    },
    Builtin { name: "timestampadd", fallible: true, coerce: add_args, returns: add_type, eval: timestamp_add, ..PURE },
    Builtin { name: "proctime", proctime: true, returns: types::instant_millis, eval: instant_now, ..VOLATILE },
    Builtin { name: "current_timestamp", returns: types::instant_millis, eval: instant_now, ..VOLATILE },
    Builtin { name: "now", returns: types::instant_millis, eval: instant_now, ..VOLATILE },
    Builtin { name: "localtimestamp", returns: types::timestamp_millis, eval: local_now, ..VOLATILE },
    Builtin { name: "current_row_timestamp", returns: types::instant_millis, eval: instant_now, ..VOLATILE },
    Builtin { name: "current_date", returns: types::date, eval: today, ..VOLATILE },
    Builtin { name: "current_time", returns: types::time, eval: time_now, ..VOLATILE },
    Builtin { name: "localtime", returns: types::time, eval: time_now, ..VOLATILE },
];

type Coerced = std::result::Result<Vec<DataType>, String>;
type Returns = std::result::Result<DataType, String>;

/// A constant pattern is read at plan time, so that its faults are the job's and not a row's.
pub(super) fn check_pattern(binding: &Binding<'_>) -> std::result::Result<(), String> {
    match binding.text(1) {
        Some(pattern) => JavaFormat::new(pattern).map(drop),
        None => Ok(()),
    }
}

fn to_timestamp_type(binding: &Binding<'_>) -> Returns {
    check_pattern(binding)?;
    types::timestamp_millis(binding)
}

/// `TO_TIMESTAMP(text[, pattern])`: TIMESTAMP(3); text that does not fit gives NULL (Flink catches the exception).
fn to_timestamp(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    if call.arg_count() == 1 {
        return Ok(Arc::new(timestamps(call, |i| source.get(i).and_then(parse_timestamp))));
    }
    let patterns = Patterns::new(call, 1)?;
    Ok(Arc::new(timestamps(call, |i| {
        let (text, pattern) = (source.get(i)?, patterns.get(i)?);
        pattern.parse(text).or_else(|| plain_timestamp(text.trim()))
    })))
}

/// What Flink falls back to where the pattern does not fit: `Timestamp.valueOf`, or `Date.valueOf` without a blank.
fn plain_timestamp(text: &str) -> Option<NaiveDateTime> {
    parse_timestamp(text)
}

fn timestamps(call: &Call<'_>, value: impl Fn(usize) -> Option<NaiveDateTime>) -> TimestampMillisecondArray {
    (0..call.rows).map(|i| value(i).and_then(|t| number_of(t, TimeUnit::Millisecond))).collect()
}

/// The pattern argument: one for all rows, or a column of them.
pub(super) enum Patterns<'a> {
    Constant(Option<JavaFormat>),
    Column(&'a Call<'a>, Texts<'a>),
}

impl<'a> Patterns<'a> {
    pub fn new(call: &'a Call<'a>, index: usize) -> Result<Self> {
        Ok(match call.texts(index)? {
            // The planner has read a constant pattern before; NULL stays NULL.
            Texts::Constant(text) => Patterns::Constant(text.and_then(|t| JavaFormat::new(t).ok())),
            column => Patterns::Column(call, column),
        })
    }

    /// None refuses the row unless its pattern is NULL.
    pub fn get(&self, row: usize) -> Option<std::borrow::Cow<'_, JavaFormat>> {
        match self {
            Patterns::Constant(format) => format.as_ref().map(std::borrow::Cow::Borrowed),
            Patterns::Column(call, texts) => match JavaFormat::new(texts.get(row)?) {
                Ok(format) => Some(std::borrow::Cow::Owned(format)),
                Err(message) => {
                    call.fail(row, Reason::Cast, message);
                    None
                }
            },
        }
    }
}

/// A timestamp (or a date, or text in the default form) and a pattern.
fn date_format_args(args: &[DataType]) -> Coerced {
    let [value, pattern] = args else { return Err("expects a timestamp and a pattern".to_string()) };
    let text = types::one_text(std::slice::from_ref(pattern))?;
    let value = match value {
        DataType::Timestamp(..) => value.clone(),
        DataType::Date32 => LogicalType::Timestamp(3).to_arrow(),
        DataType::Null => DataType::Utf8,
        t if types::is_text(t) => DataType::Utf8,
        t => return Err(format!("expects a timestamp, not {}", types::name(t))),
    };
    Ok([vec![value], text].concat())
}

fn date_format_type(binding: &Binding<'_>) -> Returns {
    check_pattern(binding)?;
    types::text(binding)
}

/// Text that is no timestamp gives NULL.
fn date_format(call: &Call<'_>) -> Result<ArrayRef> {
    let patterns = Patterns::new(call, 1)?;
    let source = call.array(0)?;
    let wall = WallClocks::new(call, &source)?;
    let moments: Vec<Option<NaiveDateTime>> = (0..call.rows).map(|i| wall.get(i)).collect();
    let formats: Vec<bool> = (0..call.rows)
        .map(|i| moments[i].is_some() && (matches!(patterns, Patterns::Constant(Some(_))) || patterns.get(i).is_some()))
        .collect();
    let nulls = NullBuffer::from(formats);
    let column = build(call.rows, Some(&nulls), |i, out| {
        if let (Some(t), Some(format)) = (&moments[i], patterns.get(i)) {
            format.format(t, out);
        }
    })?;
    Ok(Arc::new(column))
}

/// A column of timestamps, dates or text, as wall clock times of the job's zone.
enum WallClocks<'a> {
    Text(&'a StringArray),
    Numbers { array: &'a ArrayRef, values: Vec<i64>, unit: TimeUnit, zone: Option<chrono_tz::Tz> },
}

impl<'a> WallClocks<'a> {
    fn new(call: &Call<'_>, source: &'a ArrayRef) -> Result<Self> {
        Ok(match source.data_type() {
            DataType::Utf8 => WallClocks::Text(source.as_string()),
            DataType::Timestamp(unit, tz) => {
                let zone = tz.as_ref().map(|_| call.time_zone);
                WallClocks::Numbers { array: source, values: raw_values(source), unit: *unit, zone }
            }
            _ => return call.internal("was planned for another type"),
        })
    }

    fn get(&self, row: usize) -> Option<NaiveDateTime> {
        match self {
            WallClocks::Text(a) => a.is_valid(row).then(|| a.value(row)).and_then(parse_timestamp),
            WallClocks::Numbers { array, values, unit, zone } => {
                let utc = array.is_valid(row).then(|| datetime_of(values[row], *unit)).flatten()?;
                Some(zone.map_or(utc, |zone| to_wall_clock(utc, zone)))
            }
        }
    }
}

/// The wall clock times of a DATE (midnight), TIME (of 1970-01-01) or TIMESTAMP argument, or of its text.
pub(super) fn walls(call: &Call<'_>, index: usize) -> Result<Vec<Option<NaiveDateTime>>> {
    let source = call.array(index)?;
    if *source.data_type() == DataType::Utf8 {
        let text = source.as_string::<i32>();
        return Ok((0..call.rows).map(|i| text.is_valid(i).then(|| text.value(i)).and_then(parse_timestamp)).collect());
    }
    let moments = moments(&source, call.time_zone)?;
    let wall = |i: usize| {
        Some(match moments.at(i)? {
            Moment::Date(d) => d.and_time(NaiveTime::MIN),
            Moment::Time(t) => NaiveDate::from_epoch_days(0)?.and_time(t),
            Moment::DateTime(t) => t,
        })
    };
    Ok((0..call.rows).map(|i| source.is_valid(i).then(|| wall(i)).flatten()).collect())
}

/// The 64-bit numbers of a timestamp column, whatever its unit.
pub(super) fn raw_values(source: &ArrayRef) -> Vec<i64> {
    let data = source.to_data();
    data.buffers().first().map(|_| data.buffer::<i64>(0)[..data.len()].to_vec()).unwrap_or_default()
}

pub(super) const UNITS: &str = "YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE or SECOND";

/// The unit (as text), how many, and what to add to.
fn add_args(args: &[DataType]) -> Coerced {
    let [unit, count, base] = args else { return Err("expects a unit, a number and a timestamp".to_string()) };
    if !types::is_text(unit) {
        return Err(format!("the unit must be {UNITS}"));
    }
    if !types::is_integer(count) && *count != DataType::Null {
        return Err(format!("expects an integer as the second argument, not {}", types::name(count)));
    }
    let base = match base {
        DataType::Timestamp(..) | DataType::Date32 => base.clone(),
        DataType::Null => LogicalType::Timestamp(3).to_arrow(),
        t if types::is_text(t) => LogicalType::Timestamp(3).to_arrow(),
        t => return Err(format!("expects a timestamp as the third argument, not {}", types::name(t))),
    };
    Ok(vec![DataType::Utf8, DataType::Int64, base])
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Step {
    Months(i64),
    Seconds(i64),
}

pub(super) fn step(unit: &str) -> Option<Step> {
    let unit = unit.to_ascii_uppercase();
    Some(match unit.strip_prefix("SQL_TSI_").unwrap_or(&unit) {
        "YEAR" => Step::Months(12),
        "QUARTER" => Step::Months(3),
        "MONTH" => Step::Months(1),
        "WEEK" => Step::Seconds(7 * 86_400),
        "DAY" => Step::Seconds(86_400),
        "HOUR" => Step::Seconds(3_600),
        "MINUTE" => Step::Seconds(60),
        "SECOND" => Step::Seconds(1),
        _ => return None,
    })
}

/// Whole days (or more) keep a DATE a DATE; shorter steps make it a TIMESTAMP.
fn add_type(binding: &Binding<'_>) -> Returns {
    let unit = binding.text(0).unwrap_or_default();
    let Some(step) = step(unit) else { return Err(format!("unknown unit '{unit}': it must be {UNITS}")) };
    match (binding.types.get(2), step) {
        (Some(DataType::Date32), Step::Seconds(s)) if s < 86_400 => Ok(LogicalType::Timestamp(0).to_arrow()),
        (Some(t), _) => Ok(t.clone()),
        (None, _) => Err("expects a unit, a number and a timestamp".to_string()),
    }
}

fn timestamp_add(call: &Call<'_>) -> Result<ArrayRef> {
    let Some(step) = call.texts(0)?.get(0).and_then(step) else { return call.internal("lost its unit") };
    let counts = call.numbers::<Int64Type>(1)?;
    let base = call.array(2)?;
    // `number`: the result's value from the sum.
    let sum = |i: usize, t: NaiveDateTime, number: &dyn Fn(NaiveDateTime) -> Option<i64>| {
        if counts.is_null(i) {
            return None;
        }
        let result = shifted(t, step, counts.value(i)).and_then(number);
        if result.is_none() {
            call.fail(i, Reason::Arithmetic, format!("the result of adding {} is out of range", counts.value(i)));
        }
        result
    };
    let numbers: Vec<Option<i64>> = match base.data_type() {
        DataType::Date32 => {
            let days = base.as_primitive::<Date32Type>();
            let midnight = |i: usize| NaiveDate::from_epoch_days(days.value(i)).map(|d| d.and_time(Default::default()));
            let number = |t: NaiveDateTime| match call.returns {
                DataType::Date32 => Some(i64::from(t.date().to_epoch_days())),
                _ => number_of(t, TimeUnit::Second),
            };
            let at = |i: usize| days.is_valid(i).then(|| midnight(i)).flatten().and_then(|t| sum(i, t, &number));
            (0..call.rows).map(at).collect()
        }
        DataType::Timestamp(unit, tz) => {
            // Months of an instant are counted on the wall clock of the job's zone; seconds are not affected by it.
            let zone = tz.as_ref().map(|_| call.time_zone).filter(|_| matches!(step, Step::Months(_)));
            let values = raw_values(&base);
            let at = |i: usize| {
                let utc = base.is_valid(i).then(|| datetime_of(values[i], *unit)).flatten()?;
                sum(i, zone.map_or(utc, |z| to_wall_clock(utc, z)), &|t| {
                    number_of(zone.map_or(t, |z| to_instant(t, z)), *unit)
                })
            };
            (0..call.rows).map(at).collect()
        }
        _ => return call.internal("was planned for another type"),
    };
    as_type(numbers, call.returns)
}

/// Months keep the day of the month, or take the month's last.
pub(super) fn shifted(t: NaiveDateTime, step: Step, count: i64) -> Option<NaiveDateTime> {
    match step {
        Step::Months(months) => {
            let months = count.checked_mul(months)?;
            let by = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
            if months < 0 { t.checked_sub_months(by) } else { t.checked_add_months(by) }
        }
        Step::Seconds(seconds) if seconds % 86_400 == 0 => {
            let days = count.checked_mul(seconds / 86_400)?;
            let by = Days::new(days.unsigned_abs());
            if days < 0 { t.checked_sub_days(by) } else { t.checked_add_days(by) }
        }
        Step::Seconds(seconds) => t.checked_add_signed(TimeDelta::try_seconds(count.checked_mul(seconds)?)?),
    }
}

/// Numbers as a DATE or TIMESTAMP column.
pub(super) fn as_type(numbers: Vec<Option<i64>>, to: &DataType) -> Result<ArrayRef> {
    let values = Int64Array::from(numbers);
    if *to == DataType::Date32 {
        let days: Date32Array = values.iter().map(|v| v.map(|v| v as i32)).collect();
        return Ok(Arc::new(days));
    }
    Ok(make_array(values.to_data().into_builder().data_type(to.clone()).build()?))
}

fn instant_now(call: &Call<'_>) -> Result<ArrayRef> {
    let numbers = vec![number_of(clock::now(), TimeUnit::Millisecond); call.rows];
    as_type(numbers, call.returns)
}

fn local_now(call: &Call<'_>) -> Result<ArrayRef> {
    let wall = to_wall_clock(clock::now(), call.time_zone);
    as_type(vec![number_of(wall, TimeUnit::Millisecond); call.rows], call.returns)
}

fn today(call: &Call<'_>) -> Result<ArrayRef> {
    let wall = to_wall_clock(clock::now(), call.time_zone);
    as_type(vec![Some(i64::from(wall.date().to_epoch_days())); call.rows], call.returns)
}

fn time_now(call: &Call<'_>) -> Result<ArrayRef> {
    let seconds = to_wall_clock(clock::now(), call.time_zone).num_seconds_from_midnight() as i32;
    Ok(call.primitive_rows::<Time32SecondType>(|_| Some(seconds)))
}
