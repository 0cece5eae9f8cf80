//! `csv`: fields by position, or by the names of a header line. Flink's rules for empty fields and quotes.

mod decode;
mod encode;
mod quotes;
#[cfg(test)]
mod tests;

pub use quotes::QuoteState;

use super::{Decoder, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::data::LogicalType;
use crate::error::{Error, Result};
use crate::sql::options::{OptionSpec, ResolvedOptions};

/// `csv`
pub struct Csv;

/// How fields are told apart, from the table's options.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Syntax {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    /// Lines that begin with `#` are no records.
    comments: bool,
    /// What NULL is written as; an unquoted field with this text is NULL.
    null_literal: Option<String>,
    element_delimiter: String,
    header: bool,
}

impl Syntax {
    fn new(options: &ResolvedOptions) -> Result<Self> {
        let byte = |name: &str| match options.char(name).or_else(|| options.text(name).and_then(|t| t.chars().next())) {
            None => Ok(None),
            Some(c) => match u8::try_from(u32::from(c)) {
                Ok(byte) if byte.is_ascii() => Ok(Some(byte)),
                _ => Err(Error::user(format!("csv: {name} must be an ASCII character, not {c:?}"))),
            },
        };
        let disabled = options.bool("disable-quote-character").unwrap_or(false);
        let quote = match (byte("quote-character")?, disabled) {
            (Some(_), true) if options.is_set("quote-character") => {
                return Err(Error::user("csv: quote-character and disable-quote-character exclude each other"));
            }
            (_, true) => None,
            (quote, false) => quote.or(Some(b'"')),
        };
        let syntax = Self {
            delimiter: byte("field-delimiter")?.unwrap_or(b','),
            quote,
            escape: byte("escape-character")?,
            comments: options.bool("allow-comments").unwrap_or(false),
            null_literal: options.text("null-literal").map(str::to_string),
            element_delimiter: options.get("array-element-delimiter").map_or(";".to_string(), |e| e.text.clone()),
            header: options.bool("header").unwrap_or(false),
        };
        if syntax.quote == Some(syntax.delimiter) || syntax.delimiter == b'\n' {
            return Err(Error::user("csv: field-delimiter cannot be the quote character or a newline"));
        }
        Ok(syntax)
    }

    fn framing(&self) -> Framing {
        match (self.quote, self.header) {
            (None, false) => Framing::Lines,
            (quote, header) => Framing::QuotedLines { delimiter: self.delimiter, quote, escape: self.escape, header },
        }
    }

    fn reader(&self) -> csv_core::Reader {
        let mut builder = csv_core::ReaderBuilder::new();
        // `\r` alone is data; the one before `\n` was taken off with the line's end.
        builder.delimiter(self.delimiter).terminator(csv_core::Terminator::Any(b'\n')).escape(self.escape);
        match self.quote {
            Some(quote) => builder.quote(quote),
            None => builder.quoting(false),
        };
        builder.build()
    }
}

impl FormatFactory for Csv {
    fn identifier(&self) -> &'static str {
        "csv"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::CSV
    }
    fn framing(&self, options: &ResolvedOptions) -> Result<Framing> {
        Ok(Syntax::new(options)?.framing())
    }
    fn is_text(&self) -> bool {
        true
    }
    fn by_position(&self, options: &ResolvedOptions) -> bool {
        !options.bool("header").unwrap_or(false)
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(decode::CsvDecoder::new(cx)?))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(encode::CsvEncoder::new(cx)?))
    }
}

/// Nested values go one level deep, as Flink's CSV does: an ARRAY or ROW of plain values.
fn check_types(cx: &FormatContext) -> Result<()> {
    let plain = |t: &LogicalType| !matches!(t, LogicalType::Array(_) | LogicalType::Map(..) | LogicalType::Row(_));
    for c in &cx.schema.columns {
        let fits = match &c.logical_type {
            LogicalType::Array(item) => plain(item),
            LogicalType::Row(fields) => fields.iter().all(|(_, t)| plain(t)),
            t => plain(t),
        };
        if !fits {
            let message = format!("table {}, column {}: CSV cannot hold a {}", cx.table, c.name, c.logical_type);
            return Err(Error::user(message));
        }
    }
    Ok(())
}
