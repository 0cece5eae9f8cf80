//! Date patterns of `java.time.format.DateTimeFormatter` as DATE_FORMAT and TO_TIMESTAMP take them. Supported letters:
//! y u M L d D H k K h m s S a E, quoted text; names are English. Anything else is refused by name.

use super::cast::temporal::{smart_date, smart_time};
use super::cast::text::pad;
use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};
use std::fmt::Write as _;

/// A pattern, ready to format and to parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaFormat {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Literal(String),
    /// How often the letter stands there.
    Field(Field, usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    Month,
    Day,
    DayOfYear,
    /// 0-23
    Hour,
    /// 1-24
    ClockHour,
    /// 0-11
    HalfHour,
    /// 1-12
    ClockHalfHour,
    Minute,
    Second,
    Fraction,
    HalfOfDay,
    Weekday,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl Field {
    /// The field of a letter and how often the letter may be repeated.
    fn of(letter: char) -> Option<(Field, usize)> {
        Some(match letter {
            'y' | 'u' => (Field::Year, 9),
            'M' | 'L' => (Field::Month, 4),
            'd' => (Field::Day, 2),
            'D' => (Field::DayOfYear, 3),
            'H' => (Field::Hour, 2),
            'k' => (Field::ClockHour, 2),
            'K' => (Field::HalfHour, 2),
            'h' => (Field::ClockHalfHour, 2),
            'm' => (Field::Minute, 2),
            's' => (Field::Second, 2),
            'S' => (Field::Fraction, 9),
            'a' => (Field::HalfOfDay, 1),
            'E' => (Field::Weekday, 4),
            _ => return None,
        })
    }
}

impl Item {
    fn is_number(&self) -> bool {
        match self {
            Item::Literal(_) | Item::Field(Field::HalfOfDay | Field::Weekday, _) => false,
            Item::Field(Field::Month, count) => *count <= 2,
            Item::Field(..) => true,
        }
    }

    /// Digits that the field takes when other digits follow at once; None: as many as there are.
    fn fixed_width(&self) -> Option<usize> {
        match self {
            Item::Field(Field::Fraction, count) => Some(*count),
            Item::Field(Field::Year, 2) => Some(2),
            Item::Field(Field::Year, _) | Item::Field(_, 1) => None,
            Item::Field(_, count) => Some(*count),
            Item::Literal(_) => None,
        }
    }
}

impl JavaFormat {
    /// Reads a pattern; an error says which letter is not understood.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let mut items: Vec<Item> = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\'' {
                push_literal(&mut items, &quoted(&mut chars, pattern)?);
            } else if c.is_ascii_alphabetic() {
                let mut count = 1;
                while chars.next_if_eq(&c).is_some() {
                    count += 1;
                }
                let Some((field, max)) = Field::of(c) else {
                    return Err(format!(
                        "date pattern '{pattern}': the letter '{c}' is not supported; text goes into quotes, as in \
                         'yyyy-MM-dd''T''HH:mm:ss'"
                    ));
                };
                if count > max {
                    return Err(format!("date pattern '{pattern}': too many '{c}' in a row"));
                }
                items.push(Item::Field(field, count));
            } else if matches!(c, '[' | ']' | '{' | '}' | '#') {
                return Err(format!("date pattern '{pattern}': '{c}' is not supported"));
            } else {
                push_literal(&mut items, c.encode_utf8(&mut [0; 4]));
            }
        }
        Ok(Self { items })
    }

    /// Appends `t` in this form.
    pub fn format(&self, t: &NaiveDateTime, out: &mut String) {
        for item in &self.items {
            match item {
                Item::Literal(text) => out.push_str(text),
                Item::Field(field, count) => format_field(*field, *count, t, out),
            }
        }
    }

    /// Reads the whole of `text`. Missing fields are those of 1970-01-01 00:00:00 (as Flink's TO_TIMESTAMP fills
    /// them); None if the text does not have this form or is no date.
    pub fn parse(&self, text: &str) -> Option<NaiveDateTime> {
        let mut rest = text;
        let mut parts = Parts::default();
        for (i, item) in self.items.iter().enumerate() {
            match item {
                Item::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Item::Field(field, count) => {
                    rest = self.parse_field(*field, *count, &self.items[i + 1..], rest, &mut parts)?;
                }
            }
        }
        if rest.is_empty() { parts.resolve() } else { None }
    }

    fn parse_field<'a>(
        &self,
        field: Field,
        count: usize,
        following: &[Item],
        text: &'a str,
        parts: &mut Parts,
    ) -> Option<&'a str> {
        let item = Item::Field(field, count);
        if !item.is_number() {
            return match field {
                Field::HalfOfDay => named(text, &["AM", "PM"], 2).map(|(i, rest)| {
                    parts.afternoon = Some(i == 1);
                    rest
                }),
                Field::Weekday => {
                    let short = if count < 4 { 3 } else { usize::MAX };
                    named(text, &WEEKDAYS, short).map(|(i, rest)| {
                        parts.weekday = Some(i as u32);
                        rest
                    })
                }
                _ => named(text, &MONTHS, if count == 3 { 3 } else { usize::MAX }).map(|(i, rest)| {
                    parts.month = Some(i as u32 + 1);
                    rest
                }),
            };
        }
        let available = text.bytes().take_while(u8::is_ascii_digit).count();
        let width = match item.fixed_width() {
            Some(width) => width,
            // A field of open width leaves the digits that the fields right after it need.
            None => {
                let reserved: usize =
                    following.iter().map_while(|f| f.is_number().then(|| f.fixed_width()).flatten()).sum();
                available.checked_sub(reserved)?
            }
        };
        if width == 0 || width > available || width > 9 {
            return None;
        }
        // `yyyy` is four digits: more would need a sign, fewer a shorter pattern.
        if field == Field::Year && count != 2 && (width < count || (count >= 4 && width > count)) {
            return None;
        }
        let value: u32 = text[..width].parse().ok()?;
        parts.set(field, count, value)?;
        Some(&text[width..])
    }
}

fn push_literal(items: &mut Vec<Item>, text: &str) {
    match items.last_mut() {
        Some(Item::Literal(last)) => last.push_str(text),
        _ => items.push(Item::Literal(text.to_string())),
    }
}

/// What stands between quotes; the opening one is read. `''` is a quote, inside and outside.
fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, pattern: &str) -> Result<String, String> {
    let mut text = String::new();
    loop {
        match chars.next() {
            Some('\'') if chars.next_if_eq(&'\'').is_some() => text.push('\''),
            Some('\'') => return Ok(if text.is_empty() { "'".to_string() } else { text }),
            Some(c) => text.push(c),
            None => return Err(format!("date pattern '{pattern}': a quote is not closed")),
        }
    }
}

/// The index of the name (cut to `length` letters) that `text` starts with, and the rest.
fn named<'a>(text: &'a str, names: &[&str], length: usize) -> Option<(usize, &'a str)> {
    let cut = |name: &str| name.len().min(length);
    names.iter().enumerate().find_map(|(i, name)| text.strip_prefix(&name[..cut(name)]).map(|rest| (i, rest)))
}

fn format_field(field: Field, count: usize, t: &NaiveDateTime, out: &mut String) {
    let hour = t.hour();
    let number = match field {
        Field::Year => {
            let year = t.year();
            if count == 2 {
                year.rem_euclid(100) as u32
            } else {
                if count >= 4 && year > 9999 {
                    out.push('+');
                }
                let _ = write!(out, "{year:0count$}");
                return;
            }
        }
        Field::Month if count > 2 => {
            let name = MONTHS[t.month0() as usize];
            return out.push_str(if count == 3 { &name[..3] } else { name });
        }
        Field::Weekday => {
            let name = WEEKDAYS[t.weekday().num_days_from_monday() as usize];
            return out.push_str(if count < 4 { &name[..3] } else { name });
        }
        Field::HalfOfDay => return out.push_str(if hour < 12 { "AM" } else { "PM" }),
        Field::Fraction => t.nanosecond() / 10u32.pow(9 - count as u32),
        Field::Month => t.month(),
        Field::Day => t.day(),
        Field::DayOfYear => t.ordinal(),
        Field::Hour => hour,
        Field::ClockHour => (hour + 23) % 24 + 1,
        Field::HalfHour => hour % 12,
        Field::ClockHalfHour => (hour + 11) % 12 + 1,
        Field::Minute => t.minute(),
        Field::Second => t.second(),
    };
    pad(number, count, out);
}

/// What a text said.
#[derive(Default)]
struct Parts {
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    day_of_year: Option<u32>,
    hour: Option<u32>,
    half_hour: Option<u32>,
    afternoon: Option<bool>,
    minute: Option<u32>,
    second: Option<u32>,
    nanos: Option<u32>,
    weekday: Option<u32>,
}

impl Parts {
    /// None if the value is outside the field's range.
    fn set(&mut self, field: Field, count: usize, value: u32) -> Option<()> {
        let within = |range: std::ops::RangeInclusive<u32>| range.contains(&value).then_some(value);
        match field {
            Field::Year => self.year = Some(if count == 2 { 2000 + value } else { value }),
            Field::Month => self.month = Some(within(1..=12)?),
            Field::Day => self.day = Some(within(1..=31)?),
            Field::DayOfYear => self.day_of_year = Some(within(1..=366)?),
            Field::Hour => self.hour = Some(within(0..=24)?),
            Field::ClockHour => self.hour = Some(within(1..=24)? % 24),
            Field::HalfHour => self.half_hour = Some(within(0..=11)?),
            Field::ClockHalfHour => self.half_hour = Some(within(1..=12)? % 12),
            Field::Minute => self.minute = Some(within(0..=59)?),
            Field::Second => self.second = Some(within(0..=59)?),
            Field::Fraction => self.nanos = Some(value * 10u32.pow(9 - count as u32)),
            Field::HalfOfDay | Field::Weekday => {}
        }
        Some(())
    }

    fn resolve(self) -> Option<NaiveDateTime> {
        let year = i32::try_from(self.year.unwrap_or(1970)).ok()?;
        let date = match self.day_of_year {
            Some(day) if self.month.is_none() && self.day.is_none() => NaiveDate::from_yo_opt(year, day)?,
            _ => smart_date(year, self.month.unwrap_or(1), self.day.unwrap_or(1))?,
        };
        if self.weekday.is_some_and(|w| self.year.is_some() && w != date.weekday().num_days_from_monday()) {
            return None;
        }
        // Without AM or PM an hour of the half day says nothing about the hour of the day.
        let hour = self.hour.or(match (self.half_hour, self.afternoon) {
            (Some(h), Some(pm)) => Some(h + if pm { 12 } else { 0 }),
            _ => None,
        });
        smart_time(date, hour.unwrap_or(0), self.minute.unwrap_or(0), self.second.unwrap_or(0), self.nanos.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").unwrap()
    }

    fn format(pattern: &str, t: &str) -> String {
        let mut out = String::new();
        JavaFormat::new(pattern).unwrap().format(&moment(t), &mut out);
        out
    }

    #[test]
    fn formats_as_java_does() {
        let t = "2024-01-02 15:04:05.678";
        let cases = [
            ("yyyy-MM-dd HH:mm:ss", "2024-01-02 15:04:05"),
            ("yyyyMMddHHmmssSSS", "20240102150405678"),
            ("yy/M/d h:mm a", "24/1/2 3:04 PM"),
            ("EEE, d MMM uuuu", "Tue, 2 Jan 2024"),
            ("EEEE MMMM D", "Tuesday January 2"),
            ("yyyy-MM-dd'T'HH:mm:ss.S", "2024-01-02T15:04:05.6"),
            ("'it''s' yyyy", "it's 2024"),
            ("yyyy''MM", "2024'01"),
            ("k K kk", "15 3 15"),
            ("数yyyy", "数2024"),
        ];
        for (pattern, text) in cases {
            assert_eq!(format(pattern, t), text, "{pattern}");
        }
        assert_eq!(format("k h K", "2024-01-02 00:00:00"), "24 12 0");
    }

    #[test]
    fn parses_what_it_formats() {
        let t = moment("2024-12-31 15:04:05.678");
        for pattern in [
            "yyyy-MM-dd HH:mm:ss.SSS",
            "yyyyMMddHHmmssSSS",
            "d MMM yyyy, hh:mm:ss.SSS a",
            "EEEE, MMMM d yyyy HH:mm:ss.SSS",
            "yyyy-DDD'T'kk:mm:ss.SSS",
        ] {
            let format = JavaFormat::new(pattern).unwrap();
            let mut text = String::new();
            format.format(&t, &mut text);
            assert_eq!(format.parse(&text), Some(t), "{pattern}: {text}");
        }
    }

    #[test]
    fn parsing_is_as_strict_as_javas() {
        let cases = [
            ("yyyy-MM-dd", "2024-1-02", None),
            ("yyyy-M-d", "2024-1-2", Some("2024-01-02 00:00:00")),
            ("yyyy-MM-dd", "2024-02-31", Some("2024-02-29 00:00:00")),
            ("yyyy-MM-dd", "2024-13-01", None),
            ("yyyy-MM-dd", "2024-01-02x", None),
            ("yyyy-MM-dd", "20245-01-02", None),
            ("yyyyMMdd", "20240102", Some("2024-01-02 00:00:00")),
            ("yyyyMMdd", "2024010", None),
            ("HH:mm", "25:00", None),
            ("HHmm", "2400", Some("1970-01-02 00:00:00")),
            ("HHmm", "2401", None),
            ("yy", "24", Some("2024-01-01 00:00:00")),
            ("hh:mm", "03:04", Some("1970-01-01 00:04:00")),
            ("E yyyy-MM-dd", "Mon 2024-01-02", None),
            ("yyyy", "", None),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(JavaFormat::new(pattern).unwrap().parse(text), expected.map(moment), "{pattern} {text}");
        }
    }

    #[test]
    fn unknown_letters_are_named() {
        for (pattern, what) in
            [("yyyy-MM-ddTHH", "'T'"), ("HH:mm z", "'z'"), ("yyyy[-MM]", "'['"), ("'x", "quote"), ("HHH", "'H'")]
        {
            let message = JavaFormat::new(pattern).unwrap_err();
            assert!(message.contains(what) && message.contains(pattern), "{message}");
        }
    }
}
