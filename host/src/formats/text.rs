//! Values as text and back: one reading and one spelling for every text format, with Flink's meaning.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone};
use std::io::Write as _;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 1970-01-01 in days of the common era, chrono's count.
const EPOCH_DAY_CE: i32 = 719_163;

/// Why a text is no value of a numeric type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberFault {
    Malformed,
    OutOfRange,
    Fraction,
}

/// A whole number with an optional sign, nothing else.
pub fn parse_integer(text: &str) -> Result<i64, NumberFault> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    text.parse::<i64>().map_err(|e| match e.kind() {
        PosOverflow | NegOverflow => NumberFault::OutOfRange,
        _ => NumberFault::Malformed,
    })
}

/// A number in the JSON grammar whose value is whole: `12`, `1.0`, `1e3`.
pub fn parse_whole_number(text: &str) -> Result<i64, NumberFault> {
    if !text.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return parse_integer(text);
    }
    let (value, exact) = scaled(text, 38, 0)?;
    if !exact {
        return Err(NumberFault::Fraction);
    }
    i64::try_from(value).map_err(|_| NumberFault::OutOfRange)
}

/// The unscaled value of a DECIMAL(precision, scale), rounded HALF_UP as Flink does; more integer digits than the
/// type has are an error.
pub fn parse_decimal(text: &str, precision: u8, scale: u8) -> Result<i128, NumberFault> {
    scaled(text, precision, scale).map(|(value, _)| value)
}

/// `text` times 10^scale, rounded HALF_UP, and whether nothing was rounded off.
fn scaled(text: &str, precision: u8, scale: u8) -> Result<(i128, bool), NumberFault> {
    let number = DecimalText::parse(text)?;
    let digits = number.digits().skip_while(|&d| d == 0).count() as i64;
    if digits == 0 {
        return Ok((0, true));
    }
    let shift = i64::from(scale) + number.exponent - number.fraction_len;
    let keep = digits + shift;
    if keep > i64::from(precision) {
        return Err(NumberFault::OutOfRange);
    }
    let mut value: i128 = 0;
    let mut rounded_off = false;
    for (i, digit) in number.digits().skip_while(|&d| d == 0).enumerate() {
        let place = i as i64;
        if place < keep {
            value = value * 10 + i128::from(digit);
        } else {
            rounded_off |= digit != 0;
            if place == keep && digit >= 5 {
                value += 1;
            }
        }
    }
    for _ in digits..keep.max(digits) {
        value *= 10;
    }
    if value >= 10_i128.pow(u32::from(precision)) {
        return Err(NumberFault::OutOfRange);
    }
    Ok((if number.negative { -value } else { value }, !rounded_off))
}

/// A decimal number taken apart.
struct DecimalText<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    fraction_len: i64,
    exponent: i64,
}

impl<'a> DecimalText<'a> {
    fn parse(text: &'a str) -> Result<Self, NumberFault> {
        let bytes = text.as_bytes();
        let (negative, bytes) = match bytes.first() {
            Some(b'-') => (true, &bytes[1..]),
            Some(b'+') => (false, &bytes[1..]),
            _ => (false, bytes),
        };
        let (mantissa, exponent) = match bytes.iter().position(|b| matches!(b, b'e' | b'E')) {
            Some(at) => (&bytes[..at], parse_exponent(&bytes[at + 1..])?),
            None => (bytes, 0),
        };
        let (integer, fraction) = match mantissa.iter().position(|&b| b == b'.') {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &mantissa[..0]),
        };
        let all_digits = integer.iter().chain(fraction).all(u8::is_ascii_digit);
        if !all_digits || integer.len() + fraction.len() == 0 {
            return Err(NumberFault::Malformed);
        }
        Ok(Self { negative, integer, fraction, fraction_len: fraction.len() as i64, exponent })
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.integer.iter().chain(self.fraction).map(|b| b - b'0')
    }
}

/// Exponents beyond a million are clamped: no column can tell them from one another.
fn parse_exponent(bytes: &[u8]) -> Result<i64, NumberFault> {
    let (sign, digits) = match bytes.first() {
        Some(b'-') => (-1, &bytes[1..]),
        Some(b'+') => (1, &bytes[1..]),
        _ => (1, bytes),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(NumberFault::Malformed);
    }
    const LIMIT: i64 = 1 << 40;
    let magnitude = digits.iter().fold(0_i64, |n, d| (n * 10 + i64::from(d - b'0')).min(LIMIT));
    Ok(sign * magnitude)
}

/// A floating point number; `NaN`, `Infinity` and `-Infinity` in Java's spelling only.
pub fn parse_double(text: &str) -> Result<f64, NumberFault> {
    match text {
        "NaN" => return Ok(f64::NAN),
        "Infinity" | "+Infinity" => return Ok(f64::INFINITY),
        "-Infinity" => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    if !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E')) {
        return Err(NumberFault::Malformed);
    }
    let value = text.parse::<f64>().map_err(|_| NumberFault::Malformed)?;
    if value.is_finite() { Ok(value) } else { Err(NumberFault::OutOfRange) }
}

/// As [`parse_double`], rounded once (not through a double).
pub fn parse_float(text: &str) -> Result<f32, NumberFault> {
    let wide = parse_double(text)?;
    if !wide.is_finite() {
        return Ok(wide as f32);
    }
    let value = text.parse::<f32>().map_err(|_| NumberFault::Malformed)?;
    if value.is_finite() { Ok(value) } else { Err(NumberFault::OutOfRange) }
}

/// Reads fixed-width digit fields from the front of a text.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number(&mut self, width: usize) -> Option<u32> {
        let (head, rest) = self.0.split_at_checked(width)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(head.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0')))
    }
    fn eat(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }
    /// `yyyy-MM-dd`, as days since 1970.
    fn date(&mut self) -> Option<i32> {
        let year = self.number(4)?;
        self.eat(b'-')?;
        let month = self.number(2)?;
        self.eat(b'-')?;
        let day = self.number(2)?;
        NaiveDate::from_ymd_opt(year as i32, month, day).map(|d| d.num_days_from_ce() - EPOCH_DAY_CE)
    }
    /// `HH:mm[:ss[.fffffffff]]`, as nanoseconds of the day.
    fn time(&mut self) -> Option<i64> {
        let hour = self.number(2)?;
        self.eat(b':')?;
        let minute = self.number(2)?;
        let mut second = 0;
        let mut nanos = 0;
        if self.eat(b':').is_some() {
            second = self.number(2)?;
            if self.eat(b'.').is_some() {
                nanos = self.fraction()?;
            }
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        Some(i64::from(hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + nanos)
    }
    /// One to nine digits, as nanoseconds.
    fn fraction(&mut self) -> Option<i64> {
        let len = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&len) {
            return None;
        }
        let digits = i64::from(self.number(len)?);
        Some(digits * 10_i64.pow(9 - len as u32))
    }
    /// Nothing, `Z`, or `+HH:mm`; in seconds.
    fn offset(&mut self) -> Option<ZoneText> {
        let sign = match self.0.first() {
            None => return Some(ZoneText::None),
            Some(b'Z' | b'z') => {
                self.0 = &self.0[1..];
                return Some(ZoneText::Utc);
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2)?;
        let _ = self.eat(b':');
        let minutes = if self.0.is_empty() { 0 } else { self.number(2)? };
        (hours <= 18 && minutes < 60).then(|| ZoneText::Offset(sign * (hours * 3600 + minutes * 60) as i32))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ZoneText {
    None,
    Utc,
    Offset(i32),
}

/// Days since 1970 of `yyyy-MM-dd`.
pub fn parse_date(text: &str) -> Option<i32> {
    let mut fields = Fields(text.as_bytes());
    let days = fields.date()?;
    fields.0.is_empty().then_some(days)
}

/// Nanoseconds of the day of `HH:mm[:ss[.f]]`.
pub fn parse_time(text: &str) -> Option<i64> {
    let mut fields = Fields(text.as_bytes());
    let nanos = fields.time()?;
    fields.0.is_empty().then_some(nanos)
}

fn parse_zoned(text: &str) -> Option<(i64, i64, ZoneText)> {
    let mut fields = Fields(text.as_bytes());
    let days = fields.date()?;
    fields.eat(b' ').or_else(|| fields.eat(b'T'))?;
    let nanos = fields.time()?;
    let zone = fields.offset()?;
    let seconds = i64::from(days) * SECONDS_PER_DAY + nanos / NANOS_PER_SECOND;
    fields.0.is_empty().then_some((seconds, nanos % NANOS_PER_SECOND, zone))
}

/// A wall clock `yyyy-MM-dd HH:mm[:ss[.f]]` (or with `T`), as seconds since 1970 and nanoseconds. A final `Z` has no
/// meaning for a wall clock and is dropped (flinkStreamSQL writes it after local times); a numeric offset is refused.
pub fn parse_timestamp(text: &str) -> Option<(i64, i64)> {
    match parse_zoned(text)? {
        (_, _, ZoneText::Offset(_)) => None,
        (seconds, nanos, _) => Some((seconds, nanos)),
    }
}

/// An instant: with `Z` or an offset as it says, else in `zone`.
pub fn parse_instant(text: &str, zone: chrono_tz::Tz) -> Option<(i64, i64)> {
    let (seconds, nanos, written) = parse_zoned(text)?;
    let offset = match written {
        ZoneText::Utc => 0,
        ZoneText::Offset(offset) => offset,
        ZoneText::None => local_offset(seconds, zone)?,
    };
    Some((seconds - i64::from(offset), nanos))
}

/// Seconds east of UTC of a wall clock in a zone: the earlier instant where the clock repeats, the offset before the
/// gap where it jumps (as `java.time.ZonedDateTime.ofLocal`).
pub fn local_offset(seconds: i64, zone: chrono_tz::Tz) -> Option<i32> {
    let wall: NaiveDateTime = chrono::DateTime::from_timestamp(seconds, 0)?.naive_utc();
    let offset = match zone.offset_from_local_datetime(&wall).earliest() {
        Some(offset) => offset,
        None => zone.offset_from_utc_datetime(&wall.checked_sub_signed(TimeDelta::days(1))?),
    };
    Some(offset.fix().local_minus_utc())
}

/// Seconds east of UTC of a zone at an instant.
pub fn offset_of(seconds: i64, zone: chrono_tz::Tz) -> i32 {
    let instant = chrono::DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc();
    zone.offset_from_utc_datetime(&instant).fix().local_minus_utc()
}

/// Appends `+HH:mm`; seconds, which no offset has had since 1972, are cut.
pub fn write_offset(out: &mut Vec<u8>, seconds: i32) {
    out.push(if seconds < 0 { b'-' } else { b'+' });
    let minutes = seconds.unsigned_abs() / 60;
    write_padded(out, minutes / 60, 2);
    out.push(b':');
    write_padded(out, minutes % 60, 2);
}

/// Appends an unscaled decimal with its point: exactly `scale` fraction digits, no exponent.
pub fn write_decimal(out: &mut Vec<u8>, value: i128, scale: u8) {
    if value < 0 {
        out.push(b'-');
    }
    let start = out.len();
    let _ = write!(out, "{}", value.unsigned_abs());
    let (len, scale) = (out.len() - start, usize::from(scale));
    if scale == 0 {
        return;
    }
    if len <= scale {
        let zeros = scale + 1 - len;
        out.splice(start..start, std::iter::repeat_n(b'0', zeros));
    }
    let point = out.len() - scale;
    out.insert(point, b'.');
}

/// Appends `n` with at least `width` digits.
fn write_padded(out: &mut Vec<u8>, n: u32, width: usize) {
    let mut digits = [b'0'; 10];
    let (mut n, mut at) = (n, digits.len());
    while n > 0 {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// Appends `yyyy-MM-dd`. False if the date cannot be expressed.
#[must_use]
pub fn write_date(out: &mut Vec<u8>, days: i64) -> bool {
    let Some(date) = i32::try_from(days)
        .ok()
        .and_then(|d| d.checked_add(EPOCH_DAY_CE))
        .and_then(NaiveDate::from_num_days_from_ce_opt)
        .filter(|d| (0..=9999).contains(&d.year()))
    else {
        return false;
    };
    write_padded(out, date.year() as u32, 4);
    out.push(b'-');
    write_padded(out, date.month(), 2);
    out.push(b'-');
    write_padded(out, date.day(), 2);
    true
}

/// Appends `HH:mm:ss[.f]`, the fraction without trailing zeros.
pub fn write_time(out: &mut Vec<u8>, nanos_of_day: i64) {
    let seconds = (nanos_of_day / NANOS_PER_SECOND) as u32;
    let mut fraction = (nanos_of_day % NANOS_PER_SECOND) as u32;
    write_padded(out, seconds / 3600, 2);
    out.push(b':');
    write_padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    write_padded(out, seconds % 60, 2);
    if fraction > 0 {
        let mut width = 9;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        out.push(b'.');
        write_padded(out, fraction, width);
    }
}

/// Appends `yyyy-MM-dd HH:mm:ss[.f]` with `separator` between date and time. False if it cannot be expressed.
#[must_use]
pub fn write_timestamp(out: &mut Vec<u8>, seconds: i64, nanos: i64, separator: u8) -> bool {
    if !write_date(out, seconds.div_euclid(SECONDS_PER_DAY)) {
        return false;
    }
    out.push(separator);
    write_time(out, seconds.rem_euclid(SECONDS_PER_DAY) * NANOS_PER_SECOND + nanos);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_round_half_up_and_refuse_too_many_integer_digits() {
        assert_eq!(parse_decimal("12.345", 10, 2), Ok(1235));
        assert_eq!(parse_decimal("-12.345", 10, 2), Ok(-1235));
        assert_eq!(parse_decimal("12.344999", 10, 2), Ok(1234));
        assert_eq!(parse_decimal("12.3", 10, 2), Ok(1230));
        assert_eq!(parse_decimal("1.23e1", 10, 2), Ok(1230));
        assert_eq!(parse_decimal("123456789", 10, 2), Err(NumberFault::OutOfRange));
        assert_eq!(parse_decimal("99999999.995", 10, 2), Err(NumberFault::OutOfRange));
        assert_eq!(parse_decimal("0.004", 10, 2), Ok(0));
        assert_eq!(parse_decimal("0.005", 10, 2), Ok(1));
        assert_eq!(parse_decimal("1e-999999999999999999999", 10, 2), Ok(0));
        assert_eq!(parse_decimal("1e999999999999999999999", 10, 2), Err(NumberFault::OutOfRange));
        assert_eq!(parse_decimal("0e999999999999999999999", 10, 2), Ok(0));
        assert_eq!(parse_decimal("0.1234567890123456789", 38, 19), Ok(1234567890123456789));
        assert_eq!(parse_decimal("123456789012345678901234567890", 30, 0), Ok(123456789012345678901234567890));
        for bad in ["", "-", ".", "1.2.3", "1e", "0x1", "1 2", "e5"] {
            assert_eq!(parse_decimal(bad, 10, 2), Err(NumberFault::Malformed), "{bad}");
        }
    }

    #[test]
    fn whole_numbers_refuse_a_fraction() {
        assert_eq!(parse_whole_number("1.5"), Err(NumberFault::Fraction));
        assert_eq!(parse_whole_number("1.0"), Ok(1));
        assert_eq!(parse_whole_number("1e3"), Ok(1000));
        assert_eq!(parse_whole_number("9223372036854775807"), Ok(i64::MAX));
        assert_eq!(parse_whole_number("9223372036854775808"), Err(NumberFault::OutOfRange));
        assert_eq!(parse_whole_number("1e-1"), Err(NumberFault::Fraction));
    }

    #[test]
    fn decimals_are_written_with_all_their_fraction_digits() {
        let text = |v, s| {
            let mut out = vec![];
            write_decimal(&mut out, v, s);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(1230, 2), "12.30");
        assert_eq!(text(-5, 2), "-0.05");
        assert_eq!(text(0, 3), "0.000");
        assert_eq!(text(7, 0), "7");
        assert_eq!(text(i128::from(i64::MAX) * 1000, 0), "9223372036854775807000");
    }

    #[test]
    fn timestamps_round_trip_without_trailing_zeros() {
        for (text, back) in [
            ("2020-02-29 23:59:59.123", "2020-02-29 23:59:59.123"),
            ("1969-12-31T23:59:59.5", "1969-12-31 23:59:59.5"),
            ("2020-01-01 00:00:00.100000000", "2020-01-01 00:00:00.1"),
            ("0001-01-01 00:00", "0001-01-01 00:00:00"),
            ("2013-01-01T10:00:00Z", "2013-01-01 10:00:00"),
        ] {
            let (s, n) = parse_timestamp(text).unwrap();
            let mut out = vec![];
            assert!(write_timestamp(&mut out, s, n, b' '));
            assert_eq!(String::from_utf8(out).unwrap(), back);
        }
        for bad in [
            "2020-02-30 00:00:00",
            "2020-01-01",
            "2020-01-01 24:00:00",
            "2020-01-01 00:00:00.",
            "2020-1-1 00:00:00",
            "2020-01-01 00:00:00+01:00",
            "",
        ] {
            assert_eq!(parse_timestamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn instants_without_an_offset_are_in_the_given_zone() {
        let shanghai = chrono_tz::Asia::Shanghai;
        assert_eq!(parse_instant("1970-01-01 08:00:00", shanghai), Some((0, 0)));
        assert_eq!(parse_instant("1970-01-01 00:00:00Z", shanghai), Some((0, 0)));
        assert_eq!(parse_instant("1970-01-01T01:30:00+01:30", shanghai), Some((0, 0)));
        // The gap of 2021-03-14 in Los Angeles: 02:30 is read with the offset before it.
        let los_angeles = chrono_tz::America::Los_Angeles;
        assert_eq!(
            parse_instant("2021-03-14 02:30:00", los_angeles),
            parse_instant("2021-03-14T10:30:00Z", los_angeles)
        );
    }

    #[test]
    fn a_year_that_has_no_four_digits_is_not_written() {
        assert!(!write_timestamp(&mut vec![], i64::MAX, 0, b' '));
        assert!(!write_date(&mut vec![], i64::from(i32::MAX)));
    }
}
