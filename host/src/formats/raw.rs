//! `raw`: the whole record is the value of the one column, as in Flink's raw format.

use super::columns::ColumnBuilder;
use super::rows::{RecordFault, Rows};
use super::{Cell, Decoded, Decoder, Encoded, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::data::{Batch, LogicalType, Reason, RecordChunk, RowError};
use crate::error::{Error, Result};
use crate::formats::cell::CellValues;
use crate::sql::options::{OptionSpec, ResolvedOptions};
use std::sync::Arc;

/// `raw`
pub struct Raw;

impl FormatFactory for Raw {
    fn identifier(&self) -> &'static str {
        "raw"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::RAW
    }
    fn framing(&self, _options: &ResolvedOptions) -> Result<Framing> {
        Ok(Framing::Lines)
    }
    fn is_text(&self) -> bool {
        true
    }
    fn by_position(&self, _options: &ResolvedOptions) -> bool {
        true
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        let coding = Coding::new(cx)?;
        Ok(Box::new(RawDecoder { coding, rows: Rows::new(&cx.schema, false), null_on_error: cx.null_on_error }))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(RawEncoder { coding: Coding::new(cx)?, name: cx.schema.columns[0].name.clone() }))
    }
}

/// The character sets that need no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Ascii,
    Latin1,
    Utf16 { big_endian: bool },
}

#[derive(Debug, Clone, Copy)]
struct Coding {
    charset: Charset,
    big_endian: bool,
}

impl Coding {
    fn new(cx: &FormatContext) -> Result<Self> {
        let [column] = cx.schema.columns.as_slice() else {
            return Err(Error::user(format!(
                "table {}: the raw format needs exactly one column, the table has {}",
                cx.table,
                cx.schema.columns.len()
            )));
        };
        use LogicalType as T;
        if !matches!(
            column.logical_type,
            T::Boolean
                | T::TinyInt
                | T::SmallInt
                | T::Int
                | T::BigInt
                | T::Float
                | T::Double
                | T::Char(_)
                | T::Varchar(_)
                | T::Binary(_)
                | T::Varbinary(_)
        ) {
            return Err(Error::user(format!(
                "table {}, column {}: the raw format has no {}",
                cx.table, column.name, column.logical_type
            )));
        }
        let charset = match cx.options.text("charset").map(str::to_ascii_uppercase).as_deref() {
            None | Some("UTF-8" | "UTF8") => Charset::Utf8,
            Some("US-ASCII" | "ASCII") => Charset::Ascii,
            Some("ISO-8859-1" | "LATIN1") => Charset::Latin1,
            Some("UTF-16BE") => Charset::Utf16 { big_endian: true },
            Some("UTF-16LE") => Charset::Utf16 { big_endian: false },
            Some(other) => {
                return Err(Error::user(format!("table {}: the charset {other} is not supported", cx.table))
                    .with_hint("UTF-8, UTF-16BE, UTF-16LE, US-ASCII and ISO-8859-1 are"));
            }
        };
        let big_endian = !cx.options.text("endianness").is_some_and(|e| e.eq_ignore_ascii_case("little-endian"));
        Ok(Self { charset, big_endian })
    }

    /// The bytes of a number in the order that the record has; None if the record has another width.
    fn ordered<const N: usize>(self, record: &[u8]) -> std::result::Result<[u8; N], String> {
        let mut bytes: [u8; N] =
            record.try_into().map_err(|_| format!("the record has {} bytes, the type has {N}", record.len()))?;
        if !self.big_endian {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn decode(self, b: &mut ColumnBuilder, record: &[u8]) -> std::result::Result<(), String> {
        match b.logical_type() {
            LogicalType::Boolean => b.append_bool(self.ordered::<1>(record)?[0] != 0),
            LogicalType::TinyInt => b.append_i64(i64::from(i8::from_be_bytes(self.ordered(record)?))),
            LogicalType::SmallInt => b.append_i64(i64::from(i16::from_be_bytes(self.ordered(record)?))),
            LogicalType::Int => b.append_i64(i64::from(i32::from_be_bytes(self.ordered(record)?))),
            LogicalType::BigInt => b.append_i64(i64::from_be_bytes(self.ordered(record)?)),
            LogicalType::Float => b.append_f64(f64::from(f32::from_be_bytes(self.ordered(record)?))),
            LogicalType::Double => b.append_f64(f64::from_be_bytes(self.ordered(record)?)),
            LogicalType::Binary(_) | LogicalType::Varbinary(_) => b.append_bytes(record),
            _ => match self.charset {
                Charset::Latin1 => b.append_bytes(record.iter().map(|&c| char::from(c)).collect::<String>().as_bytes()),
                Charset::Utf16 { big_endian } => b.append_bytes(utf16(record, big_endian)?.as_bytes()),
                Charset::Ascii if !record.is_ascii() => Err("the record is not US-ASCII".into()),
                _ => b.append_bytes(record),
            },
        }
    }

    fn encode(self, cell: &Cell<'_>, row: usize, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let start = out.len();
        match &cell.values {
            CellValues::Boolean(a) => out.push(u8::from(a.value(row))),
            CellValues::Int8(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Int16(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Int32(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Int64(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Float32(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Float64(v) => out.extend_from_slice(&v[row].to_be_bytes()),
            CellValues::Binary(a) => {
                out.extend_from_slice(a.value(row));
                return Ok(());
            }
            CellValues::Text(a) => return self.encode_text(a.value(row), out),
            _ => return Err("the raw format has no such type".into()),
        }
        if !self.big_endian {
            out[start..].reverse();
        }
        Ok(())
    }

    fn encode_text(self, text: &str, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let limit = match self.charset {
            Charset::Utf8 => {
                out.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            Charset::Utf16 { big_endian } => {
                let bytes = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
                out.extend(text.encode_utf16().flat_map(bytes));
                return Ok(());
            }
            Charset::Ascii => 0x80,
            Charset::Latin1 => 0x100,
        };
        for c in text.chars() {
            match u8::try_from(u32::from(c)) {
                Ok(byte) if u32::from(byte) < limit => out.push(byte),
                _ => return Err(format!("the charset has no character {c:?}")),
            }
        }
        Ok(())
    }
}

fn utf16(record: &[u8], big_endian: bool) -> std::result::Result<String, String> {
    let (pairs, rest) = record.as_chunks::<2>();
    let units = pairs.iter().map(|pair| if big_endian { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) });
    let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
    match (text, rest.is_empty()) {
        (Ok(text), true) => Ok(text),
        _ => Err("the record is not valid UTF-16".into()),
    }
}

struct RawDecoder {
    coding: Coding,
    rows: Rows,
    null_on_error: bool,
}

impl Decoder for RawDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let (coding, null_on_error) = (self.coding, self.null_on_error);
        self.rows.decode_byte_values(chunk, |rows, record| {
            let before = rows.len;
            // No value and NULL are one thing in this format.
            let Some(record) = record else { return rows.end_row() };
            if let Err(message) = coding.decode(&mut rows.columns[0], record) {
                if !null_on_error {
                    return Err(RecordFault::column(0, message));
                }
                rows.columns[0].truncate(before);
                rows.nulled.push((0, message));
            }
            rows.end_row()
        })
    }
}

struct RawEncoder {
    coding: Coding,
    name: String,
}

impl Encoder for RawEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let Some(column) = batch.columns.columns().first() else {
            return Err(Error::internal("raw format: a batch without a column"));
        };
        let cell = Cell::new(column)?;
        for row in 0..batch.num_rows() {
            let start = out.bytes.len();
            if cell.is_null(row) {
                out.finish_without_value(row as u32);
                continue;
            }
            match self.coding.encode(&cell, row, &mut out.bytes) {
                Ok(()) => out.finish_record(row as u32),
                Err(message) => {
                    out.bytes.truncate(start);
                    errors.push(RowError::new(row as u32, Reason::Encode, message).column(&self.name));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use crate::formats::testing::{chunk, context, rows_as_json};

    #[test]
    fn a_record_is_the_value_of_the_one_column() {
        let cx = context(vec![Column::new("line", LogicalType::STRING, true)], &[]);
        let chunk = chunk(&[b"a,b".as_slice(), b"\xff", "ä".as_bytes()]);
        let decoded = Raw.decoder(&cx).unwrap().decode(&chunk).unwrap();
        assert_eq!(rows_as_json(&decoded.columns), [r#"{"line":"a,b"}"#, r#"{"line":"ä"}"#]);
        assert_eq!(decoded.errors.len(), 1);
        assert_eq!(decoded.records, Some(vec![0, 2]));
    }

    #[test]
    fn numbers_have_a_width_and_an_order() {
        let column = || vec![Column::new("n", LogicalType::SmallInt, true)];
        for (endianness, bytes) in [("big-endian", [1_u8, 2]), ("little-endian", [2, 1])] {
            let cx = context(column(), &[("endianness", endianness)]);
            let decoded = Raw.decoder(&cx).unwrap().decode(&chunk(&[bytes.as_slice(), b"x"])).unwrap();
            assert_eq!(rows_as_json(&decoded.columns), [r#"{"n":258}"#]);
            assert!(decoded.errors[0].message.contains("1 bytes, the type has 2"), "{:?}", decoded.errors);
            let batch = Batch::new(decoded.columns, crate::data::Origin::unknown());
            let mut out = Encoded::default();
            Raw.encoder(&cx).unwrap().encode(&batch, &mut out, &mut vec![]).unwrap();
            assert_eq!(out.bytes, bytes);
        }
    }

    #[test]
    fn null_and_a_record_without_a_value_are_one_thing() {
        let cx = context(vec![Column::new("s", LogicalType::STRING, true)], &[]);
        let plain = chunk(&["", "", "x"]);
        let envelope = |no_value| crate::data::Envelope { no_value, ..Default::default() };
        let envelopes = vec![envelope(true), envelope(false), envelope(false)];
        let chunk = RecordChunk {
            bytes: plain.bytes.clone(),
            records: plain.records.clone(),
            envelopes,
            ..RecordChunk::default()
        };
        let decoded = Raw.decoder(&cx).unwrap().decode(&Arc::new(chunk)).unwrap();
        assert_eq!(rows_as_json(&decoded.columns), [r#"{"s":null}"#, r#"{"s":""}"#, r#"{"s":"x"}"#]);
        let batch = Batch::new(decoded.columns, crate::data::Origin::unknown());
        let (mut out, mut errors) = (Encoded::default(), vec![]);
        Raw.encoder(&cx).unwrap().encode(&batch, &mut out, &mut errors).unwrap();
        assert_eq!((out.records, out.without_value), (vec![(0, 0), (0, 1), (1, 2)], vec![0]));
        assert!(errors.is_empty());
        let strict = context(vec![Column::new("s", LogicalType::STRING, false)], &[]);
        let chunk = RecordChunk {
            records: plain.records[..1].to_vec(),
            envelopes: vec![envelope(true)],
            ..RecordChunk::default()
        };
        let refused = Raw.decoder(&strict).unwrap().decode(&Arc::new(chunk)).unwrap();
        assert_eq!(refused.errors[0].reason, Reason::NotNull);
    }

    #[test]
    fn utf16_is_decoded_and_encoded() {
        for (charset, bytes) in
            [("UTF-16BE", [0, 0xe4, 0xd8, 0x3d, 0xde, 0]), ("UTF-16LE", [0xe4, 0, 0x3d, 0xd8, 0, 0xde])]
        {
            let cx = context(vec![Column::new("s", LogicalType::STRING, true)], &[("charset", charset)]);
            let decoded = Raw.decoder(&cx).unwrap().decode(&chunk(&[&bytes[..], &bytes[..3], &bytes[..4]])).unwrap();
            assert_eq!(rows_as_json(&decoded.columns), [r#"{"s":"ä😀"}"#]);
            assert_eq!(decoded.errors.len(), 2);
            let batch = Batch::new(decoded.columns, crate::data::Origin::unknown());
            let mut out = Encoded::default();
            Raw.encoder(&cx).unwrap().encode(&batch, &mut out, &mut vec![]).unwrap();
            assert_eq!(out.bytes, bytes);
        }
    }

    #[test]
    fn other_charsets_are_refused_by_name() {
        let cx = context(vec![Column::new("s", LogicalType::STRING, true)], &[("charset", "GBK")]);
        let error = Raw.decoder(&cx).err().unwrap();
        assert_eq!(error.message, "table t: the charset GBK is not supported");
    }

    #[test]
    fn two_columns_are_refused() {
        let cx = context(vec![Column::new("a", LogicalType::Int, true), Column::new("b", LogicalType::Int, true)], &[]);
        assert!(Raw.decoder(&cx).err().unwrap().message.contains("exactly one column"));
    }

    #[test]
    fn latin1_is_decoded_and_encoded() {
        let cx = context(vec![Column::new("s", LogicalType::STRING, true)], &[("charset", "iso-8859-1")]);
        let decoded = Raw.decoder(&cx).unwrap().decode(&chunk(&[b"\xe4"])).unwrap();
        assert_eq!(rows_as_json(&decoded.columns), [r#"{"s":"ä"}"#]);
    }
}
