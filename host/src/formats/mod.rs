//! Record formats: bytes to columns and back. A format is one file here and one line in [`FORMATS`].

pub mod options;

use crate::data::{Batch, RecordChunk, RowError, TableSchema};
use crate::error::Result;
use crate::sql::options::{OptionSpec, ResolvedOptions};
use arrow::array::RecordBatch;
use std::sync::Arc;

/// What came out of decoding a chunk.
pub struct Decoded {
    pub columns: RecordBatch,
    /// Row i came from record `records[i]`; None: row i is record i and no record failed.
    pub records: Option<Vec<u32>>,
    /// `RowError::row` is the index of the record in the chunk. A record here gave no row, unless the column's
    /// failure policy made the value NULL.
    pub errors: Vec<RowError>,
}

/// How records lie in a stream of bytes (files, sockets). Message systems have one record a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One record a line (`\n`, an `\r` before it is not part of the record); empty lines are no records.
    Lines,
    /// As lines, but a newline inside quotes belongs to the record (CSV): such a file cannot be split.
    QuotedLines { quote: u8, escape: Option<u8> },
}

/// Decodes records of one table into batches of `schema`. Used by one task only.
pub trait Decoder: Send {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded>;
}

/// Encoded records: bytes and, per record, where it ends and which row it came from.
#[derive(Debug, Default)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    /// (end of the record in `bytes`, row of the batch)
    pub records: Vec<(usize, u32)>,
}

impl Encoded {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }
    pub fn finish_record(&mut self, row: u32) {
        self.records.push((self.bytes.len(), row));
    }
}

/// Encodes rows of one table. Used by one task only. Rows that cannot be expressed go to `errors`, the rest to `out`
/// (which the caller cleared).
pub trait Encoder: Send {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()>;
    /// Once at the start of a file, if the format has a header.
    fn header(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What a format needs to know about its table.
#[derive(Debug, Clone)]
pub struct FormatContext {
    pub table: Arc<str>,
    /// The columns to decode (after projection) or to encode.
    pub schema: TableSchema,
    pub options: ResolvedOptions,
    /// Zone of the job: `TIMESTAMP_LTZ` without an offset is read and written in it.
    pub time_zone: chrono_tz::Tz,
    /// Values that do not fit their column become NULL instead of failing the record.
    pub null_on_error: bool,
}

pub trait FormatFactory: Send + Sync {
    /// As in `'format' = '...'`.
    fn identifier(&self) -> &'static str;
    /// Option names without the `format.` / `json.` prefix (see `sql::options` for how each dialect spells them).
    fn options(&self) -> &'static [OptionSpec];
    fn framing(&self, options: &ResolvedOptions) -> Result<Framing>;
    /// Records are text, so that a stand-in file can hold one a line.
    fn is_text(&self) -> bool;
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>>;
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>>;
}
