//! Values one by one: a plain way to write and read a frame. Slow, for tests, vectors and formatters; row loops over
//! columns are the fast way.

use crate::frame::{Check, Column, Frame, FramePlan, row_errors_len, write_row_errors};
use crate::types::{Type, Wire};
use crate::{FrameError, Schema, section};

/// A value of any type. The column's type says which variant it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// TINYINT to BIGINT, DATE (days), TIME and TIMESTAMP (micro- or nanoseconds).
    Int(i64),
    Float(f32),
    Double(f64),
    /// Unscaled.
    Decimal(i128),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Row(Vec<Value>),
}

/// The values of one node, column-wise.
struct Node<'a> {
    ty: &'a Type,
    valid: Vec<bool>,
    offsets: Vec<u32>,
    data: Vec<u8>,
    children: Vec<Node<'a>>,
}

/// Writes rows as a frame.
pub fn encode_rows(schema: &Schema, rows: &[Vec<Value>], errors: &[(u32, String)]) -> Result<Vec<u8>, FrameError> {
    encode(schema, rows, None, errors)
}

/// Writes the answer of a kind that gives any number of rows: `sources` says for each row which row of the request it
/// came from.
pub fn encode_answer(
    schema: &Schema,
    rows: &[Vec<Value>],
    sources: &[u32],
    errors: &[(u32, String)],
) -> Result<Vec<u8>, FrameError> {
    encode(schema, rows, Some(sources), errors)
}

fn encode(
    schema: &Schema,
    rows: &[Vec<Value>],
    sources: Option<&[u32]>,
    errors: &[(u32, String)],
) -> Result<Vec<u8>, FrameError> {
    let fields = schema.fields();
    if let Some(row) = rows.iter().find(|r| r.len() != fields.len()) {
        return Err(FrameError::new(format!("a row of {} values for {} columns", row.len(), fields.len())));
    }
    if let Some(sources) = sources.filter(|s| s.len() != rows.len()) {
        return Err(FrameError::new(format!("{} source rows for {} rows", sources.len(), rows.len())));
    }
    let nodes = fields
        .iter()
        .enumerate()
        .map(|(i, f)| build(&f.ty, rows.iter().map(|r| &r[i])))
        .collect::<Result<Vec<_>, _>>()?;
    let mut plan = FramePlan::default();
    plan.reset(rows.len(), schema.fingerprint());
    nodes.iter().for_each(|n| n.plan(&mut plan));
    if let Some(sources) = sources {
        plan.section(section::SOURCE_ROW, sources.len() * 4);
    }
    if !errors.is_empty() {
        plan.section(section::ROW_ERRORS, row_errors_len(errors.iter().map(|(_, m)| m.as_str())));
    }
    let mut out = vec![0; plan.layout()?];
    let mut writer = plan.start(&mut out)?;
    nodes.iter().for_each(|n| n.fill(&mut writer));
    if let Some(sources) = sources {
        for (place, source) in writer.buffer().chunks_exact_mut(4).zip(sources) {
            place.copy_from_slice(&source.to_le_bytes());
        }
    }
    if !errors.is_empty() {
        write_row_errors(writer.buffer(), errors);
    }
    Ok(out)
}

/// Reads a frame, everything checked (UTF-8 too).
pub fn decode_rows(schema: &Schema, frame: &[u8]) -> Result<Vec<Vec<Value>>, FrameError> {
    let frame = Frame::parse(frame)?;
    let columns = frame.columns(schema, Check::Full)?;
    // Rows without columns have no bytes that bound their number.
    let rows = if columns.is_empty() { 0 } else { frame.rows() };
    (0..rows).map(|row| columns.iter().map(|c| get(c, row)).collect()).collect()
}

fn build<'a, 'v>(ty: &'a Type, values: impl Iterator<Item = &'v Value>) -> Result<Node<'a>, FrameError> {
    let mut node = Node { ty, valid: Vec::new(), offsets: vec![0], data: Vec::new(), children: Vec::new() };
    // The values of the children, gathered first, built after.
    let fields = ty.children();
    let mut nested: Vec<Vec<&'v Value>> = vec![Vec::new(); fields.len()];
    for value in values {
        let row = node.valid.len();
        node.valid.push(*value != Value::Null);
        node.push(value, row, &mut nested)?;
        let end = if ty.wire() == Wire::Bytes { node.data.len() } else { nested.first().map_or(0, Vec::len) };
        node.offsets.push(end as u32);
    }
    node.children =
        fields.iter().zip(nested).map(|(f, values)| build(&f.ty, values.into_iter())).collect::<Result<_, _>>()?;
    Ok(node)
}

impl Node<'_> {
    fn push<'v>(&mut self, value: &'v Value, row: usize, nested: &mut [Vec<&'v Value>]) -> Result<(), FrameError> {
        let data = &mut self.data;
        match (self.ty, value) {
            (Type::Boolean, Value::Bool(_) | Value::Null) => {
                if row.is_multiple_of(8) {
                    data.push(0);
                }
                if let (Value::Bool(true), Some(last)) = (value, data.last_mut()) {
                    *last |= 1 << (row % 8);
                }
            }
            (Type::TinyInt, Value::Int(v)) => data.extend_from_slice(&(*v as i8).to_le_bytes()),
            (Type::SmallInt, Value::Int(v)) => data.extend_from_slice(&(*v as i16).to_le_bytes()),
            (Type::Int | Type::Date, Value::Int(v)) => data.extend_from_slice(&(*v as i32).to_le_bytes()),
            (Type::BigInt | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_), Value::Int(v)) => {
                data.extend_from_slice(&v.to_le_bytes());
            }
            (Type::Float, Value::Float(v)) => data.extend_from_slice(&v.to_le_bytes()),
            (Type::Double, Value::Double(v)) => data.extend_from_slice(&v.to_le_bytes()),
            (Type::Decimal { .. }, Value::Decimal(v)) => data.extend_from_slice(&v.to_le_bytes()),
            (Type::Char(_) | Type::Varchar(_), Value::Text(s)) => data.extend_from_slice(s.as_bytes()),
            (Type::Binary(_) | Type::Varbinary(_), Value::Bytes(b)) => data.extend_from_slice(b),
            (Type::Array(_), Value::List(items)) => nested[0].extend(items),
            (Type::Map(_), Value::Map(entries)) => {
                for (key, value) in entries {
                    nested[0].push(key);
                    nested[1].push(value);
                }
            }
            (Type::Row(_), Value::Row(members)) if members.len() == nested.len() => {
                nested.iter_mut().zip(members).for_each(|(n, m)| n.push(m));
            }
            (Type::Row(_), Value::Null) => nested.iter_mut().for_each(|n| n.push(&Value::Null)),
            (ty, Value::Null) => {
                if let Wire::Fixed(width) = ty.wire() {
                    data.resize(data.len() + width, 0);
                }
            }
            (ty, other) => return Err(FrameError::new(format!("{other:?} is not a {ty}"))),
        }
        Ok(())
    }

    fn has_nulls(&self) -> bool {
        self.valid.iter().any(|v| !v)
    }

    fn has_offsets(&self) -> bool {
        matches!(self.ty.wire(), Wire::Bytes | Wire::List | Wire::Map)
    }

    fn has_data(&self) -> bool {
        matches!(self.ty.wire(), Wire::Bits | Wire::Fixed(_) | Wire::Bytes)
    }

    fn plan(&self, plan: &mut FramePlan) {
        let data = self.has_data().then_some(self.data.len());
        let len = self.valid.len();
        plan.node(self.ty.code(), self.children.len(), len, self.has_nulls(), self.has_offsets(), data);
        self.children.iter().for_each(|c| c.plan(plan));
    }

    fn fill(&self, writer: &mut crate::FrameWriter) {
        if self.has_nulls() {
            let bits = writer.buffer();
            bits.fill(0);
            for (i, _) in self.valid.iter().enumerate().filter(|(_, v)| **v) {
                bits[i / 8] |= 1 << (i % 8);
            }
        }
        if self.has_offsets() {
            for (place, offset) in writer.buffer().chunks_exact_mut(4).zip(&self.offsets) {
                place.copy_from_slice(&offset.to_le_bytes());
            }
        }
        if self.has_data() {
            writer.buffer().copy_from_slice(&self.data);
        }
        self.children.iter().for_each(|c| c.fill(writer));
    }
}

/// One value of a column; NULL outside of it.
pub fn get(column: &Column, row: usize) -> Result<Value, FrameError> {
    if row >= column.len || !column.is_valid(row) {
        return Ok(Value::Null);
    }
    let fixed = |width: usize| column.data.get(row * width..(row + 1) * width).unwrap_or_default();
    let int = |width: usize| {
        let bytes = fixed(width);
        let sign = if bytes.last().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [sign; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    };
    Ok(match &column.field.ty {
        Type::Boolean => Value::Bool(column.data.get(row / 8).is_some_and(|b| b >> (row % 8) & 1 == 1)),
        Type::Float => Value::Float(f32::from_bits(int(4) as u32)),
        Type::Double => Value::Double(f64::from_bits(int(8) as u64)),
        Type::Decimal { .. } => Value::Decimal(int(16)),
        Type::Char(_) | Type::Varchar(_) => Value::Text(
            std::str::from_utf8(column.bytes(row))
                .map_err(|_| FrameError::new(format!("column {}: row {row} is not valid UTF-8", column.field.name)))?
                .to_string(),
        ),
        Type::Binary(_) | Type::Varbinary(_) => Value::Bytes(column.bytes(row).to_vec()),
        Type::Array(_) => Value::List(elements(column, 0, row)?),
        Type::Map(_) => Value::Map(elements(column, 0, row)?.into_iter().zip(elements(column, 1, row)?).collect()),
        Type::Row(_) => Value::Row(column.children.iter().map(|c| get(c, row)).collect::<Result<_, _>>()?),
        other => match other.wire() {
            Wire::Fixed(width) => Value::Int(int(width) as i64),
            _ => Value::Null,
        },
    })
}

fn elements(column: &Column, child: usize, row: usize) -> Result<Vec<Value>, FrameError> {
    let (start, end) = column.span(row);
    match column.children.get(child) {
        Some(c) => (start..end.min(c.len)).map(|i| get(c, i)).collect(),
        None => Ok(Vec::new()),
    }
}
