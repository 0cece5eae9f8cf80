//! What a column holds: its settings, and its values.

use super::random::Random;
use crate::data::LogicalType;
use crate::formats::{ColumnBuilder, TextRules, parse_decimal, write_decimal};
use crate::sql::options::duration;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Length of text and bytes whose type has none.
const LENGTH: u32 = 100;
/// Entries of an ARRAY or MAP.
const ENTRIES: u32 = 3;
/// Longer values would not be made up any faster than they fill the memory.
const LENGTH_MAX: u32 = 16 << 20;

/// One column, or a part of a nested one.
pub(super) struct Field {
    kind: Kind,
    null_rate: f64,
}

enum Kind {
    /// Counts rows from `start`; `end` is its last number.
    Sequence {
        start: i64,
        end: i64,
    },
    Boolean,
    /// Whole numbers, also of DECIMAL (in units of its scale).
    Whole {
        min: i128,
        max: i128,
        scale: Option<u8>,
    },
    Float {
        min: f64,
        max: f64,
    },
    Text {
        length: u32,
        varies: bool,
    },
    Bytes {
        length: u32,
        varies: bool,
    },
    Date,
    Time,
    /// Up to so long ago.
    Timestamp {
        max_past: Duration,
    },
    Array {
        entries: u32,
        element: Box<Field>,
    },
    Map {
        entries: u32,
        key: Box<Field>,
        value: Box<Field>,
    },
    Row(Vec<Field>),
}

/// The settings of one column, `fields.<column>.<setting>`; each that is read is taken out.
pub(super) struct Settings {
    column: String,
    left: Vec<(String, String)>,
}

impl Settings {
    pub fn new(column: &str, left: Vec<(String, String)>) -> Self {
        Self { column: column.to_string(), left }
    }

    fn take(&mut self, path: &str, name: &str) -> Option<String> {
        let key = format!("{path}{name}");
        let at = self.left.iter().position(|(k, _)| *k == key)?;
        Some(self.left.swap_remove(at).1)
    }

    fn parsed<T>(
        &mut self,
        path: &str,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.take(path, name) {
            None => Ok(None),
            Some(text) => match parse(text.trim()) {
                Some(value) => Ok(Some(value)),
                None => Err(format!("{} = '{text}': expected {expected}", self.key(path, name))),
            },
        }
    }

    fn key(&self, path: &str, name: &str) -> String {
        format!("fields.{}.{path}{name}", self.column)
    }

    /// Every setting must have been read: one that is not would change nothing.
    pub fn finish(self, logical_type: &LogicalType) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("fields.{}.{name} means nothing for a {logical_type}", self.column)),
        }
    }
}

/// As the settings say, from `path` on (empty for the column itself).
pub(super) fn field(settings: &mut Settings, path: &str, logical_type: &LogicalType) -> Result<Field, String> {
    let null_rate = settings.parsed(path, "null-rate", "a number from 0 to 1", |t| {
        t.parse::<f64>().ok().filter(|r| (0.0..=1.0).contains(r))
    })?;
    let kind = match settings.take(path, "kind").as_deref() {
        None | Some("random") => random_kind(settings, path, logical_type)?,
        Some("sequence") => sequence_kind(settings, path, logical_type)?,
        Some(other) => return Err(format!("{} = '{other}': expected random or sequence", settings.key(path, "kind"))),
    };
    Ok(Field { kind, null_rate: null_rate.unwrap_or(0.0) })
}

fn sequence_kind(settings: &mut Settings, path: &str, logical_type: &LogicalType) -> Result<Kind, String> {
    if !(logical_type.is_numeric() || logical_type.is_text()) {
        return Err(format!("{}: a {logical_type} cannot be a sequence", settings.key(path, "kind")));
    }
    let mut bound = |name| {
        settings
            .parsed(path, name, "a whole number", |t| t.parse::<i64>().ok())?
            .ok_or_else(|| format!("{} is missing: a sequence needs start and end", settings.key(path, name)))
    };
    let (start, end) = (bound("start")?, bound("end")?);
    if start > end {
        return Err(format!("{} = '{start}' is beyond the end, {end}", settings.key(path, "start")));
    }
    Ok(Kind::Sequence { start, end })
}

fn random_kind(settings: &mut Settings, path: &str, logical_type: &LogicalType) -> Result<Kind, String> {
    use LogicalType as T;
    Ok(match logical_type {
        T::Boolean => Kind::Boolean,
        T::TinyInt => whole(settings, path, i8::MIN.into(), i8::MAX.into(), None)?,
        T::SmallInt => whole(settings, path, i16::MIN.into(), i16::MAX.into(), None)?,
        T::Int => whole(settings, path, i32::MIN.into(), i32::MAX.into(), None)?,
        T::BigInt => whole(settings, path, i64::MIN.into(), i64::MAX.into(), None)?,
        T::Decimal(precision, scale) => {
            let largest = 10i128.pow(u32::from(*precision)) - 1;
            whole(settings, path, -largest, largest, Some((*precision, *scale)))?
        }
        T::Float => float(settings, path, f64::from(f32::MIN), f64::from(f32::MAX))?,
        T::Double => float(settings, path, f64::MIN, f64::MAX)?,
        T::Char(n) => Kind::Text { length: *n, varies: false },
        T::Varchar(n) => {
            let (length, varies) = length(settings, path, *n)?;
            Kind::Text { length, varies }
        }
        T::Binary(n) => Kind::Bytes { length: *n, varies: false },
        T::Varbinary(n) => {
            let (length, varies) = length(settings, path, *n)?;
            Kind::Bytes { length, varies }
        }
        T::Date => Kind::Date,
        T::Time(_) => Kind::Time,
        T::Timestamp(_) | T::TimestampLtz(_) => {
            let past = settings
                .parsed(path, "max-past", "a duration such as 10 s", |t| duration(t, Duration::from_millis(1)))?;
            Kind::Timestamp { max_past: past.unwrap_or_default() }
        }
        T::Array(element) => Kind::Array {
            entries: entries(settings, path)?,
            element: Box::new(field(settings, &format!("{path}element."), element)?),
        },
        T::Map(key, value) => Kind::Map {
            entries: entries(settings, path)?,
            key: Box::new(field(settings, &format!("{path}key."), key)?),
            value: Box::new(field(settings, &format!("{path}value."), value)?),
        },
        T::Row(fields) => Kind::Row(
            fields.iter().map(|(name, t)| field(settings, &format!("{path}{name}."), t)).collect::<Result<_, _>>()?,
        ),
    })
}

/// `min` and `max` of whole numbers and DECIMAL, within the type.
fn whole(
    settings: &mut Settings,
    path: &str,
    least: i128,
    greatest: i128,
    decimal: Option<(u8, u8)>,
) -> Result<Kind, String> {
    let parse = |text: &str| {
        let n = match decimal {
            Some((precision, scale)) => parse_decimal(text, precision, scale).ok(),
            None => text.parse::<i128>().ok(),
        };
        n.filter(|n| (least..=greatest).contains(n))
    };
    let shown = |n: i128| {
        let mut text = vec![];
        write_decimal(&mut text, n, decimal.map_or(0, |d| d.1));
        String::from_utf8(text).unwrap_or_default()
    };
    let expected = format!("a number from {} to {}", shown(least), shown(greatest));
    let min = settings.parsed(path, "min", &expected, parse)?.unwrap_or(least);
    let max = settings.parsed(path, "max", &expected, parse)?.unwrap_or(greatest);
    if min > max {
        return Err(format!("{} = '{}' is beyond the maximum, {}", settings.key(path, "min"), shown(min), shown(max)));
    }
    Ok(Kind::Whole { min, max, scale: decimal.map(|d| d.1) })
}

fn float(settings: &mut Settings, path: &str, least: f64, greatest: f64) -> Result<Kind, String> {
    let parse = |text: &str| text.parse::<f64>().ok().filter(|n| (least..=greatest).contains(n));
    let expected = format!("a number from {least:e} to {greatest:e}");
    let min = settings.parsed(path, "min", &expected, parse)?.unwrap_or(least);
    let max = settings.parsed(path, "max", &expected, parse)?.unwrap_or(greatest);
    if min > max {
        return Err(format!("{} = '{min}' is beyond the maximum, {max}", settings.key(path, "min")));
    }
    Ok(Kind::Float { min, max })
}

/// (length, whether it varies) of VARCHAR, STRING, VARBINARY and BYTES; `declared` is the type's own.
fn length(settings: &mut Settings, path: &str, declared: Option<u32>) -> Result<(u32, bool), String> {
    let most = declared.unwrap_or(LENGTH_MAX).min(LENGTH_MAX);
    let expected = format!("a whole number from 1 to {most}");
    let given =
        settings.parsed(path, "length", &expected, |t| t.parse::<u32>().ok().filter(|n| (1..=most).contains(n)))?;
    let varies = settings.parsed(path, "var-len", "true or false", |t| t.to_lowercase().parse::<bool>().ok())?;
    Ok((given.unwrap_or(declared.unwrap_or(LENGTH)).min(most), varies.unwrap_or(false)))
}

fn entries(settings: &mut Settings, path: &str) -> Result<u32, String> {
    let given = settings
        .parsed(path, "length", "a whole number from 0 to 10000", |t| t.parse::<u32>().ok().filter(|n| *n <= 10_000))?;
    Ok(given.unwrap_or(ENTRIES))
}

impl Field {
    /// How many rows there can be; None: any number.
    pub fn rows(&self) -> Option<u64> {
        match self.kind {
            Kind::Sequence { start, end } => Some((i128::from(end) - i128::from(start) + 1) as u64),
            _ => None,
        }
    }

    /// Appends the value of a row.
    pub fn append(&self, row: u64, random: &mut Random, builder: &mut ColumnBuilder) -> Result<(), String> {
        if self.null_rate > 0.0 && random.unit() < self.null_rate {
            builder.append_null();
            return Ok(());
        }
        const RULES: TextRules = TextRules { time_zone: chrono_tz::UTC, epoch_millis: false };
        match &self.kind {
            Kind::Sequence { start, .. } => builder.append_i64(start.wrapping_add(row as i64)),
            Kind::Boolean => builder.append_bool(random.next() & 1 == 1),
            Kind::Whole { min, max, scale } => {
                let value = random.between(*min, *max);
                match scale {
                    None => builder.append_i64(value as i64),
                    Some(scale) => {
                        let mut text = vec![];
                        write_decimal(&mut text, value, *scale);
                        builder.append_text(&String::from_utf8_lossy(&text), &RULES)
                    }
                }
            }
            Kind::Float { min, max } => {
                let at = random.unit();
                builder.append_f64(min * (1.0 - at) + max * at)
            }
            Kind::Text { length, varies } => {
                let length = pick(random, *length, *varies);
                builder.append_text(&hex(random, length), &RULES)
            }
            Kind::Bytes { length, varies } => {
                let length = pick(random, *length, *varies) as usize;
                let bytes: Vec<u8> = std::iter::repeat_with(|| random.next() as u8).take(length).collect();
                builder.append_bytes(&bytes)
            }
            Kind::Date => builder.append_days((now().as_secs() / 86_400) as i32),
            Kind::Time => builder.append_time((now().as_nanos() % 86_400_000_000_000) as i64),
            Kind::Timestamp { max_past } => {
                let at = now().saturating_sub(max_past.mul_f64(random.unit()));
                builder.append_timestamp(at.as_secs() as i64, at.subsec_nanos().into())
            }
            Kind::Array { entries, element } => {
                builder.append_parts(*entries as usize, |_, part| element.append(row, random, part))
            }
            Kind::Map { entries, key, value } => builder.append_parts(*entries as usize, |part, builder| match part {
                0 => key.append(row, random, builder),
                _ => value.append(row, random, builder),
            }),
            Kind::Row(fields) => builder.append_parts(1, |i, part| fields[i].append(row, random, part)),
        }
    }
}

fn pick(random: &mut Random, length: u32, varies: bool) -> u32 {
    if varies { random.between(1, i128::from(length)) as u32 } else { length }
}

fn hex(random: &mut Random, length: u32) -> String {
    let mut text = String::with_capacity(length as usize + 16);
    while text.len() < length as usize {
        text.push_str(&format!("{:016x}", random.next()));
    }
    text.truncate(length as usize);
    text
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
