//! Dates, times and timestamps: between each other, and from text. TIMESTAMP is a wall clock, TIMESTAMP_LTZ an instant
//! that is read and shown in the job's zone.

use super::Failures;
use super::parse::Refused;
use crate::data::LogicalType;
use arrow::array::*;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use chrono::{DateTime, Days, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone, Timelike};
use chrono_tz::Tz;
use std::sync::Arc;

/// A value of a temporal column; TIMESTAMP_LTZ is already the wall clock in the job's zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::expr) enum Moment {
    Date(NaiveDate),
    Time(NaiveTime),
    DateTime(NaiveDateTime),
}

/// A temporal column, to be read value by value.
pub(in crate::expr) enum Moments<'a> {
    Date(&'a Date32Array),
    Time(Numbers<'a>, TimeUnit),
    DateTime(Numbers<'a>, TimeUnit, Option<Tz>),
}

pub(in crate::expr) enum Numbers<'a> {
    Short(&'a [i32]),
    Long(&'a [i64]),
}

impl Numbers<'_> {
    fn at(&self, row: usize) -> i64 {
        match self {
            Numbers::Short(v) => i64::from(v[row]),
            Numbers::Long(v) => v[row],
        }
    }
}

/// Reads `source`, a DATE, TIME or TIMESTAMP column.
pub(in crate::expr) fn moments(source: &ArrayRef, zone: Tz) -> Result<Moments<'_>, ArrowError> {
    use TimeUnit::*;
    Ok(match source.data_type() {
        DataType::Date32 => Moments::Date(source.as_primitive()),
        DataType::Time32(Second) => {
            Moments::Time(Numbers::Short(source.as_primitive::<Time32SecondType>().values()), Second)
        }
        DataType::Time32(_) => {
            Moments::Time(Numbers::Short(source.as_primitive::<Time32MillisecondType>().values()), Millisecond)
        }
        DataType::Time64(Microsecond) => {
            Moments::Time(Numbers::Long(source.as_primitive::<Time64MicrosecondType>().values()), Microsecond)
        }
        DataType::Time64(_) => {
            Moments::Time(Numbers::Long(source.as_primitive::<Time64NanosecondType>().values()), Nanosecond)
        }
        DataType::Timestamp(unit, tz) => {
            let values: &[i64] = match unit {
                Second => source.as_primitive::<TimestampSecondType>().values(),
                Millisecond => source.as_primitive::<TimestampMillisecondType>().values(),
                Microsecond => source.as_primitive::<TimestampMicrosecondType>().values(),
                Nanosecond => source.as_primitive::<TimestampNanosecondType>().values(),
            };
            Moments::DateTime(Numbers::Long(values), *unit, tz.as_ref().map(|_| zone))
        }
        other => return Err(ArrowError::CastError(format!("{other} is no date or time"))),
    })
}

impl Moments<'_> {
    /// None where the number is outside what a date can be.
    pub fn at(&self, row: usize) -> Option<Moment> {
        match self {
            Moments::Date(a) => date_of(a.value(row)).map(Moment::Date),
            Moments::Time(n, unit) => {
                let (seconds, nanos) = split(n.at(row), *unit);
                NaiveTime::from_num_seconds_from_midnight_opt(u32::try_from(seconds).ok()?, nanos).map(Moment::Time)
            }
            Moments::DateTime(n, unit, zone) => {
                let utc = datetime_of(n.at(row), *unit)?;
                Some(Moment::DateTime(match zone {
                    Some(zone) => to_wall_clock(utc, *zone),
                    None => utc,
                }))
            }
        }
    }

    /// Digits of the fraction that the type has.
    pub fn digits(&self) -> usize {
        match self {
            Moments::Date(_) => 0,
            Moments::Time(_, unit) | Moments::DateTime(_, unit, _) => digits_of(*unit),
        }
    }
}

pub(in crate::expr) fn digits_of(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    10i64.pow(digits_of(unit) as u32)
}

fn split(value: i64, unit: TimeUnit) -> (i64, u32) {
    let per = per_second(unit);
    (value.div_euclid(per), (value.rem_euclid(per) * (1_000_000_000 / per)) as u32)
}

fn date_of(days: i32) -> Option<NaiveDate> {
    NaiveDate::from_epoch_days(days)
}

fn days_of(date: NaiveDate) -> i32 {
    date.to_epoch_days()
}

/// The wall clock (or UTC) that a timestamp of this unit stands for.
pub(in crate::expr) fn datetime_of(value: i64, unit: TimeUnit) -> Option<NaiveDateTime> {
    let (seconds, nanos) = split(value, unit);
    DateTime::from_timestamp(seconds, nanos).map(|t| t.naive_utc())
}

/// The number of a timestamp of this unit; digits beyond it are cut (towards the past). None: beyond 64 bits.
pub(in crate::expr) fn number_of(t: NaiveDateTime, unit: TimeUnit) -> Option<i64> {
    let per = per_second(unit);
    let utc = t.and_utc();
    let fraction = i64::from(utc.timestamp_subsec_nanos()) / (1_000_000_000 / per);
    utc.timestamp().checked_mul(per)?.checked_add(fraction)
}

/// The wall clock of `zone` at an instant.
pub(in crate::expr) fn to_wall_clock(utc: NaiveDateTime, zone: Tz) -> NaiveDateTime {
    utc.checked_add_offset(zone.offset_from_utc_datetime(&utc).fix()).unwrap_or(utc)
}

/// The instant of a wall clock time, as Java's `atZone`: of two the earlier; in a gap, later by its length.
pub(in crate::expr) fn to_instant(wall: NaiveDateTime, zone: Tz) -> NaiveDateTime {
    use chrono::LocalResult::*;
    match zone.from_local_datetime(&wall) {
        Single(t) | Ambiguous(t, _) => t.naive_utc(),
        None => {
            // The offset before the gap, which a day earlier surely was in force.
            let before = wall.checked_sub_days(Days::new(1)).unwrap_or(wall);
            wall.checked_sub_offset(zone.offset_from_utc_datetime(&before).fix()).unwrap_or(wall)
        }
    }
}

/// Casts a temporal column to a temporal type.
pub(super) fn column(
    source: &ArrayRef,
    to: &LogicalType,
    zone: Tz,
    failures: &mut Failures<'_>,
) -> Result<ArrayRef, ArrowError> {
    let read = moments(source, zone)?;
    fill(source.as_ref(), to, zone, failures, |i| read.at(i).ok_or("it is out of range"))
}

/// Reads a temporal column from text.
pub(super) fn from_text(
    source: &StringArray,
    to: &LogicalType,
    zone: Tz,
    failures: &mut Failures<'_>,
) -> Result<ArrayRef, ArrowError> {
    fill(source, to, zone, failures, |i| {
        let text = source.value(i);
        match to {
            LogicalType::Date => parse_date(text).map(Moment::Date),
            LogicalType::Time(_) => parse_time(text).map(Moment::Time),
            _ => parse_timestamp(text).map(Moment::DateTime),
        }
        .ok_or(match to {
            LogicalType::Date => "a date is written yyyy-MM-dd",
            LogicalType::Time(_) => "a time is written HH:mm:ss[.fraction]",
            _ => "a timestamp is written yyyy-MM-dd HH:mm:ss[.fraction]",
        })
    })
}

/// Builds a column of type `to`; rows that are NULL in `source` are not asked for.
fn fill(
    source: &dyn Array,
    to: &LogicalType,
    zone: Tz,
    failures: &mut Failures<'_>,
    value: impl Fn(usize) -> Result<Moment, &'static str>,
) -> Result<ArrayRef, ArrowError> {
    let mut numbers = vec![0i64; source.len()];
    let mut refused = Refused::default();
    for i in (0..source.len()).filter(|&i| source.is_valid(i)) {
        match value(i).and_then(|m| number_for(m, to, zone).ok_or("it is out of range")) {
            Ok(n) => numbers[i] = n,
            Err(why) => {
                failures.add(i, why);
                refused.0.push(i);
            }
        }
    }
    // The data type decides whether the numbers are 32 or 64 bits wide.
    let data_type = to.to_arrow();
    let values: ArrayRef = match data_type {
        DataType::Date32 | DataType::Time32(_) => {
            Arc::new(Int32Array::from_iter_values(numbers.iter().map(|n| *n as i32)))
        }
        _ => Arc::new(Int64Array::from(numbers)),
    };
    let data = values.to_data().into_builder().data_type(data_type);
    let data = data.nulls(refused.mask(source.logical_nulls().as_ref(), source.len())).build()?;
    Ok(make_array(data))
}

fn number_for(moment: Moment, to: &LogicalType, zone: Tz) -> Option<i64> {
    match to {
        LogicalType::Date => Some(i64::from(days_of(match moment {
            Moment::Date(d) => d,
            Moment::DateTime(t) => t.date(),
            Moment::Time(_) => return None,
        }))),
        LogicalType::Time(p) => {
            let time = match moment {
                Moment::Time(t) => t,
                Moment::DateTime(t) => t.time(),
                Moment::Date(_) => return None,
            };
            let per = per_second(crate::data::time_unit(*p));
            let nanos = i64::from(cut(time.nanosecond(), *p));
            Some(i64::from(time.num_seconds_from_midnight()) * per + nanos / (1_000_000_000 / per))
        }
        LogicalType::Timestamp(p) | LogicalType::TimestampLtz(p) => {
            let wall = match moment {
                Moment::Date(d) => d.and_time(NaiveTime::MIN),
                // Flink puts a bare time on the day of the epoch.
                Moment::Time(t) => date_of(0)?.and_time(t),
                Moment::DateTime(t) => t,
            };
            let wall = wall.with_nanosecond(cut(wall.nanosecond(), *p))?;
            let stored = if matches!(to, LogicalType::TimestampLtz(_)) { to_instant(wall, zone) } else { wall };
            number_of(stored, crate::data::time_unit(*p))
        }
        _ => None,
    }
}

/// Cuts a fraction to `precision` digits.
fn cut(nanos: u32, precision: u8) -> u32 {
    let step = 10u32.pow(9 - u32::from(precision.min(9)));
    nanos - nanos % step
}

/// `DateTimeUtils.parseDate`: `yyyy[-M[-d]]`; what follows a blank is not looked at.
pub(in crate::expr) fn parse_date(text: &str) -> Option<NaiveDate> {
    let text = text.find(' ').filter(|at| *at > 0).map_or(text, |at| &text[..at]);
    let mut parts = text.splitn(3, '-').map(|p| digits(p.trim()));
    let year = i32::try_from(parts.next()??).ok().filter(|y| *y <= 9999)?;
    let month = parts.next().unwrap_or(Some(1))?;
    let day = parts.next().unwrap_or(Some(1))?;
    NaiveDate::from_ymd_opt(year, month, day)
}

/// `HH[:mm[:ss[.f]]]`. Flink's parser also takes hours over 23 and offsets; we do not.
fn parse_time(text: &str) -> Option<NaiveTime> {
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, nanos(fraction)?),
        None => (text, 0),
    };
    let parts = clock.splitn(3, ':').map(|p| digits(p.trim())).collect::<Option<Vec<_>>>()?;
    if fraction > 0 && parts.len() < 3 {
        return None;
    }
    let at = |i: usize| parts.get(i).copied().unwrap_or(0);
    NaiveTime::from_hms_nano_opt(at(0), at(1), at(2), fraction)
}

/// `yyyy-M-d[ H:m:s[.f]]`, Flink's `DEFAULT_TIMESTAMP_FORMATTER`, with Java's SMART resolution: a day that the month
/// does not have becomes its last, 24:00:00 is midnight of the next day.
pub(in crate::expr) fn parse_timestamp(text: &str) -> Option<NaiveDateTime> {
    let (date, clock) = match text.split_once(' ') {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let year = parts.next().filter(|y| y.len() == 4).and_then(digits)?;
    let month = parts.next().and_then(short)?;
    let day = parts.next().and_then(short)?;
    let date = smart_date(i32::try_from(year).ok()?, month, day)?;
    let Some(clock) = clock else { return Some(date.and_time(NaiveTime::MIN)) };
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, nanos(fraction)?),
        None => (clock, 0),
    };
    let mut parts = clock.splitn(3, ':');
    let hour = parts.next().and_then(short)?;
    let minute = parts.next().and_then(short)?;
    let second = parts.next().and_then(short)?;
    smart_time(date, hour, minute, second, fraction)
}

pub(in crate::expr) fn smart_date(year: i32, month: u32, day: u32) -> Option<NaiveDate> {
    if !(1..=31).contains(&day) {
        return None;
    }
    NaiveDate::from_ymd_opt(year, month, day)
        .or_else(|| (28..day).rev().find_map(|d| NaiveDate::from_ymd_opt(year, month, d)))
}

pub(in crate::expr) fn smart_time(
    date: NaiveDate,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
) -> Option<NaiveDateTime> {
    if (hour, minute, second, nanos) == (24, 0, 0, 0) {
        return Some(date.checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN));
    }
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos).map(|t| date.and_time(t))
}

fn digits(text: &str) -> Option<u32> {
    (!text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn short(text: &str) -> Option<u32> {
    digits(text).filter(|_| text.len() <= 2)
}

/// The digits after the point, up to nine, as nanoseconds.
pub(in crate::expr) fn nanos(fraction: &str) -> Option<u32> {
    if fraction.is_empty() {
        return Some(0);
    }
    Some(digits(fraction)? * 10u32.pow(9 - fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> Option<String> {
        parse_timestamp(text).map(|t| t.format("%Y-%m-%d %H:%M:%S%.f").to_string())
    }

    #[test]
    fn timestamps_are_read_as_flinks_default_formatter_does() {
        let ok = [
            ("2024-01-02 03:04:05", "2024-01-02 03:04:05"),
            ("2024-1-2 3:4:5.6", "2024-01-02 03:04:05.600"),
            ("2024-01-02", "2024-01-02 00:00:00"),
            ("2024-02-31", "2024-02-29 00:00:00"),
            ("2023-12-31 24:00:00", "2024-01-01 00:00:00"),
            ("2024-01-02 03:04:05.123456789", "2024-01-02 03:04:05.123456789"),
        ];
        for (text, value) in ok {
            assert_eq!(timestamp(text).as_deref(), Some(value), "{text}");
        }
        for text in [
            "",
            "2024",
            "24-01-02",
            "2024-13-01",
            "2024-01-32",
            "2024-01-02T03:04:05",
            "2024-01-02 03:04",
            "2024-01-02 25:00:00",
            "2024-01-02 24:00:01",
            "2024-01-02 03:04:05.1234567890",
            "2024-01-02 03:04:05Z",
            " 2024-01-02",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn a_wall_clock_in_a_gap_moves_by_the_gap() {
        let zone: Tz = "Europe/Berlin".parse().unwrap();
        let wall = parse_timestamp("2024-03-31 02:30:00").unwrap();
        assert_eq!(to_wall_clock(to_instant(wall, zone), zone), parse_timestamp("2024-03-31 03:30:00").unwrap());
        let twice = parse_timestamp("2024-10-27 02:30:00").unwrap();
        assert_eq!(to_instant(twice, zone), parse_timestamp("2024-10-27 00:30:00").unwrap());
    }

    #[test]
    fn numbers_before_the_epoch_cut_towards_the_past() {
        let t = parse_timestamp("1969-12-31 23:59:59.9999").unwrap();
        assert_eq!(number_of(t, TimeUnit::Millisecond), Some(-1));
        assert_eq!(datetime_of(-1, TimeUnit::Millisecond), parse_timestamp("1969-12-31 23:59:59.999"));
        assert_eq!(number_of(parse_timestamp("9999-01-01").unwrap(), TimeUnit::Nanosecond), None);
    }
}
