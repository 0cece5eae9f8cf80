//! `timestamp + INTERVAL ..`. An interval is a literal: months, or days and milliseconds (`plan::ast_passes` brings
//! every form of it to one of these).

use super::time::{Step, as_type, raw_values, shifted, step, walls};
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::{LogicalType, Reason};
use crate::expr::cast::temporal::{datetime_of, number_of, to_instant};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::*;
use chrono::{NaiveDateTime, TimeDelta, Timelike};
use datafusion_common::{Result, ScalarValue};

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$later", fallible: true, coerce, returns, eval: |c| shift(c, 1), ..PURE },
    Builtin { name: "$earlier", fallible: true, coerce, returns, eval: |c| shift(c, -1), ..PURE },
];

fn coerce(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [moment, interval @ DataType::Interval(IntervalUnit::MonthDayNano)] => {
            let moment = match moment {
                DataType::Time32(_) | DataType::Time64(_) => moment.clone(),
                m => types::signature(std::slice::from_ref(m), &[Arg::Moment], 1)?.remove(0),
            };
            Ok(vec![moment, interval.clone()])
        }
        _ => Err("takes a date or timestamp and an INTERVAL".to_string()),
    }
}

/// Hours and less make a DATE a TIMESTAMP(0), as Calcite's `SqlTimestampAddFunction.deduceType`.
fn returns(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let interval = match binding.scalars.get(1).copied().flatten() {
        Some(ScalarValue::IntervalMonthDayNano(Some(v))) => Some(v),
        _ => None,
    };
    match binding.types.first() {
        Some(DataType::Date32) => match interval {
            Some(v) if v.nanoseconds == 0 => Ok(DataType::Date32),
            Some(v) if v.nanoseconds % 1_000_000_000 != 0 => Ok(LogicalType::Timestamp(3).to_arrow()),
            Some(_) => Ok(LogicalType::Timestamp(0).to_arrow()),
            None => Err("takes an INTERVAL literal".to_string()),
        },
        Some(DataType::Time32(_) | DataType::Time64(_)) if interval.is_some_and(|v| v.months != 0) => {
            Err("takes no months or years for a TIME".to_string())
        }
        Some(t) => Ok(t.clone()),
        None => Err("takes a date or timestamp and an INTERVAL".to_string()),
    }
}

fn shift(call: &Call<'_>, sign: i64) -> Result<ArrayRef> {
    let source = call.array(0)?;
    let walls = walls(call, 0)?;
    let intervals = call.array(1)?;
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    let number = |t: NaiveDateTime, instant: bool| match call.returns {
        DataType::Date32 => Some(i64::from(t.date().to_epoch_days())),
        DataType::Time32(u) | DataType::Time64(u) => {
            let per = number_of(datetime_of(1, TimeUnit::Second)?, *u)?;
            let nanos = i64::from(t.nanosecond()) / (1_000_000_000 / per);
            Some(i64::from(t.num_seconds_from_midnight()) * per + nanos)
        }
        DataType::Timestamp(u, zone) => {
            number_of(if zone.is_some() && !instant { to_instant(t, call.time_zone) } else { t }, *u)
        }
        _ => None,
    };
    // Of a TIMESTAMP_LTZ: an hour that the clock shows twice must not be guessed back from the wall clock.
    let instants = match source.data_type() {
        DataType::Timestamp(unit, Some(_)) => Some((raw_values(&source), *unit)),
        _ => None,
    };
    let sum = |i: usize| {
        let (wall, interval) = (walls[i]?, intervals.is_valid(i).then(|| intervals.value(i))?);
        let months = Step::Months(1);
        let result = if interval.months != 0 {
            shifted(wall, months, sign * i64::from(interval.months)).and_then(|t| number(t, false))
        } else {
            // Days of an instant are 24 hours each, whatever the zone's clock does.
            let start = instants.as_ref().and_then(|(values, unit)| datetime_of(values[i], *unit)).unwrap_or(wall);
            step("DAY")
                .and_then(|day| shifted(start, day, sign * i64::from(interval.days)))
                .and_then(|t| t.checked_add_signed(TimeDelta::nanoseconds(sign * interval.nanoseconds)))
                .and_then(|t| number(t, true))
        };
        if result.is_none() {
            call.fail(i, Reason::Arithmetic, "the result of adding the interval is out of range");
        }
        result
    };
    let numbers: Vec<Option<i64>> = (0..call.rows).map(sum).collect();
    match call.returns {
        DataType::Time32(TimeUnit::Second) => {
            Ok(call.primitive_rows::<Time32SecondType>(|i| numbers[i].map(|n| n as i32)))
        }
        DataType::Time32(_) => Ok(call.primitive_rows::<Time32MillisecondType>(|i| numbers[i].map(|n| n as i32))),
        to => as_type(numbers, to),
    }
}
