//! Record formats: bytes to columns and back. A format is one file here and one line in [`FORMATS`].

pub mod avro;
mod cell;
mod columns;
pub mod csv;
pub mod json;
pub mod options;
mod raw;
mod retract;
#[cfg(test)]
mod round_trip_tests;
mod rows;
#[cfg(test)]
pub(crate) mod testing;
mod text;

pub use cell::{Cell, Scalar, Spelling};
pub use columns::{ColumnBuilder, TextRules};
pub use retract::RetractEncoder;
pub use text::{local_offset, offset_of, parse_decimal, write_decimal};

use crate::data::{Batch, ChangelogMode, RecordChunk, RowError, RowKind, TableSchema};
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
    /// Per row; None: all are inserts. Formats of change streams give it.
    pub kinds: Option<Vec<RowKind>>,
}

impl Decoded {
    /// The errors of records that gave no row; the others tell of values that became NULL.
    pub fn refused(&self) -> impl Iterator<Item = &RowError> {
        self.errors.iter().filter(|e| match &self.records {
            None => false,
            Some(records) => records.binary_search(&e.row).is_err(),
        })
    }
}

/// How records lie in a stream of bytes (files, sockets). Message systems have one record a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One record a line (`\n`, an `\r` before it is not part of the record); empty lines are no records.
    Lines,
    /// Records are bytes of any kind, which only a message system keeps apart.
    Messages,
    /// As lines, but a newline inside quotes belongs to the record (CSV), or the first line of a file is a header.
    /// Such a file cannot be split.
    QuotedLines {
        delimiter: u8,
        /// Opens a quoted field at the start of a field only.
        quote: Option<u8>,
        /// Inside quotes: takes its meaning from the next byte.
        escape: Option<u8>,
        /// The first line goes to [`RecordChunk::header`].
        header: bool,
    },
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
    /// Indexes in `records`, rising: these have no value at all, which is not the same as an empty one.
    pub without_value: Vec<usize>,
}

impl Encoded {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.without_value.clear();
    }
    /// A record without a value (Kafka's tombstone).
    pub fn finish_without_value(&mut self, row: u32) {
        self.without_value.push(self.records.len());
        self.finish_record(row);
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
    /// All columns of the record as the table declares them, where `schema` is a projection; None: `schema` is all.
    /// For formats that cannot read a part without knowing the whole.
    pub declared: Option<TableSchema>,
    /// Formats whose fields go by position: how many a record may have. None: as many as `schema` has columns.
    pub record_width: Option<usize>,
}

pub trait FormatFactory: Send + Sync {
    /// As in `'format' = '...'`.
    fn identifier(&self) -> &'static str;
    /// Option names without the `format.` / `json.` prefix (see `sql::options` for how each dialect spells them).
    fn options(&self) -> &'static [OptionSpec];
    fn framing(&self, options: &ResolvedOptions) -> Result<Framing>;
    /// Records are text, so that a stand-in file can hold one a line.
    fn is_text(&self) -> bool;
    /// The kinds of rows that records of this format can say.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::Append
    }
    /// Fields are found by their place in the record: a decoder whose schema is a projection needs the place of each
    /// column, as the path `[Index(n)]`. Columns with other paths stand where they stand in the schema.
    fn by_position(&self, _options: &ResolvedOptions) -> bool {
        false
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>>;
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>>;
}

/// Every native format. Plugins add theirs per table (`wasm`).
pub static FORMATS: &[&dyn FormatFactory] = &[
    &json::Json,
    &json::DtNest,
    &csv::Csv,
    &raw::Raw,
    &avro::Avro,
    &avro::AvroConfluent,
    &json::DebeziumJson,
    &json::CanalJson,
];

/// The native format with this identifier.
pub fn find(identifier: &str) -> Option<&'static dyn FormatFactory> {
    FORMATS.iter().copied().find(|f| f.identifier() == identifier)
}
