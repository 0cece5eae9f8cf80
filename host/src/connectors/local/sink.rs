//! Rows as lines: encoded, one record a line, into a file or onto a standard stream.

use crate::data::{Batch, Reason, RowError};
use crate::error::{Error, Result};
use crate::formats::{Encoded, Encoder, Framing};
use std::io::Write;

/// Turns batches into lines.
pub struct LineEncoder {
    encoder: Box<dyn Encoder>,
    /// In plain lines a record must not contain a newline.
    one_line: bool,
    encoded: Encoded,
    lines: Vec<u8>,
}

/// A buffer that grew beyond this for one batch is given back.
const KEPT_BYTES: usize = 4 << 20;

impl LineEncoder {
    pub fn new(encoder: Box<dyn Encoder>, framing: Framing) -> Self {
        let one_line = framing == Framing::Lines;
        Self { encoder, one_line, encoded: Encoded::default(), lines: Vec::new() }
    }

    /// The header line with its newline, if the format has one.
    pub fn header(&self) -> Option<Vec<u8>> {
        let mut header = self.encoder.header()?;
        header.push(b'\n');
        Some(header)
    }

    /// Whole lines for the rows of a batch; rows without a record go to `errors`. `prefix` stands before each line.
    pub fn encode(&mut self, batch: &Batch, prefix: &[u8], errors: &mut Vec<RowError>) -> Result<&[u8]> {
        self.encoded.clear();
        self.lines.clear();
        self.encoded.bytes.shrink_to(KEPT_BYTES);
        self.lines.shrink_to(KEPT_BYTES);
        self.encoder.encode(batch, &mut self.encoded, errors)?;
        let mut start = 0;
        for (index, &(end, row)) in self.encoded.records.iter().enumerate() {
            let record = self.encoded.bytes.get(start..end).ok_or_else(|| {
                Error::internal(format!("the encoder's record of row {row} lies outside of its bytes"))
            })?;
            start = end;
            if self.encoded.without_value.binary_search(&index).is_ok() {
                let message = "the record has no value (its column is NULL), which a line cannot say";
                errors.push(RowError::new(row, Reason::Encode, message));
                continue;
            }
            if self.one_line && memchr::memchr(b'\n', record).is_some() {
                let message = "the record contains a newline, so it cannot be one line of a file";
                errors.push(RowError::new(row, Reason::Encode, message));
                continue;
            }
            self.lines.extend_from_slice(prefix);
            self.lines.extend_from_slice(record);
            self.lines.push(b'\n');
        }
        Ok(&self.lines)
    }
}

/// Writes whole lines to standard output or standard error under its lock, and out at once: no line is ever cut by
/// another writer's.
pub fn write_stream(stderr: bool, bytes: &[u8]) -> Result<()> {
    let outcome = if stderr {
        std::io::stderr().lock().write_all(bytes)
    } else {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes).and_then(|()| stdout.flush())
    };
    outcome.map_err(|e| stream_error(stderr, &e))
}

fn stream_error(stderr: bool, e: &std::io::Error) -> Error {
    let name = if stderr { "standard error" } else { "standard output" };
    match e.kind() {
        std::io::ErrorKind::BrokenPipe => Error::external(format!("{name} was closed by the program that read it")),
        _ => Error::external(format!("cannot write to {name}: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, LogicalType, Origin};
    use crate::formats::testing::{chunk, context};

    #[test]
    fn a_record_with_a_newline_is_refused_as_a_line() {
        let cx = context(vec![Column::new("s", LogicalType::STRING, true)], &[]);
        let raw = crate::formats::find("raw").unwrap();
        let rows = raw.decoder(&cx).unwrap().decode(&chunk(&["a", "b\nc", "d"])).unwrap();
        let batch = Batch::new(rows.columns, Origin::unknown());
        let mut errors = vec![];
        let mut lines = LineEncoder::new(raw.encoder(&cx).unwrap(), Framing::Lines);
        assert_eq!(lines.encode(&batch, b"> ", &mut errors).unwrap(), b"> a\n> d\n");
        assert_eq!((errors.len(), errors[0].row), (1, 1));
    }

    #[test]
    fn a_closed_stream_is_the_outsides_fault() {
        let e = stream_error(false, &std::io::ErrorKind::BrokenPipe.into());
        assert_eq!(e.message, "standard output was closed by the program that read it");
        assert_eq!(e.domain.exit_code(), 3);
    }
}
