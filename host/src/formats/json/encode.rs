//! Rows as JSON objects: members in column order, one spelling, an error for the row that JSON cannot express.

use crate::data::{Batch, LogicalType, Reason, RowError, TableSchema};
use crate::error::{Error, Result};
use crate::formats::cell::{CellValues, Spelling};
use crate::formats::{Cell, Encoded, Encoder, FormatContext};
use crate::sql::options::ResolvedOptions;

/// Whether a record begins with `"$kind"`, the row's kind (`+I`, `-U`, `+U`, `-D`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindMember {
    Never,
    /// In batches that carry kinds.
    WhenPresent,
    Always,
}

/// What to do with a NULL key of a MAP (`map-null-key.mode`).
#[derive(Debug, Clone)]
enum NullKey {
    Fail,
    Drop,
    Literal(String),
}

/// Encodes one JSON object per row.
#[derive(Debug)]
pub struct JsonEncoder {
    /// `{"name":` for the first member, `,"name":` for the others; without the bracket or comma.
    keys: Vec<Vec<u8>>,
    names: Vec<String>,
    rules: Rules,
    kind: KindMember,
}

#[derive(Debug)]
struct Rules {
    spelling: Spelling,
    ignore_nulls: bool,
    null_key: NullKey,
}

impl JsonEncoder {
    /// As the options of the table's format say. A user error for types that JSON cannot hold.
    pub fn new(cx: &FormatContext) -> Result<Self> {
        for c in &cx.schema.columns {
            check(&c.logical_type).map_err(|e| Error::user(format!("table {}, column {}: {e}", cx.table, c.name)))?;
        }
        let mut encoder = Self::plain(&cx.schema, KindMember::Never);
        encoder.rules = Rules::new(&cx.options, cx.time_zone)?;
        Ok(encoder)
    }

    /// Every member, SQL timestamps: what stand-ins and the console write.
    pub fn plain(schema: &TableSchema, kind: KindMember) -> Self {
        let names: Vec<String> = schema.columns.iter().map(|c| c.name.clone()).collect();
        let keys = names.iter().map(|n| key(n)).collect();
        let rules = Rules { spelling: Spelling::SQL, ignore_nulls: false, null_key: NullKey::Fail };
        Self { keys, names, rules, kind }
    }

    /// NULL columns are left out.
    pub(super) fn leaves_nulls_out(&self) -> bool {
        self.rules.ignore_nulls
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("?", String::as_str)
    }

    pub(super) fn write_row(
        &self,
        cells: &[Cell<'_>],
        row: usize,
        kind: Option<&str>,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), (usize, String)> {
        let mut separator = b'{';
        if let Some(kind) = kind {
            out.extend_from_slice(b"{\"$kind\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.push(b'"');
            separator = b',';
        }
        for (i, (key, cell)) in self.keys.iter().zip(cells).enumerate() {
            if self.rules.ignore_nulls && cell.is_null(row) {
                continue;
            }
            out.push(std::mem::replace(&mut separator, b','));
            out.extend_from_slice(key);
            self.rules.write(cell, row, out).map_err(|e| (i, e))?;
        }
        if separator == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }
}

impl Encoder for JsonEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let cells = batch.columns.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
        let with_kind = match self.kind {
            KindMember::Never => false,
            KindMember::WhenPresent => batch.kinds.is_some(),
            KindMember::Always => true,
        };
        for row in 0..batch.num_rows() {
            let start = out.bytes.len();
            let kind = with_kind.then(|| batch.kind(row).short());
            match self.write_row(&cells, row, kind, &mut out.bytes) {
                Ok(()) => out.finish_record(row as u32),
                Err((column, message)) => {
                    out.bytes.truncate(start);
                    errors.push(RowError::new(row as u32, Reason::Encode, message).column(self.name(column)));
                }
            }
        }
        Ok(())
    }
}

impl Rules {
    fn new(options: &ResolvedOptions, time_zone: chrono_tz::Tz) -> Result<Self> {
        let spelling = match options.text("timestamp-format.standard").map(str::to_ascii_uppercase).as_deref() {
            Some("ISO-8601") => Spelling { separator: b'T', zone: None },
            Some("ISO-8601-WITH-OFFSET") => Spelling { separator: b'T', zone: Some(time_zone) },
            _ => Spelling::SQL,
        };
        let literal = options.text("map-null-key.literal").unwrap_or("null");
        let null_key = match options.text("map-null-key.mode").map(str::to_ascii_uppercase).as_deref() {
            None | Some("FAIL") => NullKey::Fail,
            Some("DROP") => NullKey::Drop,
            Some("LITERAL") => NullKey::Literal(literal.to_string()),
            Some(other) => return Err(Error::user(format!("map-null-key.mode: {other} is not FAIL, DROP or LITERAL"))),
        };
        let ignore_nulls = options.bool("encode.ignore-null-fields").unwrap_or(false);
        Ok(Self { spelling, ignore_nulls, null_key })
    }

    fn write(&self, cell: &Cell<'_>, row: usize, out: &mut Vec<u8>) -> std::result::Result<(), String> {
        if cell.is_null(row) {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        match &cell.values {
            CellValues::Text(a) => {
                write_string(out, a.value(row));
                Ok(())
            }
            CellValues::Float32(v) if !v[row].is_finite() => Err(format!("JSON has no {}", v[row])),
            CellValues::Float64(v) if !v[row].is_finite() => Err(format!("JSON has no {}", v[row])),
            CellValues::Boolean(_)
            | CellValues::Int8(_)
            | CellValues::Int16(_)
            | CellValues::Int32(_)
            | CellValues::Int64(_)
            | CellValues::Float32(_)
            | CellValues::Float64(_)
            | CellValues::Decimal(..) => cell.write_text(row, self.spelling, out),
            CellValues::List(ends, items) => self.write_list(ends, items, row, out),
            CellValues::Map(ends, keys, values) => self.write_map(ends, keys, values, row, out),
            CellValues::Row(fields) => self.write_fields(fields, row, out),
            // Nothing in these needs an escape.
            CellValues::Binary(_)
            | CellValues::Date(_)
            | CellValues::Time32(..)
            | CellValues::Time64(..)
            | CellValues::Timestamp(..) => {
                out.push(b'"');
                cell.write_text(row, self.spelling, out)?;
                out.push(b'"');
                Ok(())
            }
        }
    }

    fn write_list(
        &self,
        ends: &[i32],
        items: &Cell<'_>,
        row: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        out.push(b'[');
        for (i, item) in (ends[row]..ends[row + 1]).enumerate() {
            if i > 0 {
                out.push(b',');
            }
            self.write(items, item as usize, out)?;
        }
        out.push(b']');
        Ok(())
    }

    fn write_map(
        &self,
        ends: &[i32],
        keys: &Cell<'_>,
        values: &Cell<'_>,
        row: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        let mut separator = b'{';
        for entry in ends[row] as usize..ends[row + 1] as usize {
            let key = match (&keys.values, &self.null_key) {
                (CellValues::Text(a), _) if !keys.is_null(entry) => a.value(entry),
                (CellValues::Text(_), NullKey::Drop) => continue,
                (CellValues::Text(_), NullKey::Literal(literal)) => literal.as_str(),
                (CellValues::Text(_), NullKey::Fail) => {
                    return Err("a MAP has a NULL key (map-null-key.mode = DROP or LITERAL would allow it)".into());
                }
                _ => return Err("a MAP needs text keys to be written as JSON".into()),
            };
            out.push(std::mem::replace(&mut separator, b','));
            write_string(out, key);
            out.push(b':');
            self.write(values, entry, out)?;
        }
        if separator == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }

    fn write_fields(
        &self,
        fields: &[(&str, Cell<'_>)],
        row: usize,
        out: &mut Vec<u8>,
    ) -> std::result::Result<(), String> {
        let mut separator = b'{';
        for (name, cell) in fields {
            if self.ignore_nulls && cell.is_null(row) {
                continue;
            }
            out.push(std::mem::replace(&mut separator, b','));
            write_string(out, name);
            out.push(b':');
            self.write(cell, row, out)?;
        }
        if separator == b'{' {
            out.push(b'{');
        }
        out.push(b'}');
        Ok(())
    }
}

fn check(t: &LogicalType) -> std::result::Result<(), String> {
    super::plan::Shape::new(t).map(|_| ())
}

fn key(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 3);
    write_string(&mut key, name);
    key.push(b':');
    key
}

/// Appends a JSON string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (i, &b) in bytes.iter().enumerate() {
        if b >= 0x20 && b != b'"' && b != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..i]);
        start = i + 1;
        match b {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}
