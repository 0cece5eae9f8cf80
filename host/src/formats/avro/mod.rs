//! Avro: `avro`, one record of a known schema without any header, and `avro-confluent`, with a schema registry.
//! The crate apache-avro parses schemas; records are read and written here, straight from and to columns, with every
//! length checked against the bytes that are there.

mod confluent;
#[cfg(test)]
mod confluent_tests;
mod cursor;
mod decode;
mod derive;
mod encode;
mod json;
mod read;
mod registry;
mod schema_names;
#[cfg(test)]
mod tests;
mod types;

use super::columns::TextRules;
use super::rows::Rows;
use super::{Cell, Decoded, Decoder, Encoded, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::data::{Batch, Reason, RecordChunk, RowError};
use crate::error::{Error, Result};
use crate::sql::options::{OptionSpec, ResolvedOptions};
use confluent::{ConfluentDecoder, ConfluentEncoder};
use decode::RecordReader;
use encode::RecordWriter;
use registry::{Auth, Registry, Settings};
use std::sync::Arc;
use types::Types;

/// Types nested deeper are refused.
const DEPTH_MAX: usize = 64;

/// `avro`
pub struct Avro;

/// `avro-confluent`
pub struct AvroConfluent;

impl FormatFactory for Avro {
    fn identifier(&self) -> &'static str {
        "avro"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::AVRO
    }
    fn framing(&self, options: &ResolvedOptions) -> Result<Framing> {
        // In JSON a record can be a line.
        Ok(if is_json(options) { Framing::Lines } else { Framing::Messages })
    }
    fn is_text(&self) -> bool {
        false
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        let reader = RecordReader::strict(own_schema(cx)?, &cx.schema.columns, cx.null_on_error, rules(cx));
        let reader = reader.map_err(|e| refuse(cx, e))?;
        let rows = Rows::new(&cx.schema, false);
        Ok(Box::new(AvroDecoder { reader, rows, json: is_json(&cx.options) }))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        let types = own_schema(cx)?;
        let writer = RecordWriter::new(types.clone(), &cx.schema.columns).map_err(|e| refuse(cx, e))?;
        Ok(Box::new(AvroEncoder { writer, json: is_json(&cx.options).then_some(types) }))
    }
}

impl FormatFactory for AvroConfluent {
    fn identifier(&self) -> &'static str {
        "avro-confluent"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::AVRO_CONFLUENT
    }
    fn framing(&self, _options: &ResolvedOptions) -> Result<Framing> {
        Ok(Framing::Messages)
    }
    fn is_text(&self) -> bool {
        false
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        let reader = own_schema(cx)?;
        // Read with its own schema, the table's columns must at least fit.
        RecordReader::strict(reader.clone(), &cx.schema.columns, false, rules(cx)).map_err(|e| refuse(cx, e))?;
        Ok(Box::new(ConfluentDecoder {
            registry: registry(cx)?,
            rows: Rows::new(&cx.schema, false),
            columns: cx.schema.columns.clone(),
            reader,
            null_on_error: cx.null_on_error,
            rules: rules(cx),
            known: confluent::Known::default(),
        }))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        let Some(subject) = cx.options.text("subject").filter(|s| !s.is_empty()) else {
            return Err(refuse(cx, "the option subject is missing: under which name is the schema registered?".into()));
        };
        let writer = RecordWriter::new(own_schema(cx)?, &cx.schema.columns).map_err(|e| refuse(cx, e))?;
        let (table, registry) = (cx.table.clone(), registry(cx)?);
        Ok(Box::new(ConfluentEncoder { table, registry, subject: subject.to_string(), writer, id: None }))
    }
}

fn rules(cx: &FormatContext) -> TextRules {
    TextRules { time_zone: cx.time_zone, epoch_millis: false }
}

fn is_json(options: &ResolvedOptions) -> bool {
    options.text("encoding").is_some_and(|e| e.eq_ignore_ascii_case("json"))
}

fn refuse(cx: &FormatContext, message: String) -> Error {
    Error::user(format!("table {}: {message}", cx.table))
}

/// The schema that the options give, or the table's columns as Flink would write them. All columns of the table: a
/// record says nothing of where its fields begin, so those that no query needs have to be read over.
fn own_schema(cx: &FormatContext) -> Result<Arc<Types>> {
    let whose = format!("table {}", cx.table);
    if let Some(class) = cx.options.text("record-class").filter(|c| !c.is_empty()) {
        return Err(refuse(cx, format!("format.record-class names the Java class {class}, which cannot be had here"))
            .with_hint("give the class's schema: 'format.avro-schema' = '{\"type\":\"record\", ..}'"));
    }
    let text = match cx.options.text("schema").filter(|s| !s.trim().is_empty()) {
        Some(text) => text.to_string(),
        None => {
            let columns = cx.declared.as_ref().unwrap_or(&cx.schema);
            let legacy = cx.options.bool("timestamp_mapping.legacy").unwrap_or(true);
            derive::derive(columns, legacy).map_err(|e| refuse(cx, e))?
        }
    };
    let types = Types::parse(&text, &whose)?;
    match types.get(types.root) {
        types::Type::Record(_) => Ok(Arc::new(types)),
        _ => Err(refuse(cx, format!("the Avro schema is no record but {}", types.show(types.root)))),
    }
}

fn registry(cx: &FormatContext) -> Result<Registry> {
    let text = |name: &str| cx.options.text(name).filter(|t| !t.is_empty());
    let urls: Vec<String> = cx.options.list("url").unwrap_or_default().to_vec();
    if urls.is_empty() {
        return Err(refuse(cx, "the option url of the schema registry is missing".into()));
    }
    if let Some(bad) = urls.iter().find(|u| !u.starts_with("http://") && !u.starts_with("https://")) {
        let shown = crate::sql::options::redact(bad);
        return Err(refuse(cx, format!("the schema registry's url {shown} begins with neither http:// nor https://")));
    }
    let auth = match (text("basic-auth.user-info"), text("bearer-auth.token")) {
        (Some(_), Some(_)) => {
            return Err(refuse(cx, "basic-auth.user-info and bearer-auth.token exclude each other".into()));
        }
        (Some(user_info), None) => Auth::basic(user_info),
        (None, Some(token)) => Auth::bearer(token),
        (None, None) => Auth::default(),
    };
    let ca_file = text("ssl.ca.location").map(std::path::PathBuf::from);
    Registry::new(Settings { table: cx.table.clone(), urls, auth, ca_file })
}

struct AvroDecoder {
    reader: RecordReader,
    rows: Rows,
    json: bool,
}

impl Decoder for AvroDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let Self { reader, rows, json } = self;
        rows.decode_bytes(chunk, |rows, record| {
            if !*json {
                return reader.read(rows, record);
            }
            let binary = json::to_binary(reader.types(), record).map_err(super::rows::RecordFault::record)?;
            reader.read(rows, &binary)
        })
    }
}

struct AvroEncoder {
    writer: RecordWriter,
    /// The schema, if records are written as JSON.
    json: Option<Arc<Types>>,
}

impl Encoder for AvroEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let Some(types) = &self.json else { return encode_rows(&self.writer, batch, out, errors, |_| ()) };
        let mut binary = Encoded::default();
        encode_rows(&self.writer, batch, &mut binary, errors, |_| ())?;
        let mut start = 0;
        for (end, row) in &binary.records {
            match json::from_binary(types, &binary.bytes[start..*end], &mut out.bytes) {
                Ok(()) => out.finish_record(*row),
                Err(message) => {
                    out.bytes.truncate(out.records.last().map_or(0, |(end, _)| *end));
                    errors.push(RowError::new(*row, Reason::Encode, message));
                }
            }
            start = *end;
        }
        errors.sort_by_key(|e| e.row);
        Ok(())
    }
}

/// Each row as a record, `prefix` in front of each.
fn encode_rows(
    writer: &RecordWriter,
    batch: &Batch,
    out: &mut Encoded,
    errors: &mut Vec<RowError>,
    prefix: impl Fn(&mut Vec<u8>),
) -> Result<()> {
    let cells = batch.columns.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let start = out.bytes.len();
        prefix(&mut out.bytes);
        match writer.write(&cells, row, &mut out.bytes) {
            Ok(()) => out.finish_record(row as u32),
            Err((column, message)) => {
                out.bytes.truncate(start);
                errors.push(RowError::new(row as u32, Reason::Encode, message).column(column));
            }
        }
    }
    Ok(())
}
