//! Cuts a stream of bytes into records, without holding more of it than one record and without an allocation per
//! record.

use crate::data::{Reason, RecordChunk, RecordRef, RefusedRecord, RowError};
use crate::formats::Framing;
use crate::formats::csv::QuoteState;
use std::sync::Arc;

/// A chunk is handed over when its records hold this many bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// Longer records than this cannot be addressed in a chunk.
const RECORD_BYTES_MAX: usize = 1 << 30;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a record's position counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Lines of the file, from 1: files that are read as one piece.
    Line,
    /// Bytes from the start of the file: pieces of a file, whose line numbers nobody has counted.
    Byte,
}

impl Unit {
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Line => "line",
            Unit::Byte => "byte",
        }
    }
}

/// What the records of a table have in common.
#[derive(Debug, Clone)]
pub struct RecordSpec {
    pub table: Arc<str>,
    pub framing: Framing,
    pub max_record_bytes: usize,
    /// Lines before this one are not read.
    pub first_line: u64,
}

enum Boundary {
    Lines,
    Quoted(QuoteState),
}

/// The record that is being collected at the end of the chunk's bytes.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Where it starts in the chunk.
    start: usize,
    /// Where it starts in the file.
    offset: u64,
    line: u64,
    /// Its size, also of the part that is thrown away once it is too large.
    size: u64,
}

/// Where to go on reading: the start of the first record that was not handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    pub offset: u64,
    pub line: u64,
}

pub struct RecordCutter {
    spec: RecordSpec,
    boundary: Boundary,
    unit: Unit,
    chunk: RecordChunk,
    open: Open,
    /// The first bytes of a record that is over the limit; it is skipped up to its end.
    oversized: Option<Vec<u8>>,
    wants_header: bool,
    /// No record that starts here or later is read.
    stop_at: u64,
}

impl RecordCutter {
    pub fn new(spec: RecordSpec, split: Arc<str>, unit: Unit, from: Resume, stop_at: u64) -> Self {
        let (boundary, wants_header) = match spec.framing {
            Framing::QuotedLines { delimiter, quote, escape, header } => {
                let boundary =
                    quote.map_or(Boundary::Lines, |q| Boundary::Quoted(QuoteState::new(delimiter, q, escape)));
                (boundary, header && from.offset == 0)
            }
            // Whoever opens a file has refused records that it cannot keep apart.
            Framing::Lines | Framing::Messages => (Boundary::Lines, false),
        };
        let chunk = RecordChunk { table: spec.table.clone(), split, unit: unit.as_str(), ..Default::default() };
        let open = Open { start: 0, offset: from.offset, line: from.line, size: 0 };
        Self { spec, boundary, unit, chunk, open, oversized: None, wants_header, stop_at }
    }

    /// For reading that starts in the middle of a file with a header.
    pub fn set_header(&mut self, header: Option<Arc<[u8]>>) {
        self.chunk.header = header;
    }

    pub fn header(&self) -> Option<&Arc<[u8]>> {
        self.chunk.header.as_ref()
    }

    /// Records that wait to be taken, the refused ones included.
    pub fn waiting(&self) -> usize {
        self.chunk.records.len() + self.chunk.refused.len()
    }

    pub fn is_full(&self, max_rows: usize) -> bool {
        self.waiting() >= max_rows.max(1) || self.open.start >= CHUNK_BYTES
    }

    /// True when the next record starts behind the end of the range.
    pub fn at_stop(&self) -> bool {
        self.open.size == 0 && self.open.offset >= self.stop_at
    }

    pub fn resume(&self) -> Resume {
        Resume { offset: self.open.offset, line: self.open.line }
    }

    /// Takes bytes until the chunk is full or the range is at its end; says how many.
    pub fn feed(&mut self, bytes: &[u8], max_rows: usize) -> usize {
        let mut at = 0;
        if self.open.offset == 0 && self.open.size == 0 && bytes.starts_with(BOM) {
            self.open.offset = BOM.len() as u64;
            at = BOM.len();
        }
        while at < bytes.len() && !self.is_full(max_rows) && !self.at_stop() {
            let rest = &bytes[at..];
            let newline = match &mut self.boundary {
                Boundary::Lines => memchr::memchr(b'\n', rest),
                Boundary::Quoted(state) => rest.iter().position(|&b| state.step(b)),
            };
            self.collect(&rest[..newline.unwrap_or(rest.len())]);
            at += newline.map_or(rest.len(), |n| n + 1);
            if newline.is_some() {
                self.end_record(1);
            }
        }
        at
    }

    /// The file is at its end: a last line without its newline is a record.
    pub fn end(&mut self) {
        if self.open.size > 0 {
            self.end_record(0);
        }
    }

    fn collect(&mut self, bytes: &[u8]) {
        self.open.size += bytes.len() as u64;
        let limit = self.spec.max_record_bytes.min(RECORD_BYTES_MAX);
        // One byte more than the limit, for the `\r` that is not part of the record.
        if self.oversized.is_none() && self.open.size > limit as u64 + 1 {
            self.oversize();
        }
        match &mut self.oversized {
            None => self.chunk.bytes.extend_from_slice(bytes),
            Some(head) => {
                let room = RefusedRecord::RAW_MAX.saturating_sub(head.len());
                head.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    fn oversize(&mut self) {
        let mut head = self.chunk.bytes.split_off(self.open.start);
        head.truncate(RefusedRecord::RAW_MAX);
        head.shrink_to_fit();
        self.chunk.bytes.shrink_to(CHUNK_BYTES);
        self.oversized = Some(head);
    }

    /// Closes the record under construction; `newline` is the length of the line's end.
    fn end_record(&mut self, newline: u64) {
        let Open { start, offset, line, size } = self.open;
        if self.chunk.bytes.len() > start && self.chunk.bytes.last() == Some(&b'\r') {
            self.chunk.bytes.pop();
        }
        let limit = self.spec.max_record_bytes.min(RECORD_BYTES_MAX);
        if self.oversized.is_none() && self.chunk.bytes.len() - start > limit {
            self.oversize();
        }
        let lines = match self.boundary {
            Boundary::Lines => 0,
            Boundary::Quoted(_) => memchr::memchr_iter(b'\n', &self.chunk.bytes[start..]).count() as u64,
        };
        let position = match self.unit {
            Unit::Line => line,
            Unit::Byte => offset,
        };
        let end = self.chunk.bytes.len();
        if let Some(raw) = self.oversized.take() {
            let message = format!("the record has {size} bytes, more than the limit of {limit}");
            let error = RowError::new(0, Reason::TooLarge, message);
            self.chunk.refused.push(RefusedRecord { position, raw, error });
        } else if end == start || (self.unit == Unit::Line && line < self.spec.first_line) {
            self.chunk.bytes.truncate(start);
        } else if std::mem::take(&mut self.wants_header) {
            self.chunk.header = Some(self.chunk.bytes[start..].into());
            self.chunk.bytes.truncate(start);
        } else {
            self.chunk.records.push(RecordRef { position, start: start as u32, end: end as u32 });
        }
        self.open =
            Open { start: self.chunk.bytes.len(), offset: offset + size + newline, line: line + lines + 1, size: 0 };
    }

    /// The finished records; one that is still being collected stays here.
    pub fn take(&mut self) -> RecordChunk {
        let mut rest = self.chunk.bytes.split_off(self.open.start);
        // The next chunk will be about as large.
        rest.reserve(self.chunk.bytes.len().min(CHUNK_BYTES));
        self.open.start = 0;
        let next = RecordChunk {
            table: self.chunk.table.clone(),
            split: self.chunk.split.clone(),
            unit: self.chunk.unit,
            header: self.chunk.header.clone(),
            bytes: rest,
            records: Vec::with_capacity(self.chunk.records.len()),
            envelopes: Vec::new(),
            refused: Vec::new(),
        };
        std::mem::replace(&mut self.chunk, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectors::testing::Positioned;

    fn cutter(framing: Framing, max: usize) -> RecordCutter {
        let spec = RecordSpec { table: "t".into(), framing, max_record_bytes: max, first_line: 1 };
        RecordCutter::new(spec, "f".into(), Unit::Line, Resume { offset: 0, line: 1 }, u64::MAX)
    }

    const CSV: Framing = Framing::QuotedLines { delimiter: b',', quote: Some(b'"'), escape: None, header: false };

    /// Feeds in pieces of every size; the result must not depend on it.
    fn cut(framing: Framing, max: usize, bytes: &[u8]) -> (Positioned, Positioned) {
        let mut results = vec![];
        // A byte order mark is only looked for in a first piece that holds it.
        for piece in [3, 5, 7, 64, 4096] {
            let mut c = cutter(framing, max);
            for part in bytes.chunks(piece) {
                assert_eq!(c.feed(part, 1_000_000), part.len());
            }
            c.end();
            let chunk = c.take();
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            let records =
                (0..chunk.len()).map(|i| (chunk.records[i].position, text(chunk.record(i)))).collect::<Vec<_>>();
            let refused = chunk.refused.iter().map(|r| (r.position, text(&r.raw))).collect::<Vec<_>>();
            results.push((records, refused));
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{results:?}");
        results.remove(0)
    }

    fn texts(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
        expected.iter().map(|(n, t)| (*n, t.to_string())).collect()
    }

    #[test]
    fn lines_with_every_kind_of_end() {
        let (records, refused) = cut(Framing::Lines, 100, b"\xef\xbb\xbfa\r\n\n\r\nb\rb\nhalf");
        assert_eq!(records, texts(&[(1, "a"), (4, "b\rb"), (5, "half")]));
        assert!(refused.is_empty());
        assert_eq!(cut(Framing::Lines, 100, b"").0, []);
    }

    #[test]
    fn a_newline_in_quotes_belongs_to_the_record() {
        let (records, _) = cut(CSV, 100, b"a,\"x\ny\"\nb,5\" pipe\nc,\"\"\"q\"\"\n\"\nd");
        assert_eq!(records, texts(&[(1, "a,\"x\ny\""), (3, "b,5\" pipe"), (4, "c,\"\"\"q\"\"\n\""), (6, "d")]));
    }

    #[test]
    fn records_over_the_limit_are_named_and_skipped() {
        let long = "x".repeat(5000);
        let bytes = format!("ab\n{long}\nabcd\r\nabcde\ncd\n{long}");
        let (records, refused) = cut(Framing::Lines, 4, bytes.as_bytes());
        assert_eq!(records, texts(&[(1, "ab"), (3, "abcd"), (5, "cd")]));
        assert_eq!(refused.iter().map(|(p, raw)| (*p, raw.len())).collect::<Vec<_>>(), [(2, 1024), (4, 5), (6, 1024)]);
    }

    #[test]
    fn a_hundred_megabyte_line_is_not_buffered() {
        let mut c = cutter(Framing::Lines, 1 << 20);
        let piece = vec![b'x'; 64 * 1024];
        c.feed(b"a\n", 1000);
        for _ in 0..1600 {
            c.feed(&piece, 1000);
            assert!(c.chunk.bytes.capacity() <= 4 << 20);
        }
        c.feed(b"\nb\n", 1000);
        let chunk = c.take();
        assert_eq!((chunk.len(), chunk.refused.len()), (2, 1));
        assert_eq!(chunk.refused[0].error.message, "the record has 104857600 bytes, more than the limit of 1048576");
        assert_eq!(chunk.refused[0].error.reason, Reason::TooLarge);
    }

    #[test]
    fn a_chunk_ends_between_records() {
        let mut c = cutter(Framing::Lines, 100);
        assert_eq!(c.feed(b"a\nb\nc\nd", 2), 4);
        assert_eq!(c.resume(), Resume { offset: 4, line: 3 });
        assert_eq!(c.take().len(), 2);
        assert_eq!(c.feed(b"c\nd", 2), 3);
        assert_eq!(c.resume(), Resume { offset: 6, line: 4 });
        let chunk = c.take();
        assert_eq!((chunk.len(), chunk.record(0)), (1, &b"c"[..]));
        c.end();
        assert_eq!(c.take().record(0), b"d");
    }

    #[test]
    fn the_header_is_no_record() {
        let framing = Framing::QuotedLines { delimiter: b',', quote: None, escape: None, header: true };
        let mut c = cutter(framing, 100);
        c.feed(b"\na,b\n1,2\n", 100);
        let chunk = c.take();
        assert_eq!((chunk.header.as_deref(), chunk.len(), chunk.records[0].position), (Some(&b"a,b"[..]), 1, 3));
        c.feed(b"3,4\n", 100);
        assert_eq!(c.take().header.as_deref(), Some(&b"a,b"[..]));
    }

    #[test]
    fn lines_before_the_first_wanted_one_are_not_read() {
        let mut c = cutter(Framing::Lines, 100);
        c.spec.first_line = 3;
        c.feed(b"a\nb\nc\n", 100);
        let chunk = c.take();
        assert_eq!((chunk.len(), chunk.records[0].position), (1, 3));
    }
}
