//! Records to rows: the value by the table's format, the key by its own, metadata from what Kafka knows of a record.

use super::metadata::{self, MetadataColumn};
use crate::connectors::api::TableContext;
use crate::data::{Reason, RecordChunk, RecordRef, RowError, RowKind};
use crate::error::{Error, Result};
use crate::formats::{Decoded, Decoder};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::{Field, Schema, SchemaRef};
use std::sync::Arc;

/// What a reader has to keep of a message beside its value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keeps {
    pub keys: bool,
    pub metadata: bool,
    pub headers: bool,
    /// Records without a value are rows; else they are refused.
    pub missing_values: bool,
}

impl Keeps {
    pub fn envelopes(self) -> bool {
        self.keys || self.metadata || self.headers || self.missing_values
    }
}

/// Which column comes from which part of a record.
#[derive(Debug, Clone)]
pub struct RecordParts {
    pub is_upsert: bool,
    pub keeps: Keeps,
    metadata: Vec<(usize, MetadataColumn)>,
}

impl RecordParts {
    pub fn of(cx: &TableContext, is_upsert: bool) -> Result<Self> {
        let metadata = metadata::columns(cx)?;
        let in_value = |i: &usize| cx.value_columns.contains(i);
        let keys = cx.key_format.is_some() && (is_upsert || !cx.key_columns.iter().all(in_value));
        let is_raw = cx.format.as_ref().is_some_and(|f| f.identifier() == "raw");
        let keeps = Keeps {
            keys,
            headers: metadata.iter().any(|(_, m)| *m == MetadataColumn::Headers),
            metadata: metadata.iter().any(|(_, m)| *m != MetadataColumn::Headers),
            missing_values: is_upsert || is_raw,
        };
        Ok(Self { is_upsert, keeps, metadata })
    }
}

pub fn decoder(cx: &TableContext, parts: &RecordParts) -> Result<Box<dyn Decoder>> {
    let value = cx.format()?.decoder()?;
    if !parts.keeps.envelopes() {
        return Ok(value);
    }
    let key = match (&cx.key_format, parts.keeps.keys) {
        (Some(format), true) => Some(format.decoder()?),
        _ => None,
    };
    let schema = cx.schema.to_arrow();
    let at = |columns: &[usize], i: usize| columns.iter().position(|c| *c == i);
    let columns = (0..schema.fields().len())
        .map(|i| match parts.metadata.iter().find(|(m, _)| *m == i) {
            Some((_, m)) => ColumnFrom::Metadata(*m),
            None => ColumnFrom::Record {
                value: at(&cx.value_columns, i),
                key: at(&cx.key_columns, i).filter(|_| key.is_some()),
            },
        })
        .collect();
    Ok(Box::new(PartsDecoder { value, key, columns, schema, is_upsert: parts.is_upsert }))
}

#[derive(Debug, Clone, Copy)]
enum ColumnFrom {
    /// Places in what the value's and the key's decoder give. The value's counts where both have the column, and a
    /// record without a value has its key's.
    Record {
        value: Option<usize>,
        key: Option<usize>,
    },
    Metadata(MetadataColumn),
}

struct PartsDecoder {
    value: Box<dyn Decoder>,
    key: Option<Box<dyn Decoder>>,
    columns: Vec<ColumnFrom>,
    schema: SchemaRef,
    is_upsert: bool,
}

/// A row to be: its record, and where its value and key were decoded to.
struct Row {
    record: u32,
    value: Option<u32>,
    key: Option<u32>,
    kind: RowKind,
}

impl Decoder for PartsDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let mut errors = Vec::new();
        let (values, mut rows) = self.decode_values(chunk, &mut errors)?;
        let keys = self.decode_keys(chunk, &mut rows, &mut errors)?;
        errors.sort_by_key(|e| e.row);
        let columns = self.assemble(chunk, &rows, &values, keys.as_ref())?;
        let plain = rows.iter().all(|r| r.kind == RowKind::Insert);
        Ok(Decoded {
            columns,
            records: Some(rows.iter().map(|r| r.record).collect()),
            errors,
            kinds: (!plain).then(|| rows.iter().map(|r| r.kind).collect()),
        })
    }
}

impl PartsDecoder {
    /// The decoded values, and rows for them and for the records that have none.
    fn decode_values(
        &mut self,
        chunk: &Arc<RecordChunk>,
        errors: &mut Vec<RowError>,
    ) -> Result<(RecordBatch, Vec<Row>)> {
        let present: Vec<u32> = (0..chunk.len() as u32).filter(|r| chunk.value(*r as usize).is_some()).collect();
        let all = present.len() == chunk.len();
        let decoded = if all {
            self.value.decode(chunk)?
        } else {
            self.value.decode(&Arc::new(part_of(chunk, &present, |r| Some(chunk.record(r)))))?
        };
        errors.extend(decoded.errors.into_iter().map(|e| RowError { row: present[e.row as usize], ..e }));
        let value_rows = decoded.columns.num_rows();
        let record_of = |row: usize| present[decoded.records.as_ref().map_or(row, |r| r[row] as usize)];
        let kind_of = |row: usize| match (&decoded.kinds, self.is_upsert) {
            (Some(kinds), _) => kinds[row],
            (None, true) => RowKind::UpdateAfter,
            (None, false) => RowKind::Insert,
        };
        let mut rows: Vec<Row> = (0..value_rows)
            .map(|row| Row { record: record_of(row), value: Some(row as u32), key: None, kind: kind_of(row) })
            .collect();
        if !all {
            let missing = (0..chunk.len() as u32).filter(|r| chunk.value(*r as usize).is_none());
            let kind = if self.is_upsert { RowKind::Delete } else { RowKind::Insert };
            rows.extend(missing.map(|record| Row { record, value: None, key: None, kind }));
            // Stable: rows of one record stay in order.
            rows.sort_by_key(|r| r.record);
        }
        Ok((decoded.columns, rows))
    }

    /// Decodes the keys of the rows' records and drops the rows whose key cannot be read.
    fn decode_keys(
        &mut self,
        chunk: &Arc<RecordChunk>,
        rows: &mut Vec<Row>,
        errors: &mut Vec<RowError>,
    ) -> Result<Option<RecordBatch>> {
        let Some(decoder) = &mut self.key else { return Ok(None) };
        let mut records: Vec<u32> =
            rows.iter().map(|r| r.record).filter(|r| chunk.key(*r as usize).is_some()).collect();
        records.dedup();
        let decoded = decoder.decode(&Arc::new(part_of(chunk, &records, |r| chunk.key(r))))?;
        let mut place: Vec<Option<u32>> = vec![None; chunk.len()];
        for row in 0..decoded.columns.num_rows() {
            let key = decoded.records.as_ref().map_or(row, |r| r[row] as usize);
            place[records[key] as usize].get_or_insert(row as u32);
        }
        let mut bad = vec![false; chunk.len()];
        for e in decoded.errors {
            let record = records[e.row as usize];
            bad[record as usize] |= place[record as usize].is_none();
            let message = format!("the record's key: {}", e.message);
            errors.push(RowError { row: record, message, ..e });
        }
        if self.is_upsert {
            // Nothing says which row a record without a key means.
            let mut last = None;
            for r in rows.iter().filter(|r| chunk.key(r.record as usize).is_none()) {
                bad[r.record as usize] = true;
                if last.replace(r.record) != Some(r.record) {
                    errors.push(RowError::new(r.record, Reason::Decode, "the record has no key"));
                }
            }
        }
        rows.retain_mut(|r| {
            r.key = place[r.record as usize];
            !bad[r.record as usize]
        });
        Ok(Some(decoded.columns))
    }

    fn assemble(
        &self,
        chunk: &RecordChunk,
        rows: &[Row],
        values: &RecordBatch,
        keys: Option<&RecordBatch>,
    ) -> Result<RecordBatch> {
        let untouched = rows.len() == values.num_rows() && rows.iter().all(|r| r.value.is_some());
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (i, from) in self.columns.iter().enumerate() {
            let data_type = self.schema.field(i).data_type();
            columns.push(match *from {
                ColumnFrom::Metadata(m) => metadata::build(m, chunk, rows.iter().map(|r| r.record as usize))?,
                ColumnFrom::Record { value: Some(v), .. } if untouched => values.column(v).clone(),
                ColumnFrom::Record { value, key } => {
                    let null = new_null_array(data_type, 1);
                    let value_column = value.map(|v| values.column(v));
                    let key_column = key.and_then(|k| Some(keys?.column(k)));
                    let sources = [value_column.unwrap_or(&null), key_column.unwrap_or(&null), &null];
                    let pick = |r: &Row| match (r.value, r.key) {
                        (Some(at), _) if value_column.is_some() => (0, at as usize),
                        (_, Some(at)) if key_column.is_some() => (1, at as usize),
                        _ => (2, 0),
                    };
                    interleave(&sources.map(|a| a.as_ref()), &rows.iter().map(pick).collect::<Vec<_>>())?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = self.schema_for(&columns);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// A deletion has only its key: the other columns are NULL in it, whatever they are declared.
    fn schema_for(&self, columns: &[ArrayRef]) -> SchemaRef {
        use arrow::array::Array;
        let fits = |(field, column): (&Arc<Field>, &ArrayRef)| field.is_nullable() || column.null_count() == 0;
        if self.schema.fields().iter().zip(columns).all(fits) {
            return self.schema.clone();
        }
        let fields = self.schema.fields().iter().zip(columns).map(|(field, column)| {
            let nullable = field.is_nullable() || column.null_count() > 0;
            Field::new(field.name(), field.data_type().clone(), nullable)
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

/// A chunk of parts of these records, one a record.
fn part_of<'a>(chunk: &RecordChunk, records: &[u32], part: impl Fn(usize) -> Option<&'a [u8]>) -> RecordChunk {
    let mut out = RecordChunk {
        table: chunk.table.clone(),
        split: chunk.split.clone(),
        unit: chunk.unit,
        ..RecordChunk::default()
    };
    for &r in records {
        let start = out.bytes.len() as u32;
        out.bytes.extend_from_slice(part(r as usize).unwrap_or_default());
        let position = chunk.records[r as usize].position;
        out.records.push(RecordRef { position, start, end: out.bytes.len() as u32 });
    }
    out
}

/// For contexts that a binder made wrong.
pub fn check_columns(cx: &TableContext) -> Result<()> {
    let known = |i: &usize| *i < cx.schema.columns.len();
    if cx.value_columns.iter().chain(&cx.key_columns).all(known) {
        return Ok(());
    }
    Err(Error::internal(format!("table {}: a column of the record is not one of the table", cx.table)))
}

#[cfg(test)]
mod tests;
