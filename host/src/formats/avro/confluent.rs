//! `avro-confluent`: records with a byte 0 and the id of their schema in a registry in front.

use super::decode::RecordReader;
use super::encode::RecordWriter;
use super::registry::{Refusal, Registry};
use super::types::Types;
use crate::data::{Batch, Column, RecordChunk, RowError};
use crate::error::{Error, Result};
use crate::formats::columns::TextRules;
use crate::formats::rows::{RecordFault, Rows};
use crate::formats::{Decoded, Decoder, Encoded, Encoder};
use indexmap::IndexMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Schemas that a decoder keeps; the oldest goes first.
const KEPT: usize = 1000;
/// An id that the registry does not know may be known later.
const ASK_AGAIN: Duration = Duration::from_secs(10);

pub(super) struct ConfluentDecoder {
    pub registry: Registry,
    pub rows: Rows,
    pub columns: Vec<Column>,
    /// The table's own schema, which has defaults for what records lack.
    pub reader: Arc<Types>,
    pub null_on_error: bool,
    pub rules: TextRules,
    pub known: Known,
}

/// How records of an id are read, or why they cannot be.
#[derive(Default)]
pub(super) struct Known(IndexMap<u32, Entry>);

enum Entry {
    Reader(Arc<RecordReader>),
    Refused(String, Instant),
}

impl ConfluentDecoder {
    /// The inner error: records of this schema cannot be read.
    fn reader_of(&mut self, id: u32) -> Result<std::result::Result<Arc<RecordReader>, String>> {
        match self.known.0.get(&id) {
            Some(Entry::Reader(reader)) => return Ok(Ok(reader.clone())),
            Some(Entry::Refused(why, when)) if when.elapsed() < ASK_AGAIN => return Ok(Err(why.clone())),
            _ => {}
        }
        let made = match self.registry.schema(id) {
            Ok(text) => self.make_reader(id, &text),
            Err(Refusal::Answer(why)) => Err(format!("no schema with the id {id}: {why}")),
            Err(Refusal::Down(error)) => return Err(error),
        };
        if self.known.0.len() >= KEPT {
            self.known.0.shift_remove_index(0);
        }
        let entry = match &made {
            Ok(reader) => Entry::Reader(reader.clone()),
            Err(why) => Entry::Refused(why.clone(), Instant::now()),
        };
        self.known.0.insert(id, entry);
        Ok(made)
    }

    fn make_reader(&self, id: u32, text: &str) -> std::result::Result<Arc<RecordReader>, String> {
        let whose = format!("the schema with the id {id}");
        let types = Arc::new(Types::parse(text, &whose).map_err(|e| e.message)?);
        RecordReader::new(types, Some(&self.reader), &self.columns, self.null_on_error, self.rules)
            .map(Arc::new)
            .map_err(|e| format!("{whose} does not fit the table: {e}"))
    }
}

/// The id, and what follows it.
fn split(record: &[u8]) -> std::result::Result<(u32, &[u8]), String> {
    match record {
        [0, a, b, c, d, rest @ ..] => Ok((u32::from_be_bytes([*a, *b, *c, *d]), rest)),
        [0, ..] => Err(format!("the record has {} bytes, too few for a schema's id", record.len())),
        [] => Err("the record is empty".into()),
        [other, ..] => Err(format!("the record begins with the byte {other}, not with 0 and a schema's id")),
    }
}

impl Decoder for ConfluentDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        // The schemas first: what fails here is no fault of a record.
        let mut readers: IndexMap<u32, std::result::Result<Arc<RecordReader>, String>> = IndexMap::new();
        for i in 0..chunk.len() {
            if let Ok((id, _)) = split(chunk.record(i))
                && !readers.contains_key(&id)
            {
                let reader = self.reader_of(id)?;
                readers.insert(id, reader);
            }
        }
        self.rows.decode_bytes(chunk, |rows, record| {
            let (id, rest) = split(record).map_err(RecordFault::record)?;
            match readers.get(&id) {
                Some(Ok(reader)) => reader.read(rows, rest),
                Some(Err(why)) => Err(RecordFault::record(why.clone())),
                None => Err(RecordFault::record(format!("no schema with the id {id}"))),
            }
        })
    }
}

pub(super) struct ConfluentEncoder {
    pub table: Arc<str>,
    pub registry: Registry,
    pub subject: String,
    pub writer: RecordWriter,
    /// Known once a row was written.
    pub id: Option<u32>,
}

impl ConfluentEncoder {
    fn id(&mut self) -> Result<u32> {
        if let Some(id) = self.id {
            return Ok(id);
        }
        let id = self.registry.register(&self.subject, self.writer.schema_text()).map_err(|refusal| match refusal {
            Refusal::Down(error) => error,
            Refusal::Answer(why) => Error::external(format!(
                "table {}: the schema cannot be registered under the subject {}: {why}",
                self.table, self.subject
            )),
        })?;
        self.id = Some(id);
        Ok(id)
    }
}

impl Encoder for ConfluentEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let id = self.id()?;
        super::encode_rows(&self.writer, batch, out, errors, |bytes| {
            bytes.push(0);
            bytes.extend_from_slice(&id.to_be_bytes());
        })
    }
}
