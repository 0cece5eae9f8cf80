//! Reads a frame that the other side wrote.

use super::{HEADER, MAGIC, NODE, ROW_ERROR, SECTION};
use crate::bytes::{range, u16_at, u32_at, u64_at};
use crate::types::{Field, Wire};
use crate::{FrameError, MAX_FRAME_BYTES, Schema, VERSION, section};

const KINDS: usize = section::SOURCE_ROW as usize + 1;

/// How much of a frame is verified up front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Everything but UTF-8: for frames of somebody who is not trusted.
    Full,
    /// Buffers have the right sizes; single offsets are checked when they are used. For guests reading the host.
    Buffers,
}

/// A frame whose header and section table fit its bytes.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    rows: usize,
    fingerprint: u64,
    /// By kind.
    sections: [Option<&'a [u8]>; KINDS],
}

/// One column, or one node of a nested column. Buffers may lie at any alignment.
#[derive(Debug, Clone)]
pub struct Column<'a> {
    pub field: &'a Field,
    /// Values, NULLs included.
    pub len: usize,
    /// One bit a value, lowest bit first, 1 = present; None: nothing is NULL.
    pub validity: Option<&'a [u8]>,
    /// `len + 1` little-endian u32, or empty.
    pub offsets: &'a [u8],
    pub data: &'a [u8],
    pub children: Vec<Column<'a>>,
}

/// An entry of the section of row errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowErrorEntry<'a> {
    pub row: u32,
    pub code: u32,
    pub message: &'a str,
}

impl<'a> Frame<'a> {
    /// Reads the header and the section table. `bytes` is the whole frame and nothing else.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        if bytes.len() >= MAX_FRAME_BYTES {
            return Err(FrameError::new(format!("frame: {} bytes are too long", bytes.len())));
        }
        if range(bytes, 0, 4, "frame")? != MAGIC {
            return Err(FrameError::new("frame: does not begin with WMFR"));
        }
        if bytes.get(4..6) != Some(&[VERSION.0, VERSION.1]) {
            return Err(FrameError::new(format!("frame: version {}.{} is expected", VERSION.0, VERSION.1)));
        }
        let header = usize::from(u16_at(bytes, 6)?);
        let (rows, count) = (u32_at(bytes, 16)? as usize, u32_at(bytes, 20)? as usize);
        let (total, features) = (u32_at(bytes, 24)? as usize, u32_at(bytes, 28)?);
        if header < HEADER || !header.is_multiple_of(8) {
            return Err(FrameError::new(format!("frame: a header of {header} bytes")));
        }
        if total != bytes.len() {
            return Err(FrameError::new(format!("frame: says {total} bytes, has {}", bytes.len())));
        }
        if features != 0 {
            return Err(FrameError::new(format!("frame: needs unknown features {features:#x}")));
        }
        if count > 64 {
            return Err(FrameError::new(format!("frame: {count} sections")));
        }
        let table = range(bytes, header, count * SECTION, "section table")?;
        let mut sections = [None; KINDS];
        for entry in table.chunks_exact(SECTION) {
            let (kind, flags) = (u32_at(entry, 0)?, u32_at(entry, 4)?);
            let body = range(bytes, u32_at(entry, 8)? as usize, u32_at(entry, 12)? as usize, "section")?;
            match sections.get_mut(kind as usize).filter(|_| kind >= section::COLUMNS) {
                Some(place @ None) => *place = Some(body),
                Some(Some(_)) => return Err(FrameError::new(format!("frame: two sections of kind {kind}"))),
                None if flags & section::REQUIRED != 0 => {
                    return Err(FrameError::new(format!("frame: required section of unknown kind {kind}")));
                }
                None => {}
            }
        }
        Ok(Self { bytes, rows, fingerprint: u64_at(bytes, 8)?, sections })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub fn section(&self, kind: u32) -> Option<&'a [u8]> {
        self.sections.get(kind as usize).copied().flatten()
    }

    /// The columns, checked against the schema that both sides agreed on when the function was opened.
    pub fn columns(&self, schema: &'a Schema, check: Check) -> Result<Vec<Column<'a>>, FrameError> {
        if self.fingerprint != schema.fingerprint() {
            return Err(FrameError::new(format!(
                "frame: schema fingerprint {:016x}, {:016x} was opened",
                self.fingerprint,
                schema.fingerprint()
            )));
        }
        let table = self.section(section::COLUMNS).unwrap_or_default();
        if !table.len().is_multiple_of(NODE) {
            return Err(FrameError::new(format!("frame: a node table of {} bytes", table.len())));
        }
        let mut nodes = Nodes { bytes: self.bytes, table: table.chunks_exact(NODE), check };
        let columns = schema
            .fields()
            .iter()
            .map(|f| {
                let column = nodes.read(f)?;
                if column.len != self.rows {
                    return Err(bad(f, format!("{} values, the frame has {} rows", column.len, self.rows)));
                }
                Ok(column)
            })
            .collect::<Result<Vec<_>, _>>()?;
        match nodes.table.next() {
            None => Ok(columns),
            Some(_) => Err(FrameError::new("frame: more nodes than the schema has")),
        }
    }

    /// A section with one item of `width` bytes a row.
    pub fn row_section(&self, kind: u32, width: usize) -> Result<Option<&'a [u8]>, FrameError> {
        match self.section(kind) {
            Some(body) if Some(body.len()) != self.rows.checked_mul(width) => Err(FrameError::new(format!(
                "frame: section {kind} has {} bytes for {} rows of {width}",
                body.len(),
                self.rows
            ))),
            other => Ok(other),
        }
    }

    /// For each row of an answer the row of the request that it came from; they never fall and lie below `asked`.
    /// None: there is no such section.
    pub fn source_rows(&self, asked: usize) -> Result<Option<Vec<u32>>, FrameError> {
        let Some(body) = self.row_section(section::SOURCE_ROW, 4)? else { return Ok(None) };
        let mut rows: Vec<u32> = Vec::with_capacity(self.rows);
        for word in body.chunks_exact(4) {
            let row = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if row as usize >= asked || rows.last().is_some_and(|last| *last > row) {
                return Err(FrameError::new(format!("source rows: row {row} of {asked} is out of range or order")));
            }
            rows.push(row);
        }
        Ok(Some(rows))
    }

    /// Rows of the request that the plugin refused, of `asked` rows: ascending, each at most once, messages in UTF-8.
    pub fn row_errors(&self, asked: usize) -> Result<Vec<RowErrorEntry<'a>>, FrameError> {
        let Some(body) = self.section(section::ROW_ERRORS) else { return Ok(Vec::new()) };
        let count = u32_at(body, 0)? as usize;
        if count > asked {
            return Err(FrameError::new(format!("row errors: {count} of {asked} rows")));
        }
        let table = range(body, 8, count.saturating_mul(ROW_ERROR), "row errors")?;
        let mut errors: Vec<RowErrorEntry> = Vec::with_capacity(count);
        for entry in table.chunks_exact(ROW_ERROR) {
            let (row, code) = (u32_at(entry, 0)?, u32_at(entry, 4)?);
            let text = range(body, u32_at(entry, 8)? as usize, u32_at(entry, 12)? as usize, "row error's message")?;
            let message = std::str::from_utf8(text)
                .map_err(|_| FrameError::new(format!("row errors: the message of row {row} is not valid UTF-8")))?;
            if row as usize >= asked || errors.last().is_some_and(|last| last.row >= row) {
                return Err(FrameError::new(format!("row errors: row {row} is out of range or out of order")));
            }
            errors.push(RowErrorEntry { row, code, message });
        }
        Ok(errors)
    }
}

fn bad(field: &Field, what: impl std::fmt::Display) -> FrameError {
    FrameError::new(format!("column {} ({}): {what}", field.name, field.ty))
}

struct Nodes<'a> {
    bytes: &'a [u8],
    table: std::slice::ChunksExact<'a, u8>,
    check: Check,
}

impl<'a> Nodes<'a> {
    fn read(&mut self, field: &'a Field) -> Result<Column<'a>, FrameError> {
        let node = self.table.next().ok_or_else(|| bad(field, "its node is missing"))?;
        let word = |i: usize| u32_at(node, i * 4).map(|w| w as usize);
        let (code, children, len) = (word(0)?, word(1)?, word(2)?);
        let wire = field.ty.wire();
        // The common case without a list of children to make.
        let fields = if wire.is_nested() { field.ty.children() } else { Vec::new() };
        if code != usize::from(field.ty.code()) || children != fields.len() {
            return Err(bad(field, format!("its node has type code {code} and {children} children")));
        }
        let validity = self.validity(field, len, word(3)?)?;
        let (offsets, data) = self.buffers(field, wire, len, [word(4)?, word(5)?, word(6)?])?;
        let children = fields.into_iter().map(|f| self.read(f)).collect::<Result<Vec<_>, _>>()?;
        let column = Column { field, len, validity, offsets, data, children };
        self.check_ends(&column)?;
        Ok(column)
    }

    fn buffer(&self, field: &Field, start: usize, len: usize, what: &str) -> Result<&'a [u8], FrameError> {
        if start < HEADER || !start.is_multiple_of(8) {
            return Err(bad(field, format!("its {what} begin at {start}, not at a multiple of 8 behind the header")));
        }
        range(self.bytes, start, len, what).map_err(|e| bad(field, e))
    }

    fn validity(&self, field: &Field, len: usize, start: usize) -> Result<Option<&'a [u8]>, FrameError> {
        if start == 0 {
            return Ok(None);
        }
        let bits = self.buffer(field, start, len.div_ceil(8), "validity bits")?;
        if self.check == Check::Full && !field.nullable && !all_set(bits, len) {
            return Err(bad(field, "NULL where the type is NOT NULL"));
        }
        Ok(Some(bits))
    }

    fn buffers(
        &self,
        field: &Field,
        wire: Wire,
        len: usize,
        [offsets_at, data_at, data_len]: [usize; 3],
    ) -> Result<(&'a [u8], &'a [u8]), FrameError> {
        let expected = match wire {
            Wire::Bits => Some(len.div_ceil(8)),
            Wire::Fixed(width) => Some(len.checked_mul(width).ok_or_else(|| bad(field, "its size overflows"))?),
            Wire::Bytes => None,
            Wire::List | Wire::Map | Wire::Struct => Some(0),
        };
        if expected.is_some_and(|n| n != data_len) {
            return Err(bad(field, format!("{data_len} bytes of data for {len} values")));
        }
        let data = if data_len == 0 { &[][..] } else { self.buffer(field, data_at, data_len, "data")? };
        let offsets = match wire {
            Wire::Bytes | Wire::List | Wire::Map => {
                let size = len.checked_add(1).and_then(|n| n.checked_mul(4));
                self.buffer(field, offsets_at, size.ok_or_else(|| bad(field, "its size overflows"))?, "offsets")?
            }
            _ => &[][..],
        };
        Ok((offsets, data))
    }

    /// Offsets begin at 0, never fall, and end at the end of what they point into; members are as long as their ROW.
    fn check_ends(&self, column: &Column) -> Result<(), FrameError> {
        let field = column.field;
        let end = match field.ty.wire() {
            Wire::Bytes => column.data.len(),
            Wire::List | Wire::Map => column.children.first().map_or(0, |c| c.len),
            Wire::Struct => column.len,
            Wire::Bits | Wire::Fixed(_) => return Ok(()),
        };
        if let Some(child) = column.children.iter().find(|c| c.len != end) {
            return Err(bad(field, format!("its child {} has {} values, not {end}", child.field.name, child.len)));
        }
        if self.check == Check::Full && field.ty.wire() != Wire::Struct {
            check_offsets(column.offsets, end).map_err(|e| bad(field, e))?;
        }
        Ok(())
    }
}

fn all_set(bits: &[u8], len: usize) -> bool {
    let (whole, rest) = (len / 8, len % 8);
    let mask = (1u8 << rest) - 1;
    bits.iter().take(whole).all(|b| *b == 0xff) && (rest == 0 || bits.get(whole).is_some_and(|b| b & mask == mask))
}

fn check_offsets(offsets: &[u8], end: usize) -> Result<(), FrameError> {
    // One pass without a branch per offset: the common answer is that all is well.
    let (mut previous, mut falls) = (0u32, false);
    let mut first = None;
    for word in offsets.chunks_exact(4) {
        let offset = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        first.get_or_insert(offset);
        falls |= offset < previous;
        previous = offset;
    }
    if first != Some(0) || falls || previous as usize != end {
        return Err(FrameError::new(format!("its offsets do not rise from 0 to {end}")));
    }
    Ok(())
}

impl<'a> Column<'a> {
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity.is_none_or(|bits| bits.get(row / 8).is_some_and(|b| b >> (row % 8) & 1 == 1))
    }

    /// Start and end of a value's bytes or elements; (0, 0) outside of the column.
    #[inline]
    pub fn span(&self, row: usize) -> (usize, usize) {
        match self.offsets.get(row * 4..row * 4 + 8) {
            Some(w) => (
                u32::from_le_bytes([w[0], w[1], w[2], w[3]]) as usize,
                u32::from_le_bytes([w[4], w[5], w[6], w[7]]) as usize,
            ),
            None => (0, 0),
        }
    }

    /// The bytes of a value of variable length; empty where offsets lie.
    #[inline]
    pub fn bytes(&self, row: usize) -> &'a [u8] {
        let data: &'a [u8] = self.data;
        let (start, end) = self.span(row);
        data.get(start..end).unwrap_or_default()
    }
}
