//! CSV records into columns.

use super::quotes::QuoteState;
use super::{Syntax, check_types};
use crate::data::{Column, PathStep, RecordChunk};
use crate::error::{Error, Result};
use crate::formats::columns::{ColumnBuilder, TextRules, Values};
use crate::formats::rows::{RecordFault, Rows};
use crate::formats::{Decoded, Decoder, FormatContext};
use csv_core::ReadFieldResult;
use std::sync::Arc;

/// The fields of one record; `text` holds them one after the other.
#[derive(Default)]
struct Fields {
    text: Vec<u8>,
    /// (end in `text`, was quoted)
    ends: Vec<(usize, bool)>,
}

impl Fields {
    fn get(&self, index: usize) -> Option<(&[u8], bool)> {
        let (end, quoted) = *self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |i| self.ends[i].0);
        Some((&self.text[start..end], quoted))
    }

    /// One field too many, and nothing in it: the record ends with a delimiter, which Flink's reader lets pass.
    fn ends_with_delimiter_after(&self, width: usize) -> bool {
        self.ends.len() == width + 1 && self.get(width) == Some((&[], false))
    }

    fn read(&mut self, reader: &mut csv_core::Reader, syntax: &Syntax, record: &[u8]) -> Result<(), RecordFault> {
        self.ends.clear();
        // A field is never longer than its record.
        self.text.resize(record.len() + 1, 0);
        reader.reset();
        let (mut read, mut written) = (0, 0);
        let mut quoted = record.first().copied() == syntax.quote && syntax.quote.is_some();
        loop {
            let (result, nin, nout) = reader.read_field(&record[read..], &mut self.text[written..]);
            read += nin;
            written += nout;
            match result {
                ReadFieldResult::Field { record_end } => {
                    self.ends.push((written, quoted));
                    quoted = syntax.quote.is_some() && record.get(read).copied() == syntax.quote;
                    if record_end {
                        break;
                    }
                }
                // Nothing is left: the next, empty input tells the reader so.
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull => return Err(RecordFault::record("a CSV field grew while it was read")),
                ReadFieldResult::End => break,
            }
        }
        if read < record.len() {
            return Err(RecordFault::record("the record holds more than one line"));
        }
        if let Some(quote) = syntax.quote
            && memchr::memchr(quote, record).is_some()
            && let Some(fault) = QuoteState::new(syntax.delimiter, quote, syntax.escape).fault(record)
        {
            return Err(RecordFault::record(fault));
        }
        Ok(())
    }
}

pub(super) struct CsvDecoder {
    syntax: Syntax,
    reader: csv_core::Reader,
    fields: Fields,
    rows: Rows,
    rules: TextRules,
    null_on_error: bool,
    table: Arc<str>,
    /// Field of each column.
    places: Vec<usize>,
    /// How many fields a record may have; with a header, as many as it names.
    width: usize,
    names: Vec<String>,
    /// The header that `places` were made for.
    header: Option<Arc<[u8]>>,
}

impl CsvDecoder {
    pub fn new(cx: &FormatContext) -> Result<Self> {
        check_types(cx)?;
        let syntax = Syntax::new(&cx.options).map_err(|e| e.context(format!("table {}", cx.table)))?;
        let places: Vec<usize> = cx
            .schema
            .columns
            .iter()
            .enumerate()
            .map(|(i, c)| match c.path.as_slice() {
                [PathStep::Index(n)] => *n,
                _ => i,
            })
            .collect();
        let projected = cx.schema.columns.iter().any(|c| matches!(c.path.as_slice(), [PathStep::Index(_)]));
        Ok(Self {
            reader: syntax.reader(),
            syntax,
            fields: Fields::default(),
            rows: Rows::new(&cx.schema, false),
            rules: TextRules { time_zone: cx.time_zone, epoch_millis: false },
            null_on_error: cx.null_on_error || cx.options.bool("ignore-parse-errors").unwrap_or(false),
            table: cx.table.clone(),
            // A projection alone does not know how many columns the whole table has.
            width: cx.record_width.unwrap_or(if projected { usize::MAX } else { places.len() }),
            places,
            names: cx.schema.columns.iter().map(field_name).collect(),
            header: None,
        })
    }

    /// Finds the columns in a header that was not seen before.
    fn read_header(&mut self, chunk: &RecordChunk) -> Result<()> {
        let Some(header) = chunk.header.as_ref().filter(|_| self.syntax.header) else { return Ok(()) };
        if self.header.as_ref() == Some(header) {
            return Ok(());
        }
        let refuse = |what: String| Error::data(format!("table {}: the header of {} {what}", self.table, chunk.split));
        self.fields
            .read(&mut self.reader, &self.syntax, header)
            .map_err(|fault| refuse(format!("cannot be read: {}", fault.message)))?;
        let found: Vec<&str> = (0..self.fields.ends.len())
            .map(|i| self.fields.get(i).map_or(Ok(""), |(bytes, _)| std::str::from_utf8(bytes)))
            .collect::<Result<_, _>>()
            .map_err(|_| refuse("is not valid UTF-8".into()))?;
        let place = |name: &String| {
            found.iter().position(|f| f.trim() == name).ok_or_else(|| {
                refuse(format!("has no column {name}")).with_hint(format!("its columns are: {}", shown_names(&found)))
            })
        };
        self.places = self.names.iter().map(place).collect::<Result<_>>()?;
        self.width = found.len();
        self.header = Some(header.clone());
        Ok(())
    }
}

/// In a header a column goes by its physical name.
fn field_name(column: &Column) -> String {
    match column.path.as_slice() {
        [PathStep::Member(name)] => name.clone(),
        _ => column.name.clone(),
    }
}

fn shown_names(names: &[&str]) -> String {
    const MAX: usize = 40;
    let mut text = names.iter().take(MAX).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MAX {
        text.push_str(", ...");
    }
    text
}

impl Decoder for CsvDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        self.read_header(chunk)?;
        let Self { syntax, reader, fields, rows, rules, null_on_error, places, width, .. } = self;
        rows.decode(chunk, |rows, record| {
            if syntax.comments && record.starts_with('#') {
                return Ok(());
            }
            fields.read(reader, syntax, record.as_bytes())?;
            if fields.ends.len() > *width && !fields.ends_with_delimiter_after(*width) {
                let message = format!("the record has {} fields, the table has {width} columns", fields.ends.len());
                return Err(RecordFault::record(message));
            }
            for (i, place) in places.iter().enumerate() {
                // Columns beyond the last field become NULL at the end of the row.
                let Some((bytes, quoted)) = fields.get(*place) else { continue };
                let Ok(text) = std::str::from_utf8(bytes) else {
                    return Err(RecordFault::column(i, "is not valid UTF-8"));
                };
                let before = rows.len;
                let column = &mut rows.columns[i];
                if let Err(message) = append_field(column, text, quoted, syntax, rules) {
                    if !*null_on_error {
                        return Err(RecordFault::column(i, message));
                    }
                    column.truncate(before);
                    column.append_null();
                    rows.nulled.push((i, message));
                }
            }
            rows.end_row()
        })
    }
}

/// An empty field is NULL for everything but text (FLINK-32665); the null literal is NULL unless it is quoted.
fn append_field(
    b: &mut ColumnBuilder,
    text: &str,
    quoted: bool,
    syntax: &Syntax,
    rules: &TextRules,
) -> std::result::Result<(), String> {
    let is_null_literal = !quoted && syntax.null_literal.as_deref() == Some(text);
    let is_bytes = matches!(b.values, Values::Text(_) | Values::Binary(_));
    if is_null_literal || (!is_bytes && text.trim().is_empty()) {
        b.append_null();
        return Ok(());
    }
    match &mut b.values {
        Values::List { items, .. } => {
            for item in text.split(syntax.element_delimiter.as_str()) {
                append_field(items, item, quoted, syntax, rules)?;
            }
            b.finish_nested()
        }
        Values::Row(fields) => {
            let parts: Vec<&str> = text.split(syntax.element_delimiter.as_str()).collect();
            if parts.len() != fields.len() {
                return Err(format!("{} values for a ROW of {} fields", parts.len(), fields.len()));
            }
            for (field, part) in fields.iter_mut().zip(parts) {
                append_field(field, part, quoted, syntax, rules)?;
            }
            b.finish_nested()
        }
        _ => b.append_text(text, rules),
    }
}
