//! Rows to records: key and value by their formats, and what each kind of change becomes.

use super::metadata::{self, MetadataColumn};
use crate::connectors::api::TableContext;
use crate::data::{Batch, ChangelogMode, Reason, RowError, RowKind};
use crate::error::{Error, Result};
use crate::formats::{Encoded, Encoder};
use arrow::array::RecordBatch;
use std::ops::Range;

/// What becomes of rows that are not inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeMode {
    /// The format says it, or there are none.
    AsFormat(ChangelogMode),
    /// flinkStreamSQL's append: what is taken back is left out.
    AddedOnly,
    /// flinkStreamSQL's upsert: a field `retract`, true for rows that are added, false for rows taken back.
    Retract,
    /// A deletion is a record without a value.
    Upsert,
}

impl ChangeMode {
    fn keeps(self, kind: RowKind) -> bool {
        match self {
            ChangeMode::AsFormat(_) | ChangeMode::Retract => true,
            ChangeMode::AddedOnly => matches!(kind, RowKind::Insert | RowKind::UpdateAfter),
            ChangeMode::Upsert => kind != RowKind::UpdateBefore,
        }
    }
}

/// A row's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRow {
    /// In the batch that was encoded.
    pub row: u32,
    /// In [`RecordEncoder::keys`].
    pub key: Option<Range<usize>>,
    /// In [`RecordEncoder::values`]; None: a record without a value.
    pub value: Option<Range<usize>>,
}

pub struct RecordEncoder {
    mode: ChangeMode,
    value: Box<dyn Encoder>,
    value_columns: Vec<usize>,
    /// The value's format tells kinds apart.
    value_has_kinds: bool,
    key: Option<(Box<dyn Encoder>, Vec<usize>)>,
    pub metadata: Vec<(usize, MetadataColumn)>,
    value_bytes: Encoded,
    key_bytes: Encoded,
}

/// A buffer that grew beyond this for one batch is given back.
const KEPT_BYTES: usize = 4 << 20;

impl RecordEncoder {
    pub fn new(cx: &TableContext, mode: ChangeMode) -> Result<Self> {
        super::decode::check_columns(cx)?;
        let format = cx.format()?;
        let key = match &cx.key_format {
            Some(format) => Some((format.encoder()?, cx.key_columns.clone())),
            None => None,
        };
        if mode == ChangeMode::Upsert && key.is_none() {
            return Err(Error::user(format!("table {}: upsert-kafka needs a key", cx.table)));
        }
        Ok(Self {
            mode,
            value: if mode == ChangeMode::Retract { format.retract_encoder()? } else { format.encoder()? },
            value_columns: cx.value_columns.clone(),
            value_has_kinds: mode == ChangeMode::Retract || format.changelog_mode() != ChangelogMode::Append,
            key,
            metadata: metadata::columns(cx)?,
            value_bytes: Encoded::default(),
            key_bytes: Encoded::default(),
        })
    }

    pub fn values(&self) -> &[u8] {
        &self.value_bytes.bytes
    }

    pub fn keys(&self) -> &[u8] {
        &self.key_bytes.bytes
    }

    /// Encodes a batch; `out` is in the order of its rows. Gives how many rows were left out because of their kind.
    pub fn encode(&mut self, batch: &Batch, out: &mut Vec<EncodedRow>, errors: &mut Vec<RowError>) -> Result<usize> {
        out.clear();
        let kept: Vec<u32> =
            (0..batch.num_rows() as u32).filter(|r| self.mode.keeps(batch.kind(*r as usize))).collect();
        let before = errors.len();
        let values = self.encode_values(batch, &kept, errors)?;
        let keys = self.encode_keys(batch, &kept, errors)?;
        let mut refused: Vec<u32> = errors[before..].iter().map(|e| e.row).collect();
        refused.sort_unstable();
        let is_delete = |row: u32| self.mode == ChangeMode::Upsert && batch.kind(row as usize) == RowKind::Delete;
        for (i, &row) in kept.iter().enumerate() {
            let key = keys.as_ref().and_then(|k| k[i].clone().flatten());
            let value = match &values[i] {
                Some(value) => value.clone(),
                None if is_delete(row) => None,
                None => continue,
            };
            if refused.binary_search(&row).is_err() {
                out.push(EncodedRow { row, key, value });
            }
        }
        Ok(batch.num_rows() - kept.len())
    }

    /// Per kept row its value; None: it has no record.
    fn encode_values(&mut self, batch: &Batch, kept: &[u32], errors: &mut Vec<RowError>) -> Result<Vec<Option<Place>>> {
        let with_value: Vec<u32> = match self.mode {
            ChangeMode::Upsert => kept.iter().copied().filter(|r| batch.kind(*r as usize) != RowKind::Delete).collect(),
            _ => kept.to_vec(),
        };
        let mut part = rows_and_columns(batch, &with_value, &self.value_columns)?;
        if !self.value_has_kinds {
            part.kinds = None;
        }
        let places = encode_part(&mut *self.value, &part, &with_value, &mut self.value_bytes, errors)?;
        let mut by_row = with_value.into_iter().zip(places).peekable();
        Ok(kept.iter().map(|row| by_row.next_if(|(r, _)| r == row).and_then(|(_, place)| place)).collect())
    }

    fn encode_keys(
        &mut self,
        batch: &Batch,
        kept: &[u32],
        errors: &mut Vec<RowError>,
    ) -> Result<Option<Vec<Option<Place>>>> {
        self.key_bytes.clear();
        let Some((encoder, columns)) = &mut self.key else { return Ok(None) };
        let mut part = rows_and_columns(batch, kept, columns)?;
        part.kinds = None;
        encode_part(&mut **encoder, &part, kept, &mut self.key_bytes, errors).map(Some)
    }
}

fn rows_and_columns(batch: &Batch, rows: &[u32], columns: &[usize]) -> Result<Batch> {
    let all = columns.len() == batch.columns.num_columns() && columns.iter().enumerate().all(|(i, c)| i == *c);
    let projected: RecordBatch = if all { batch.columns.clone() } else { batch.columns.project(columns)? };
    let part = batch.with_columns(projected);
    if rows.len() == batch.num_rows() { Ok(part) } else { Ok(part.take(rows)?) }
}

/// Where a record's bytes are; None: it has none at all, which is not the same as empty ones.
type Place = Option<Range<usize>>;

/// The place of each row's record; None: it made none. The rows of errors become those of the whole batch.
fn encode_part(
    encoder: &mut dyn Encoder,
    part: &Batch,
    rows: &[u32],
    out: &mut Encoded,
    errors: &mut Vec<RowError>,
) -> Result<Vec<Option<Place>>> {
    out.clear();
    out.bytes.shrink_to(KEPT_BYTES);
    let before = errors.len();
    encoder.encode(part, out, errors)?;
    let outside = || Error::internal("the encoder's record lies outside of its batch");
    for e in &mut errors[before..] {
        e.row = *rows.get(e.row as usize).ok_or_else(outside)?;
    }
    let mut places: Vec<Option<Place>> = vec![None; rows.len()];
    let mut start = 0;
    for (record, &(end, row)) in out.records.iter().enumerate() {
        if end < start || end > out.bytes.len() {
            return Err(outside());
        }
        let place = places.get_mut(row as usize).ok_or_else(outside)?;
        let value = out.without_value.binary_search(&record).is_err().then_some(start..end);
        if place.replace(value).is_some() {
            let message = "the format makes more than one record of the row";
            errors.push(RowError::new(rows[row as usize], Reason::Encode, message));
        }
        start = end;
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
