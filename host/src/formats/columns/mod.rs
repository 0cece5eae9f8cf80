//! Column builders that can take rows back: a record is appended while it is read, and taken back whole if any part of
//! it fails. Arrow's own builders only grow.

mod finish;

use super::text::{self, NumberFault};
use crate::data::{LogicalType, time_unit};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::TimeUnit;
use base64::Engine as _;

/// How text becomes a value, where formats differ.
#[derive(Debug, Clone, Copy)]
pub struct TextRules {
    /// Zone of an instant that is written without an offset.
    pub time_zone: chrono_tz::Tz,
    /// Numbers are accepted for dates and timestamps, as milliseconds since 1970 (flinkStreamSQL's dt_nest).
    pub epoch_millis: bool,
}

/// Builds one column row by row.
#[derive(Debug)]
pub struct ColumnBuilder {
    logical_type: LogicalType,
    validity: Validity,
    pub(super) values: Values,
}

#[derive(Debug)]
pub(super) enum Values {
    Boolean(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal(Vec<i128>),
    Text(Bytes),
    Binary(Bytes),
    Date(Vec<i32>),
    /// In the unit of the precision.
    Time(Vec<i64>),
    Timestamp(Vec<i64>),
    List {
        ends: Vec<i32>,
        items: Box<ColumnBuilder>,
    },
    Map {
        ends: Vec<i32>,
        keys: Box<ColumnBuilder>,
        values: Box<ColumnBuilder>,
    },
    Row(Vec<ColumnBuilder>),
}

/// Values of variable length; `offsets` always holds the end of the last finished value.
#[derive(Debug)]
pub(super) struct Bytes {
    offsets: Vec<i32>,
    pub(super) data: Vec<u8>,
}

impl Bytes {
    fn new() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }
    /// Makes everything in `data` since the last value the next value.
    #[inline]
    fn finish_value(&mut self) -> Result<(), String> {
        let end = i32::try_from(self.data.len()).map_err(|_| "the batch holds more than 2 GiB of text".to_string())?;
        self.offsets.push(end);
        Ok(())
    }
    fn truncate(&mut self, len: usize) {
        self.offsets.truncate(len + 1);
        self.data.truncate(self.offsets.last().map_or(0, |&end| end as usize));
    }
    fn finish(&mut self) -> (OffsetBuffer<i32>, Vec<u8>) {
        // The next batch will be about as large.
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let data = Vec::with_capacity(self.data.len() + self.data.len() / 8);
        let offsets = std::mem::replace(&mut self.offsets, next);
        (OffsetBuffer::new(offsets.into()), std::mem::replace(&mut self.data, data))
    }
}

/// Which rows are NULL; nothing is stored until one is.
#[derive(Debug, Default)]
struct Validity {
    len: usize,
    bits: Option<BooleanBufferBuilder>,
}

impl Validity {
    #[inline]
    fn push(&mut self, valid: bool) {
        match &mut self.bits {
            Some(bits) => bits.append(valid),
            None if valid => {}
            None => {
                let mut bits = BooleanBufferBuilder::new(self.len + 1);
                bits.append_n(self.len, true);
                bits.append(false);
                self.bits = Some(bits);
            }
        }
        self.len += 1;
    }
    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        if let Some(bits) = &mut self.bits {
            bits.truncate(self.len);
        }
    }
    fn is_null(&self, row: usize) -> bool {
        self.bits.as_ref().is_some_and(|b| row < b.len() && !b.get_bit(row))
    }
    fn finish(&mut self) -> Option<NullBuffer> {
        self.len = 0;
        self.bits.take().map(|mut b| NullBuffer::new(b.finish())).filter(|n| n.null_count() > 0)
    }
}

/// A value as it is shown in a message: quoted, and not longer than people read.
fn shown(text: &str) -> String {
    const MAX: usize = 64;
    match text.char_indices().nth(MAX) {
        None => format!("'{text}'"),
        Some((at, _)) => format!("'{}...' ({} bytes)", &text[..at], text.len()),
    }
}

impl ColumnBuilder {
    pub fn new(logical_type: &LogicalType) -> Self {
        use LogicalType as T;
        let values = match logical_type {
            T::Boolean => Values::Boolean(BooleanBufferBuilder::new(0)),
            T::TinyInt => Values::Int8(vec![]),
            T::SmallInt => Values::Int16(vec![]),
            T::Int => Values::Int32(vec![]),
            T::BigInt => Values::Int64(vec![]),
            T::Float => Values::Float32(vec![]),
            T::Double => Values::Float64(vec![]),
            T::Decimal(..) => Values::Decimal(vec![]),
            T::Char(_) | T::Varchar(_) => Values::Text(Bytes::new()),
            T::Binary(_) | T::Varbinary(_) => Values::Binary(Bytes::new()),
            T::Date => Values::Date(vec![]),
            T::Time(_) => Values::Time(vec![]),
            T::Timestamp(_) | T::TimestampLtz(_) => Values::Timestamp(vec![]),
            T::Array(item) => Values::List { ends: vec![0], items: Box::new(Self::new(item)) },
            T::Map(key, value) => {
                Values::Map { ends: vec![0], keys: Box::new(Self::new(key)), values: Box::new(Self::new(value)) }
            }
            T::Row(fields) => Values::Row(fields.iter().map(|(_, t)| Self::new(t)).collect()),
        };
        Self { logical_type: logical_type.clone(), validity: Validity::default(), values }
    }

    pub fn logical_type(&self) -> &LogicalType {
        &self.logical_type
    }
    #[inline]
    pub fn len(&self) -> usize {
        self.validity.len
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.is_null(row)
    }

    /// Drops the rows from `len` on, and whatever a failed append left behind.
    pub fn truncate(&mut self, len: usize) {
        self.validity.truncate(len);
        let len = self.validity.len;
        match &mut self.values {
            Values::Boolean(b) => b.truncate(len),
            Values::Int8(v) => v.truncate(len),
            Values::Int16(v) => v.truncate(len),
            Values::Int32(v) | Values::Date(v) => v.truncate(len),
            Values::Int64(v) | Values::Time(v) | Values::Timestamp(v) => v.truncate(len),
            Values::Float32(v) => v.truncate(len),
            Values::Float64(v) => v.truncate(len),
            Values::Decimal(v) => v.truncate(len),
            Values::Text(b) | Values::Binary(b) => b.truncate(len),
            Values::List { ends, items } => {
                ends.truncate(len + 1);
                items.truncate(last_end(ends));
            }
            Values::Map { ends, keys, values } => {
                ends.truncate(len + 1);
                keys.truncate(last_end(ends));
                values.truncate(last_end(ends));
            }
            Values::Row(fields) => fields.iter_mut().for_each(|f| f.truncate(len)),
        }
    }

    pub fn append_null(&mut self) {
        match &mut self.values {
            Values::Boolean(b) => b.append(false),
            Values::Int8(v) => v.push(0),
            Values::Int16(v) => v.push(0),
            Values::Int32(v) | Values::Date(v) => v.push(0),
            Values::Int64(v) | Values::Time(v) | Values::Timestamp(v) => v.push(0),
            Values::Float32(v) => v.push(0.0),
            Values::Float64(v) => v.push(0.0),
            Values::Decimal(v) => v.push(0),
            Values::Text(b) | Values::Binary(b) => b.offsets.push(b.offsets.last().copied().unwrap_or(0)),
            Values::List { ends, .. } | Values::Map { ends, .. } => ends.push(ends.last().copied().unwrap_or(0)),
            Values::Row(fields) => fields.iter_mut().for_each(ColumnBuilder::append_null),
        }
        self.validity.push(false);
    }

    pub fn append_bool(&mut self, value: bool) -> Result<(), String> {
        match &mut self.values {
            Values::Boolean(b) => b.append(value),
            Values::Text(b) => {
                b.data.extend_from_slice(if value { b"true" } else { b"false" });
                b.finish_value()?;
            }
            _ => return Err(format!("{value} is not a valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// A number in the JSON grammar, by its text: exact for every type.
    pub fn append_number(&mut self, number: &str, rules: &TextRules) -> Result<(), String> {
        match &mut self.values {
            Values::Int8(_) | Values::Int16(_) | Values::Int32(_) | Values::Int64(_) => {
                let value = text::parse_whole_number(number);
                self.push_integer(value, number)
            }
            Values::Text(b) => {
                b.data.extend_from_slice(number.as_bytes());
                b.finish_value()?;
                self.validity.push(true);
                Ok(())
            }
            Values::Date(_) | Values::Timestamp(_) => match text::parse_whole_number(number) {
                Ok(millis) if rules.epoch_millis => self.append_epoch_millis(millis),
                _ => Err(format!("the number {number} is not a valid {}", self.logical_type)),
            },
            Values::Float32(_) | Values::Float64(_) | Values::Decimal(_) => self.append_text(number, rules),
            _ => Err(format!("the number {number} is not a valid {}", self.logical_type)),
        }
    }

    /// A value in its text form. Numbers and booleans may have blanks around them. Nested types have no text form.
    pub fn append_text(&mut self, value: &str, rules: &TextRules) -> Result<(), String> {
        let trimmed = value.trim();
        match &mut self.values {
            Values::Text(b) => {
                b.data.extend_from_slice(value.as_bytes());
                b.finish_value()?;
            }
            Values::Int8(_) | Values::Int16(_) | Values::Int32(_) | Values::Int64(_) => {
                return self.push_integer(text::parse_integer(trimmed), value);
            }
            Values::Boolean(b) => match trimmed {
                t if t.eq_ignore_ascii_case("true") => b.append(true),
                t if t.eq_ignore_ascii_case("false") => b.append(false),
                _ => return Err(self.misfit(value)),
            },
            Values::Float32(v) => match text::parse_float(trimmed) {
                Ok(x) => v.push(x),
                Err(fault) => return Err(self.number_misfit(fault, value)),
            },
            Values::Float64(v) => match text::parse_double(trimmed) {
                Ok(x) => v.push(x),
                Err(fault) => return Err(self.number_misfit(fault, value)),
            },
            Values::Decimal(v) => {
                let LogicalType::Decimal(precision, scale) = self.logical_type else { return Err(self.misfit(value)) };
                match text::parse_decimal(trimmed, precision, scale) {
                    Ok(x) => v.push(x),
                    Err(fault) => return Err(self.number_misfit(fault, value)),
                }
            }
            Values::Binary(b) => {
                if base64::engine::general_purpose::STANDARD.decode_vec(value, &mut b.data).is_err() {
                    let len = self.len();
                    self.truncate(len);
                    return Err(format!("{} is not base64, the text form of {}", shown(value), self.logical_type));
                }
                b.finish_value()?;
            }
            Values::Date(v) => match text::parse_date(trimmed) {
                Some(days) => v.push(days),
                None => return Err(self.misfit(value)),
            },
            Values::Time(v) => match text::parse_time(trimmed) {
                Some(nanos) => v.push(time_of_nanos(nanos, precision_of(&self.logical_type))),
                None => return Err(self.misfit(value)),
            },
            Values::Timestamp(_) => {
                let parsed = match self.logical_type {
                    LogicalType::TimestampLtz(_) => text::parse_instant(trimmed, rules.time_zone),
                    _ => text::parse_timestamp(trimmed),
                };
                let Some((seconds, nanos)) = parsed else { return Err(self.misfit(value)) };
                return self.append_timestamp(seconds, nanos);
            }
            Values::List { .. } | Values::Map { .. } | Values::Row(_) => {
                return Err(format!("text is not a valid {}", self.logical_type));
            }
        }
        self.validity.push(true);
        Ok(())
    }

    /// Bytes as they are, for BYTES columns; for text columns they must be UTF-8.
    pub fn append_bytes(&mut self, value: &[u8]) -> Result<(), String> {
        match &mut self.values {
            Values::Text(b) => {
                let text = std::str::from_utf8(value).map_err(|_| "not valid UTF-8".to_string())?;
                b.data.extend_from_slice(text.as_bytes());
                b.finish_value()?;
            }
            Values::Binary(b) => {
                b.data.extend_from_slice(value);
                b.finish_value()?;
            }
            _ => return Err(format!("bytes are no valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// Integers of databases, fixed-width records.
    pub fn append_i64(&mut self, value: i64) -> Result<(), String> {
        match &mut self.values {
            Values::Int64(v) => v.push(value),
            Values::Int8(_) | Values::Int16(_) | Values::Int32(_) => {
                return self.push_integer(Ok(value), &value.to_string());
            }
            Values::Float64(v) => v.push(value as f64),
            Values::Float32(v) => v.push(value as f32),
            Values::Boolean(b) if value == 0 || value == 1 => b.append(value == 1),
            Values::Decimal(v) => {
                let LogicalType::Decimal(precision, scale) = self.logical_type else { return Err("no decimal".into()) };
                match text::parse_decimal(&value.to_string(), precision, scale) {
                    Ok(x) => v.push(x),
                    Err(fault) => return Err(self.number_misfit(fault, &value.to_string())),
                }
            }
            Values::Text(b) => {
                b.data.extend_from_slice(value.to_string().as_bytes());
                b.finish_value()?;
            }
            _ => return Err(format!("the number {value} is not a valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// Floating point numbers of databases and fixed-width records; whole ones also for integer columns.
    pub fn append_f64(&mut self, value: f64) -> Result<(), String> {
        match &mut self.values {
            Values::Float64(v) => v.push(value),
            Values::Float32(v) => v.push(value as f32),
            Values::Text(_) | Values::Decimal(_) if value.is_finite() => {
                // The shortest text that reads back as the same number.
                let shortest = serde_json::to_string(&value).map_err(|e| e.to_string())?;
                let rules = TextRules { time_zone: chrono_tz::UTC, epoch_millis: false };
                return self.append_text(&shortest, &rules);
            }
            Values::Int8(_) | Values::Int16(_) | Values::Int32(_) | Values::Int64(_)
                if value.fract() == 0.0 && value.abs() < 9.0e18 =>
            {
                return self.append_i64(value as i64);
            }
            _ => return Err(format!("the number {value} is not a valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// Seconds and nanoseconds since 1970; fraction digits beyond the type's precision are cut, as Flink's CAST does.
    pub fn append_timestamp(&mut self, seconds: i64, nanos: i64) -> Result<(), String> {
        let (LogicalType::Timestamp(precision) | LogicalType::TimestampLtz(precision)) = self.logical_type else {
            return Err(format!("a timestamp is not a valid {}", self.logical_type));
        };
        let nanos = nanos - nanos % 10_i64.pow(9 - u32::from(precision.min(9)));
        let per_second = units_per_second(time_unit(precision));
        let value = seconds.checked_mul(per_second).and_then(|s| s.checked_add(nanos / (1_000_000_000 / per_second)));
        match (value, &mut self.values) {
            (Some(value), Values::Timestamp(v)) => v.push(value),
            _ => return Err(format!("the timestamp is out of range for {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// Days since 1970, for DATE.
    pub fn append_days(&mut self, days: i32) -> Result<(), String> {
        match &mut self.values {
            Values::Date(v) => v.push(days),
            _ => return Err(format!("a date is not a valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    /// Nanoseconds of the day, for TIME; digits beyond the type's precision are cut.
    pub fn append_time(&mut self, nanos: i64) -> Result<(), String> {
        match &mut self.values {
            Values::Time(v) => v.push(time_of_nanos(nanos, precision_of(&self.logical_type))),
            _ => return Err(format!("a time is not a valid {}", self.logical_type)),
        }
        self.validity.push(true);
        Ok(())
    }

    fn append_epoch_millis(&mut self, millis: i64) -> Result<(), String> {
        let (seconds, nanos) = (millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000);
        match &mut self.values {
            Values::Date(v) => {
                let days = i32::try_from(seconds.div_euclid(86_400))
                    .map_err(|_| format!("{millis} is out of range for DATE"))?;
                v.push(days);
                self.validity.push(true);
                Ok(())
            }
            _ => self.append_timestamp(seconds, nanos),
        }
    }

    fn push_integer(&mut self, value: Result<i64, NumberFault>, written: &str) -> Result<(), String> {
        let fits = match (value, &mut self.values) {
            (Err(fault), _) => return Err(self.number_misfit(fault, written)),
            (Ok(x), Values::Int64(v)) => {
                v.push(x);
                true
            }
            (Ok(x), Values::Int32(v)) => i32::try_from(x).map(|x| v.push(x)).is_ok(),
            (Ok(x), Values::Int16(v)) => i16::try_from(x).map(|x| v.push(x)).is_ok(),
            (Ok(x), Values::Int8(v)) => i8::try_from(x).map(|x| v.push(x)).is_ok(),
            _ => false,
        };
        if !fits {
            return Err(self.number_misfit(NumberFault::OutOfRange, written));
        }
        self.validity.push(true);
        Ok(())
    }

    fn misfit(&self, value: &str) -> String {
        format!("{} is not a valid {}", shown(value), self.logical_type)
    }

    fn number_misfit(&self, fault: NumberFault, value: &str) -> String {
        match fault {
            NumberFault::Malformed => self.misfit(value),
            NumberFault::OutOfRange => format!("{} is out of range for {}", shown(value), self.logical_type),
            NumberFault::Fraction => {
                format!("{} has a fraction and is not a valid {}", shown(value), self.logical_type)
            }
        }
    }

    /// Text or BYTES whose bytes the caller has put at the end of `Bytes::data`.
    #[inline]
    pub(super) fn finish_bytes(&mut self) -> Result<(), String> {
        if let Values::Text(b) | Values::Binary(b) = &mut self.values {
            b.finish_value()?;
        }
        self.validity.push(true);
        Ok(())
    }

    /// An ARRAY or MAP of so many entries, or a ROW; `append` puts a value into the builder of part 0 (the elements, the
    /// keys), 1 (a map's values) or the number of a row's field, once for each entry.
    pub fn append_parts(
        &mut self,
        entries: usize,
        mut append: impl FnMut(usize, &mut ColumnBuilder) -> Result<(), String>,
    ) -> Result<(), String> {
        match &mut self.values {
            Values::List { items, .. } => (0..entries).try_for_each(|_| append(0, items))?,
            Values::Map { keys, values, .. } => (0..entries).try_for_each(|_| {
                append(0, keys)?;
                append(1, values)
            })?,
            Values::Row(fields) => fields.iter_mut().enumerate().try_for_each(|(i, field)| append(i, field))?,
            _ => return Err(format!("parts are no valid {}", self.logical_type)),
        }
        self.finish_nested()
    }

    /// A list or map whose entries the caller has appended to the children, or a row whose fields it has.
    pub(super) fn finish_nested(&mut self) -> Result<(), String> {
        let (ends, items) = match &mut self.values {
            Values::List { ends, items } => (ends, items.len()),
            Values::Map { ends, keys, .. } => (ends, keys.len()),
            _ => {
                self.validity.push(true);
                return Ok(());
            }
        };
        ends.push(i32::try_from(items).map_err(|_| "the batch holds more than 2^31 list entries".to_string())?);
        self.validity.push(true);
        Ok(())
    }
}

fn last_end(ends: &[i32]) -> usize {
    ends.last().map_or(0, |&end| end as usize)
}

fn precision_of(t: &LogicalType) -> u8 {
    match t {
        LogicalType::Time(p) | LogicalType::Timestamp(p) | LogicalType::TimestampLtz(p) => *p,
        _ => 0,
    }
}

/// How many of a unit make a second.
pub(super) fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn time_of_nanos(nanos: i64, precision: u8) -> i64 {
    let cut = nanos - nanos % 10_i64.pow(9 - u32::from(precision.min(9)));
    cut / (1_000_000_000 / units_per_second(time_unit(precision)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::TimestampMillisecondType;

    const RULES: TextRules = TextRules { time_zone: chrono_tz::UTC, epoch_millis: false };

    #[test]
    fn rows_that_are_taken_back_leave_no_trace() {
        let mut b = ColumnBuilder::new(&LogicalType::Array(Box::new(LogicalType::STRING)));
        for texts in [&["a", "b"][..], &["x"]] {
            if let Values::List { items, .. } = &mut b.values {
                texts.iter().for_each(|t| items.append_text(t, &RULES).unwrap());
            }
            b.finish_nested().unwrap();
        }
        b.append_null();
        b.truncate(1);
        b.append_null();
        let array = b.finish().unwrap();
        assert_eq!((array.len(), array.null_count()), (2, 1));
        let first = array.as_list::<i32>().value(0);
        assert_eq!(first.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["a", "b"]);
        assert!(b.is_empty());
    }

    #[test]
    fn integers_out_of_range_are_refused_never_wrapped() {
        let mut b = ColumnBuilder::new(&LogicalType::TinyInt);
        b.append_text(" 127 ", &RULES).unwrap();
        assert_eq!(b.append_text("128", &RULES).unwrap_err(), "'128' is out of range for TINYINT");
        assert_eq!(b.append_number("1.5", &RULES).unwrap_err(), "'1.5' has a fraction and is not a valid TINYINT");
        assert_eq!(b.append_text("1.0", &RULES).unwrap_err(), "'1.0' is not a valid TINYINT");
        assert_eq!(b.len(), 1);
    }

    #[test]
    fn fraction_digits_beyond_the_precision_are_cut() {
        let mut b = ColumnBuilder::new(&LogicalType::Timestamp(2));
        b.append_text("1970-01-01 00:00:01.987654", &RULES).unwrap();
        let array = b.finish().unwrap();
        assert_eq!(array.as_primitive::<TimestampMillisecondType>().value(0), 1980);
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let mut b = ColumnBuilder::new(&LogicalType::Int);
        let message = b.append_text(&"ä".repeat(1000), &RULES).unwrap_err();
        assert!(message.len() < 200 && message.contains("(2000 bytes)"), "{message}");
    }
}
