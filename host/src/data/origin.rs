//! Where rows came from. It travels with every batch, so that any failure names its source record.

use super::row_error::RowError;
use std::sync::Arc;

/// Where one record lies in a [`RecordChunk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef {
    /// What the source counts: line number, Kafka offset, row number.
    pub position: u64,
    /// Range of the record in the chunk's bytes.
    pub start: u32,
    pub end: u32,
}

/// What a message system knows of a record beside its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Range of the key in the chunk's bytes; None: the record has no key.
    pub key: Option<(u32, u32)>,
    /// The record has no value at all (a tombstone), which is not the same as an empty one.
    pub no_value: bool,
    /// Milliseconds since 1970, UTC.
    pub timestamp: Option<i64>,
    /// `CreateTime`, `LogAppendTime`, `NoTimestampType`, as Flink's metadata column spells them.
    pub timestamp_type: &'static str,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub leader_epoch: Option<i32>,
}

/// A run of undecoded records of one split, as a reader hands it over. The bytes stay alive as long as any row
/// made of them travels, so that a dead letter can hold the record as it came.
#[derive(Debug, Default)]
pub struct RecordChunk {
    /// The table's SQL name.
    pub table: Arc<str>,
    /// For people: a file's path, `topic-partition`.
    pub split: Arc<str>,
    /// What a position counts: `line`, `offset`, `row`.
    pub unit: &'static str,
    pub bytes: Vec<u8>,
    pub records: Vec<RecordRef>,
    /// What a message system knows of each record beside its value; empty for sources without, or where nobody asks.
    pub envelopes: Vec<Envelope>,
    /// The first line of the file, if the format's framing says that it names the fields; not among the records.
    pub header: Option<Arc<[u8]>>,
    /// Records that the reader itself had to refuse, in the order of their positions. They count as read and as dead.
    pub refused: Vec<RefusedRecord>,
}

/// A record that never reaches a decoder: longer than the limit, or (for sources of rows) with a value that does not
/// fit its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedRecord {
    pub position: u64,
    /// The record, or its first [`RefusedRecord::RAW_MAX`] bytes; empty for sources of rows.
    pub raw: Vec<u8>,
    /// `row` has no meaning here.
    pub error: RowError,
}

impl RefusedRecord {
    /// How much of an oversized record is kept for the dead letter.
    pub const RAW_MAX: usize = 1024;
}

impl RecordChunk {
    /// Where a refused record of this chunk stands.
    pub fn origin_of(&self, refused: &RefusedRecord) -> RowOrigin {
        RowOrigin {
            table: self.table.clone(),
            split: self.split.clone(),
            unit: self.unit,
            position: refused.position,
            raw: (!refused.raw.is_empty()).then(|| refused.raw.clone()),
        }
    }
    /// The record's key; None: it has none, or the source keeps none.
    pub fn key(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = self.envelopes.get(index)?.key?;
        Some(&self.bytes[start as usize..end as usize])
    }
    /// None: the record has no value (a tombstone).
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        let no_value = self.envelopes.get(index).is_some_and(|e| e.no_value);
        (!no_value).then(|| self.record(index))
    }
    pub fn len(&self) -> usize {
        self.records.len()
    }
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
    pub fn record(&self, index: usize) -> &[u8] {
        let r = &self.records[index];
        &self.bytes[r.start as usize..r.end as usize]
    }
}

/// Which record of the chunk each row of a batch came from.
#[derive(Debug, Clone)]
enum Rows {
    /// Row i is record `first + i`.
    Run {
        first: u32,
        len: u32,
    },
    Picked(Arc<[u32]>),
}

/// The origin of each row of a batch.
#[derive(Debug, Clone)]
pub struct Origin {
    chunk: Option<Arc<RecordChunk>>,
    rows: Rows,
}

/// The origin of one row, for messages and dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowOrigin {
    pub table: Arc<str>,
    pub split: Arc<str>,
    pub unit: &'static str,
    pub position: u64,
    /// The record as it came; None for sources that have rows, not records.
    pub raw: Option<Vec<u8>>,
}

impl std::fmt::Display for RowOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.split, self.unit, self.position)
    }
}

impl Origin {
    /// For batches that no source made (tests, generated rows).
    pub fn unknown() -> Self {
        Origin { chunk: None, rows: Rows::Run { first: 0, len: u32::MAX } }
    }
    /// Row i is record i.
    pub fn all(chunk: Arc<RecordChunk>) -> Self {
        let len = chunk.len() as u32;
        Origin { chunk: Some(chunk), rows: Rows::Run { first: 0, len } }
    }
    /// Row i is record `records[i]`.
    pub fn picked(chunk: Arc<RecordChunk>, records: impl Into<Arc<[u32]>>) -> Self {
        Origin { chunk: Some(chunk), rows: Rows::Picked(records.into()) }
    }
    /// None: any number of rows (unknown origin).
    pub fn len(&self) -> Option<usize> {
        match (&self.chunk, &self.rows) {
            (None, _) => None,
            (_, Rows::Run { len, .. }) => Some(*len as usize),
            (_, Rows::Picked(p)) => Some(p.len()),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }
    fn record_index(&self, row: usize) -> usize {
        match &self.rows {
            Rows::Run { first, .. } => *first as usize + row,
            Rows::Picked(p) => p[row] as usize,
        }
    }
    pub fn of_row(&self, row: usize) -> RowOrigin {
        let Some(chunk) = &self.chunk else { return RowOrigin::default() };
        let at = self.record_index(row);
        RowOrigin {
            table: chunk.table.clone(),
            split: chunk.split.clone(),
            unit: chunk.unit,
            position: chunk.records.get(at).map_or(0, |r| r.position),
            raw: (!chunk.bytes.is_empty() && at < chunk.len()).then(|| chunk.record(at).to_vec()),
        }
    }
    pub fn take(&self, rows: &[u32]) -> Origin {
        if self.chunk.is_none() {
            return self.clone();
        }
        let picked: Arc<[u32]> = rows.iter().map(|&r| self.record_index(r as usize) as u32).collect();
        Origin { chunk: self.chunk.clone(), rows: Rows::Picked(picked) }
    }
    pub fn slice(&self, offset: usize, len: usize) -> Origin {
        if self.chunk.is_none() {
            return self.clone();
        }
        let rows = match &self.rows {
            Rows::Run { first, .. } => Rows::Run { first: first + offset as u32, len: len as u32 },
            Rows::Picked(p) => Rows::Picked(p[offset..offset + len].into()),
        };
        Origin { chunk: self.chunk.clone(), rows }
    }
    /// What the channel budget counts for keeping the records alive.
    pub fn num_bytes(&self) -> usize {
        self.chunk.as_ref().map_or(0, |c| c.bytes.len())
    }
}
