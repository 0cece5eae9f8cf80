//! Values as JSON text: of JSON that was read, and of SQL columns. Numbers are written as Java writes them.

use super::cast::text;
use super::functions::types;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BooleanArray, StringArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use base64::Engine as _;
use chrono_tz::Tz;
use serde_json::Value;
use std::fmt::Write as _;

/// A JSON string, in quotes.
pub fn push_quoted(value: &str, out: &mut String) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

pub fn push_number(number: &serde_json::Number, out: &mut String) {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => text::double(value, out),
        None => {
            let _ = write!(out, "{number}");
        }
    }
}

/// JSON that was read, without blanks, members in their order.
pub fn push_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => push_number(n, out),
        Value::String(s) => push_quoted(s, out),
        Value::Array(all) => push_list(all.iter(), out),
        Value::Object(all) => {
            out.push('{');
            for (n, (key, value)) in all.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                push_quoted(key, out);
                out.push(':');
                push_value(value, out);
            }
            out.push('}');
        }
    }
}

/// An array of JSON values.
pub fn push_list<'a>(values: impl Iterator<Item = &'a Value>, out: &mut String) {
    out.push('[');
    for (n, value) in values.enumerate() {
        if n > 0 {
            out.push(',');
        }
        push_value(value, out);
    }
    out.push(']');
}

/// A column, ready to be written value by value.
pub struct JsonColumn {
    nulls: Option<NullBuffer>,
    form: Form,
}

enum Form {
    /// The text is JSON already: numbers, and results of other JSON functions.
    Plain(StringArray),
    Quoted(StringArray),
    /// `2024-01-02T03:04:05.678`, with a `Z` for an instant.
    Timestamp(StringArray, bool),
    Boolean(BooleanArray),
    Bytes(BinaryArray),
    List(OffsetBuffer<i32>, Box<JsonColumn>),
    Map(OffsetBuffer<i32>, StringArray, Box<JsonColumn>),
    /// Sorted by name.
    Row(Vec<(String, JsonColumn)>),
    Null,
}

impl JsonColumn {
    /// `raw`: text that is JSON already. `zone` is the job's.
    pub fn new(column: &ArrayRef, raw: bool, zone: Tz) -> Result<Self, ArrowError> {
        let nulls = column.logical_nulls();
        let form = match column.data_type() {
            DataType::Null => Form::Null,
            DataType::Utf8 if raw => Form::Plain(column.as_string::<i32>().clone()),
            DataType::Utf8 => Form::Quoted(column.as_string::<i32>().clone()),
            DataType::Boolean => Form::Boolean(column.as_boolean().clone()),
            DataType::Binary => Form::Bytes(column.as_binary::<i32>().clone()),
            // An instant is shown in UTC.
            DataType::Timestamp(_, tz) => Form::Timestamp(text::column(column, Tz::UTC)?, tz.is_some()),
            DataType::List(_) => {
                let list = column.as_list::<i32>();
                Form::List(list.offsets().clone(), Box::new(Self::new(list.values(), false, zone)?))
            }
            DataType::Map(..) => {
                let map = column.as_map();
                let keys = match map.keys().data_type() {
                    DataType::Utf8 => map.keys().as_string::<i32>().clone(),
                    _ => text::column(map.keys(), zone)?,
                };
                Form::Map(map.offsets().clone(), keys, Box::new(Self::new(map.values(), false, zone)?))
            }
            DataType::Struct(fields) => {
                let row = column.as_struct();
                let mut members = fields
                    .iter()
                    .zip(row.columns())
                    .map(|(f, c)| Ok((f.name().clone(), Self::new(c, false, zone)?)))
                    .collect::<Result<Vec<_>, ArrowError>>()?;
                members.sort_by(|a, b| a.0.cmp(&b.0));
                Form::Row(members)
            }
            t if types::is_numeric(t) => Form::Plain(text::column(column, zone)?),
            _ => Form::Quoted(text::column(column, zone)?),
        };
        Ok(Self { nulls, form })
    }

    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.form, Form::Null) || self.nulls.as_ref().is_some_and(|n| n.is_null(row))
    }

    pub fn push(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.form {
            Form::Null => out.push_str("null"),
            Form::Plain(a) => match a.value(row) {
                // Not numbers of JSON; Jackson writes them as text.
                special @ ("NaN" | "Infinity" | "-Infinity") => push_quoted(special, out),
                number => out.push_str(number),
            },
            Form::Quoted(a) => push_quoted(a.value(row), out),
            Form::Timestamp(a, instant) => {
                let text = a.value(row).replacen(' ', "T", 1);
                let _ = write!(out, "\"{text}{}\"", if *instant { "Z" } else { "" });
            }
            Form::Boolean(a) => out.push_str(if a.value(row) { "true" } else { "false" }),
            Form::Bytes(a) => {
                out.push('"');
                base64::engine::general_purpose::STANDARD.encode_string(a.value(row), out);
                out.push('"');
            }
            Form::List(offsets, values) => {
                let range = offsets[row] as usize..offsets[row + 1] as usize;
                joined('[', ']', range, out, |e, out| values.push(e, out));
            }
            Form::Map(offsets, keys, values) => {
                let mut entries: Vec<usize> = (offsets[row] as usize..offsets[row + 1] as usize).collect();
                entries.sort_by_key(|e| keys.value(*e));
                joined('{', '}', entries, out, |e, out| {
                    push_quoted(keys.value(e), out);
                    out.push(':');
                    values.push(e, out);
                });
            }
            Form::Row(members) => joined('{', '}', members, out, |(name, column), out| {
                push_quoted(name, out);
                out.push(':');
                column.push(row, out);
            }),
        }
    }
}

/// What `each` writes for every item, between brackets and with commas.
pub fn joined<T>(
    open: char,
    close: char,
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut each: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        each(item, out);
    }
    out.push(close);
}
