//! Rows as CSV records.

use super::{Syntax, check_types};
use crate::data::{Batch, Reason, RowError};
use crate::error::Result;
use crate::formats::cell::{CellValues, Spelling};
use crate::formats::{Cell, Encoded, Encoder, FormatContext};

pub(super) struct CsvEncoder {
    syntax: Syntax,
    names: Vec<String>,
    /// The field at hand, before it is quoted.
    text: Vec<u8>,
}

impl CsvEncoder {
    pub fn new(cx: &FormatContext) -> Result<Self> {
        check_types(cx)?;
        let syntax = Syntax::new(&cx.options).map_err(|e| e.context(format!("table {}", cx.table)))?;
        let names = cx.schema.columns.iter().map(|c| c.name.clone()).collect();
        Ok(Self { syntax, names, text: Vec::new() })
    }

    fn write_cell(&mut self, cell: &Cell<'_>, row: usize, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        if cell.is_null(row) {
            out.extend_from_slice(self.syntax.null_literal.as_deref().unwrap_or("").as_bytes());
            return Ok(());
        }
        self.text.clear();
        match &cell.values {
            CellValues::List(ends, items) => {
                let range = ends[row] as usize..ends[row + 1] as usize;
                self.write_elements(range.map(|entry| (items.as_ref(), entry)))?;
            }
            CellValues::Row(fields) => self.write_elements(fields.iter().map(|(_, field)| (field, row)))?,
            _ => cell.write_text(row, Spelling::SQL, &mut self.text)?,
        }
        self.write_field(matches!(cell.values, CellValues::Text(_)), out)
    }

    fn write_elements<'c, 'a: 'c>(
        &mut self,
        elements: impl Iterator<Item = (&'c Cell<'a>, usize)>,
    ) -> std::result::Result<(), String> {
        for (i, (cell, row)) in elements.enumerate() {
            if i > 0 {
                self.text.extend_from_slice(self.syntax.element_delimiter.as_bytes());
            }
            if cell.is_null(row) {
                self.text.extend_from_slice(self.syntax.null_literal.as_deref().unwrap_or("").as_bytes());
            } else {
                cell.write_text(row, Spelling::SQL, &mut self.text)?;
            }
        }
        Ok(())
    }

    /// Quotes only where reading back needs it; text that looks like the null literal is quoted to stay text.
    fn write_field(&self, is_text: bool, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        let s = &self.syntax;
        let special = |b: u8| b == s.delimiter || Some(b) == s.quote || b == b'\n' || b == b'\r' || Some(b) == s.escape;
        let is_literal = is_text && s.null_literal.as_deref().is_some_and(|l| l.as_bytes() == self.text);
        let needed =
            is_literal || (s.comments && self.text.first() == Some(&b'#')) || self.text.iter().any(|&b| special(b));
        let Some(quote) = s.quote.filter(|_| needed) else {
            if self.text.iter().any(|&b| b == s.delimiter || b == b'\n' || b == b'\r') {
                return Err("contains a delimiter or newline, and quotes are disabled".into());
            }
            out.extend_from_slice(&self.text);
            return Ok(());
        };
        out.push(quote);
        for &b in &self.text {
            if b == quote || Some(b) == s.escape {
                out.push(s.escape.unwrap_or(quote));
            }
            out.push(b);
        }
        out.push(quote);
        Ok(())
    }
}

impl Encoder for CsvEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let cells = batch.columns.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let start = out.bytes.len();
            let mut fault = None;
            for (i, cell) in cells.iter().enumerate() {
                if i > 0 {
                    out.bytes.push(self.syntax.delimiter);
                }
                if let Err(message) = self.write_cell(cell, row, &mut out.bytes) {
                    fault = Some((i, message));
                    break;
                }
            }
            if let Some((i, message)) = fault {
                out.bytes.truncate(start);
                let name = self.names.get(i).map_or("?", String::as_str);
                let error = RowError::new(row as u32, Reason::Encode, message);
                errors.push(error.column(name));
                continue;
            }
            // An empty line would not be read back as a record.
            if out.bytes.len() == start
                && let Some(quote) = self.syntax.quote
            {
                out.bytes.extend_from_slice(&[quote, quote]);
            }
            out.finish_record(row as u32);
        }
        Ok(())
    }

    fn header(&self) -> Option<Vec<u8>> {
        if !self.syntax.header {
            return None;
        }
        let mut out = Vec::new();
        let mut writer = CsvEncoder { syntax: self.syntax.clone(), names: vec![], text: vec![] };
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                out.push(self.syntax.delimiter);
            }
            writer.text = name.clone().into_bytes();
            if writer.write_field(true, &mut out).is_err() {
                out.extend_from_slice(name.as_bytes());
            }
        }
        Some(out)
    }
}
