//! The bytes of keys and of rows in requests.

use crate::error::{Error, Result};
use crate::pb::kudu::RowOperationsPb;
use crate::pb::kudu::row_operations_pb::Type as OpType;
use crate::row::Row;
use crate::value::Value;

/// Limit of the servers (`--max_encoded_key_size_bytes`).
const MAX_KEY: usize = 16 * 1024;

/// A column so that bytes compare as values do. A text in the middle has its zeroes escaped and an end.
fn key_column(value: &Value, last: bool, out: &mut Vec<u8>) {
    match value {
        Value::Int8(v) => out.push(*v as u8 ^ 0x80),
        Value::Int16(v) => out.extend((*v as u16 ^ 1 << 15).to_be_bytes()),
        Value::Int32(v) | Value::Date(v) => out.extend((*v as u32 ^ 1 << 31).to_be_bytes()),
        Value::Int64(v) | Value::UnixtimeMicros(v) => out.extend((*v as u64 ^ 1 << 63).to_be_bytes()),
        Value::String(_) | Value::Binary(_) if last => out.extend(value.bytes()),
        Value::String(_) | Value::Binary(_) => {
            for b in value.bytes() {
                match b {
                    0 => out.extend([0, 1]),
                    b => out.push(*b),
                }
            }
            out.extend([0, 0]);
        }
        // Decimals need their column's width, see `sized`; the others are of no key.
        _ => {}
    }
}

/// As `key_column`, with decimals, whose width is the column's.
pub fn sized(value: &Value, width: usize, last: bool, out: &mut Vec<u8>) {
    match value {
        Value::Decimal { unscaled, .. } => {
            let bytes = (*unscaled as u128 ^ 1 << (width * 8 - 1)).to_be_bytes();
            out.extend(&bytes[16 - width..]);
        }
        other => key_column(other, last, out),
    }
}

/// The columns at `places`, as a key of its own.
pub fn columns(row: &Row, places: &[usize]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (n, place) in places.iter().enumerate() {
        let column = &row.schema().columns()[*place];
        let value = match row.cells()[*place].as_ref() {
            Some(Value::Null) | None => {
                return Err(Error::invalid(format!("the key column `{}` has no value", column.name)));
            }
            Some(v) => v,
        };
        sized(value, column.data_type.cell_size(), n + 1 == places.len(), &mut out);
    }
    Ok(out)
}

pub fn primary_key(row: &Row) -> Result<Vec<u8>> {
    let places: Vec<usize> = (0..row.schema().key_count()).collect();
    let key = columns(row, &places)?;
    match key.len() {
        n if n > MAX_KEY => Err(Error::invalid(format!("a key of {n} bytes, the servers take at most {MAX_KEY}"))),
        _ => Ok(key),
    }
}

/// MurmurHash2, 64 bits, of Austin Appleby: the hash of Kudu's hash partitions.
pub fn murmur2(data: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut h = seed ^ (data.len() as u64).wrapping_mul(M);
    let mut chunks = data.chunks_exact(8);
    for chunk in &mut chunks {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let mut k = u64::from_le_bytes(eight).wrapping_mul(M);
        k ^= k >> R;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut eight = [0; 8];
        eight[..rest.len()].copy_from_slice(rest);
        h = (h ^ u64::from_le_bytes(eight)).wrapping_mul(M);
    }
    h ^= h >> R;
    h = h.wrapping_mul(M);
    h ^ h >> R
}

/// Rows of one request: rows of fixed cells, and the bytes that those point to.
#[derive(Default)]
pub struct RowOperations {
    rows: Vec<u8>,
    indirect: Vec<u8>,
}

impl RowOperations {
    /// Adds a row. With `keys_only` the columns behind the key count as not set.
    pub fn add(&mut self, op: OpType, row: &Row, keys_only: bool) {
        let schema = row.schema();
        let n = schema.columns().len();
        self.rows.push(op as u8);
        let bitmap = n.div_ceil(8);
        let set = self.rows.len();
        let null = set + bitmap;
        self.rows.resize(set + if schema.any_nullable() { 2 * bitmap } else { bitmap }, 0);
        for (i, (column, cell)) in schema.columns().iter().zip(row.cells()).enumerate() {
            let Some(value) = cell.as_ref().filter(|_| !keys_only || i < schema.key_count()) else { continue };
            self.rows[set + i / 8] |= 1 << (i % 8);
            match value {
                Value::Null => self.rows[null + i / 8] |= 1 << (i % 8),
                v if column.data_type.is_variable() => {
                    self.rows.extend((self.indirect.len() as u64).to_le_bytes());
                    self.rows.extend((v.bytes_len() as u64).to_le_bytes());
                    self.indirect.extend(v.bytes());
                }
                v => v.put_bytes(column.data_type, &mut self.rows),
            }
        }
    }
    pub fn finish(self) -> RowOperationsPb {
        RowOperationsPb { rows: Some(self.rows.into()), indirect_data: Some(self.indirect.into()) }
    }
}

/// The reverse of `RowOperations`, for bounds of partitions, which the master gives in this form.
pub fn decode_rows(schema: &crate::Schema, pb: &RowOperationsPb) -> Result<Vec<(OpType, Row)>> {
    let short = || Error::protocol("rows of operations that end too early");
    let (mut rest, indirect) = (pb.rows(), pb.indirect_data());
    let mut take = |n: usize| {
        let (head, tail) = rest.split_at_checked(n).ok_or_else(short)?;
        rest = tail;
        Ok::<_, Error>((head, tail.is_empty()))
    };
    let mut out = Vec::new();
    let bitmap = schema.columns().len().div_ceil(8);
    let mut at_end = pb.rows().is_empty();
    while !at_end {
        let (op, _) = take(1)?;
        let op = OpType::try_from(i32::from(op[0])).map_err(|_| Error::protocol(format!("operation {}", op[0])))?;
        let (set, mut end) = take(bitmap)?;
        let null = if schema.any_nullable() {
            let (null, e) = take(bitmap)?;
            end = e;
            null
        } else {
            &[]
        };
        let bit = |map: &[u8], i: usize| map.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 != 0);
        let mut row = Row::new(schema);
        for (i, column) in schema.columns().iter().enumerate().filter(|(i, _)| bit(set, *i)) {
            if bit(null, i) {
                row.set(i, Value::Null)?;
                continue;
            }
            let (cell, e) = take(column.data_type.cell_size())?;
            end = e;
            let bytes = if column.data_type.is_variable() { indirect_cell(cell, indirect)? } else { cell };
            row.set(i, Value::from_bytes(column.data_type, bytes)?)?;
        }
        out.push((op, row));
        at_end = end;
    }
    Ok(out)
}

/// What a cell of variable length points to.
pub fn indirect_cell<'a>(cell: &[u8], indirect: &'a [u8]) -> Result<&'a [u8]> {
    let wrong = || Error::protocol("a cell that points outside of its data");
    let number = |b: &[u8]| {
        let eight = b.first_chunk::<8>().ok_or_else(wrong)?;
        usize::try_from(u64::from_le_bytes(*eight)).map_err(|_| wrong())
    };
    let (offset, length) = (number(cell)?, number(cell.get(8..).ok_or_else(wrong)?)?);
    offset.checked_add(length).and_then(|end| indirect.get(offset..end)).ok_or_else(wrong)
}
