//! Rows as records in Avro's binary form.

use super::types::{Type, TypeId, Types};
use crate::data::{Column, LogicalType, PathStep};
use crate::formats::cell::{Cell, CellValues};
use std::sync::Arc;

/// How a column's value is written as an Avro type.
#[derive(Debug)]
enum Write {
    Plain,
    /// Branch of null, branch of values.
    Union(Option<usize>, usize, Box<Write>),
    List(Box<Write>),
    Map(Box<Write>),
    /// Per field of the record.
    Row(Vec<Source>),
}

/// What a field of a record is made of.
#[derive(Debug)]
enum Source {
    /// A column, or a member of a ROW.
    Value(usize, Write),
    /// The field's default, in binary form.
    Default(Vec<u8>),
    /// A record whose fields are columns (paths).
    Record(Option<usize>, Vec<Source>),
}

/// Writes records of one schema.
#[derive(Debug)]
pub(super) struct RecordWriter {
    types: Arc<Types>,
    fields: Vec<Source>,
    names: Vec<String>,
}

type Fault = (usize, String);

impl RecordWriter {
    /// The error names the column or the field that does not fit.
    pub fn new(types: Arc<Types>, columns: &[Column]) -> Result<Self, String> {
        let Type::Record(_) = types.get(types.root) else {
            return Err(format!("the Avro schema is no record but {}", types.show(types.root)));
        };
        let mut used = vec![false; columns.len()];
        let fields = sources(&types, types.root, columns, &[], &mut used)?;
        if let Some(unused) = used.iter().position(|u| !u) {
            let names: Vec<&str> =
                types.record(types.root).unwrap_or_default().iter().map(|f| f.name.as_str()).collect();
            return Err(format!(
                "column {}: the Avro schema has no such field; its fields are {}",
                columns[unused].name,
                names.join(", ")
            ));
        }
        Ok(Self { types, fields, names: columns.iter().map(|c| c.name.clone()).collect() })
    }

    pub fn schema_text(&self) -> &str {
        &self.types.text
    }

    /// Appends a row. The error: which column cannot be written, and why.
    pub fn write(&self, cells: &[Cell<'_>], row: usize, out: &mut Vec<u8>) -> Result<(), (String, String)> {
        write_record(&self.types, self.types.root, &self.fields, cells, row, out)
            .map_err(|(column, message)| (self.names.get(column).cloned().unwrap_or_default(), message))
    }
}

/// The columns whose paths begin with `prefix` fill the fields of the record.
fn sources(
    types: &Types,
    record: TypeId,
    columns: &[Column],
    prefix: &[PathStep],
    used: &mut [bool],
) -> Result<Vec<Source>, String> {
    let mut out = Vec::new();
    for field in types.record(record).unwrap_or_default() {
        let mut path = prefix.to_vec();
        path.push(PathStep::Member(field.name.clone()));
        let column = columns.iter().position(|c| c.path == path);
        let inside = columns.iter().any(|c| c.path.len() > path.len() && c.path.starts_with(&path));
        out.push(match (column, &field.default) {
            (Some(i), _) => {
                used[i] = true;
                let c = &columns[i];
                let write =
                    write_type(types, field.ty, &c.logical_type, 0).map_err(|e| format!("column {}: {e}", c.name))?;
                Source::Value(i, write)
            }
            (None, _) if inside && types.record(field.ty).is_some() => {
                let branch = match types.get(field.ty) {
                    Type::Union(branches) => branches.iter().position(|b| *types.get(*b) != Type::Null),
                    _ => None,
                };
                Source::Record(branch, sources(types, field.ty, columns, &path, used)?)
            }
            (None, Some(default)) => Source::Default(default.clone()),
            (None, None) => match null_of(types, field.ty) {
                Some(null) => Source::Default(null),
                None => return Err(format!("the Avro schema's field {} has no column and no default", field.name)),
            },
        });
    }
    Ok(out)
}

/// NULL as a value of the type, if it has one.
fn null_of(types: &Types, ty: TypeId) -> Option<Vec<u8>> {
    match types.get(ty) {
        Type::Null => Some(vec![]),
        Type::Union(branches) => {
            let null = branches.iter().position(|b| *types.get(*b) == Type::Null)?;
            let mut out = vec![];
            put_long(&mut out, null as i64);
            Some(out)
        }
        _ => None,
    }
}

fn write_type(types: &Types, ty: TypeId, from: &LogicalType, depth: usize) -> Result<Write, String> {
    use LogicalType as T;
    if depth > super::DEPTH_MAX {
        return Err("the type is nested too deeply".into());
    }
    match (types.get(ty), from) {
        (Type::Union(branches), _) => {
            let null = branches.iter().position(|b| *types.get(*b) == Type::Null);
            let mut why = format!("{from} cannot become Avro's {}", types.show(ty));
            for (i, branch) in branches.iter().enumerate().filter(|(i, _)| Some(*i) != null) {
                match write_type(types, *branch, from, depth + 1) {
                    Ok(write) => return Ok(Write::Union(null, i, Box::new(write))),
                    Err(e) => why = e,
                }
            }
            Err(why)
        }
        (Type::Array(item), T::Array(from)) => Ok(Write::List(Box::new(write_type(types, *item, from, depth + 1)?))),
        (Type::Map(value), T::Map(key, from)) if key.is_text() => {
            Ok(Write::Map(Box::new(write_type(types, *value, from, depth + 1)?)))
        }
        (Type::Record(fields), T::Row(members)) => {
            if let Some((name, _)) = members.iter().find(|(name, _)| !fields.iter().any(|f| f.name == *name)) {
                return Err(format!("the Avro record has no field {name}"));
            }
            let mut out = Vec::with_capacity(fields.len());
            for field in fields {
                let member = members.iter().position(|(name, _)| *name == field.name);
                out.push(match (member, &field.default) {
                    (Some(m), _) => {
                        let write = write_type(types, field.ty, &members[m].1, depth + 1);
                        Source::Value(m, write.map_err(|e| format!("{}: {e}", field.name))?)
                    }
                    (None, Some(default)) => Source::Default(default.clone()),
                    (None, None) => {
                        let null = null_of(types, field.ty);
                        Source::Default(null.ok_or_else(|| format!("the Avro field {} has no value", field.name))?)
                    }
                });
            }
            Ok(Write::Row(out))
        }
        (to, from) if plain_fits(from, to) => Ok(Write::Plain),
        _ => Err(format!("{from} cannot become Avro's {}", types.show(ty))),
    }
}

fn plain_fits(from: &LogicalType, to: &Type) -> bool {
    use LogicalType as T;
    match from {
        T::Boolean => matches!(to, Type::Boolean),
        T::TinyInt | T::SmallInt | T::Int => matches!(to, Type::Int | Type::Long | Type::Float | Type::Double),
        T::BigInt => matches!(to, Type::Long | Type::Int | Type::Float | Type::Double),
        T::Float => matches!(to, Type::Float | Type::Double),
        T::Double => matches!(to, Type::Double | Type::Float),
        T::Decimal(..) => matches!(to, Type::Decimal { .. }),
        T::Char(_) | T::Varchar(_) => matches!(to, Type::String | Type::Enum(_) | Type::Bytes),
        T::Binary(_) | T::Varbinary(_) => matches!(to, Type::Bytes | Type::Fixed(_)),
        T::Date => matches!(to, Type::Date | Type::Int),
        T::Time(_) => matches!(to, Type::Time(_) | Type::Int),
        T::Timestamp(_) | T::TimestampLtz(_) => matches!(to, Type::Timestamp(_) | Type::Long),
        T::Array(_) | T::Map(..) | T::Row(_) => false,
    }
}

pub(super) fn put_long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

fn write_record(
    types: &Types,
    ty: TypeId,
    sources: &[Source],
    cells: &[Cell<'_>],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for (field, source) in types.record(ty).unwrap_or_default().iter().zip(sources) {
        match source {
            Source::Value(i, write) => {
                value(types, field.ty, write, &cells[*i], row, out).map_err(|message| (*i, message))?;
            }
            Source::Default(bytes) => out.extend_from_slice(bytes),
            Source::Record(branch, sources) => {
                if let Some(branch) = branch {
                    put_long(out, *branch as i64);
                }
                write_record(types, field.ty, sources, cells, row, out)?;
            }
        }
    }
    Ok(())
}

/// Appends a value of a cell.
fn value(types: &Types, ty: TypeId, how: &Write, cell: &Cell<'_>, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
    if let (Write::Union(null, branch, inner), Type::Union(branches)) = (how, types.get(ty)) {
        if cell.is_null(row) {
            let null = null.ok_or_else(|| format!("is NULL, which Avro's {} cannot hold", types.show(ty)))?;
            put_long(out, null as i64);
            return Ok(());
        }
        put_long(out, *branch as i64);
        return value(types, branches[*branch], inner, cell, row, out);
    }
    if cell.is_null(row) {
        return Err(format!("is NULL, which Avro's {} cannot hold", types.show(ty)));
    }
    match (how, types.get(ty), &cell.values) {
        (Write::List(inner), Type::Array(item), CellValues::List(ends, items)) => {
            let (start, end) = (ends[row] as usize, ends[row + 1] as usize);
            if end > start {
                put_long(out, (end - start) as i64);
                for entry in start..end {
                    value(types, *item, inner, items, entry, out)?;
                }
            }
            out.push(0);
            Ok(())
        }
        (Write::Map(inner), Type::Map(item), CellValues::Map(ends, keys, values)) => {
            let (start, end) = (ends[row] as usize, ends[row + 1] as usize);
            if end > start {
                put_long(out, (end - start) as i64);
                for entry in start..end {
                    match &keys.values {
                        CellValues::Text(a) if !keys.is_null(entry) => put_bytes(out, a.value(entry).as_bytes()),
                        _ => return Err("a MAP has a NULL key, which Avro does not have".into()),
                    }
                    value(types, *item, inner, values, entry, out)?;
                }
            }
            out.push(0);
            Ok(())
        }
        (Write::Row(sources), Type::Record(fields), CellValues::Row(members)) => {
            for (field, source) in fields.iter().zip(sources) {
                match source {
                    Source::Value(m, write) => value(types, field.ty, write, &members[*m].1, row, out)?,
                    Source::Default(bytes) => out.extend_from_slice(bytes),
                    Source::Record(..) => return Err("a path inside a ROW".into()),
                }
            }
            Ok(())
        }
        (_, plain, values) => plain_value(plain, values, row, out),
    }
}

fn plain_value(ty: &Type, values: &CellValues<'_>, row: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let integer = match values {
        CellValues::Int8(v) => Some(i64::from(v[row])),
        CellValues::Int16(v) => Some(i64::from(v[row])),
        CellValues::Int32(v) | CellValues::Date(v) => Some(i64::from(v[row])),
        CellValues::Int64(v) => Some(v[row]),
        _ => None,
    };
    match (ty, values, integer) {
        (Type::Boolean, CellValues::Boolean(a), _) => out.push(u8::from(a.value(row))),
        (Type::Int | Type::Date, _, Some(v)) => match i32::try_from(v) {
            Ok(_) => put_long(out, v),
            Err(_) => return Err(format!("{v} is out of range for Avro's int")),
        },
        (Type::Long, _, Some(v)) => put_long(out, v),
        (Type::Float, _, Some(v)) => out.extend_from_slice(&(v as f32).to_le_bytes()),
        (Type::Double, _, Some(v)) => out.extend_from_slice(&(v as f64).to_le_bytes()),
        (Type::Float, CellValues::Float32(v), _) => out.extend_from_slice(&v[row].to_le_bytes()),
        (Type::Float, CellValues::Float64(v), _) => out.extend_from_slice(&(v[row] as f32).to_le_bytes()),
        (Type::Double, CellValues::Float32(v), _) => out.extend_from_slice(&f64::from(v[row]).to_le_bytes()),
        (Type::Double, CellValues::Float64(v), _) => out.extend_from_slice(&v[row].to_le_bytes()),
        (Type::String | Type::Bytes, CellValues::Text(a), _) => put_bytes(out, a.value(row).as_bytes()),
        (Type::Enum(symbols), CellValues::Text(a), _) => {
            let symbol = symbols.iter().position(|s| s == a.value(row));
            let symbol = symbol.ok_or_else(|| format!("'{}' is no symbol of Avro's enum", a.value(row)))?;
            put_long(out, symbol as i64);
        }
        (Type::Bytes, CellValues::Binary(a), _) => put_bytes(out, a.value(row)),
        (Type::Fixed(n), CellValues::Binary(a), _) => match a.value(row) {
            bytes if bytes.len() == *n => out.extend_from_slice(bytes),
            bytes => return Err(format!("{} bytes for Avro's fixed({n})", bytes.len())),
        },
        (Type::Decimal { fixed, precision, scale }, CellValues::Decimal(a, from), _) => {
            let value = rescale(a.value(row), usize::from(*from), *scale, *precision)?;
            put_decimal(out, value, *fixed)?;
        }
        (Type::Time(_) | Type::Int, CellValues::Time32(v, unit), _) => put_time(out, ty, i64::from(v[row]), *unit)?,
        (Type::Time(_) | Type::Int, CellValues::Time64(v, unit), _) => put_time(out, ty, v[row], *unit)?,
        (Type::Timestamp(to), CellValues::Timestamp(v, unit, _), _) => put_scaled(out, v[row], *unit, *to)?,
        // Flink's older schemas have a long of milliseconds without a logical type.
        (Type::Long, CellValues::Timestamp(v, unit, _), _) => put_scaled(out, v[row], *unit, 1_000)?,
        _ => return Err("the value does not fit the Avro schema".into()),
    }
    Ok(())
}

fn put_time(out: &mut Vec<u8>, ty: &Type, value: i64, unit: i64) -> Result<(), String> {
    let to = if let Type::Time(to) = ty { *to } else { 1_000 };
    put_scaled(out, value, unit, to)
}

/// From one unit of time to another; digits that the target lacks are cut towards the past.
fn put_scaled(out: &mut Vec<u8>, value: i64, from: i64, to: i64) -> Result<(), String> {
    let scaled = if to >= from { value.checked_mul(to / from) } else { Some(value.div_euclid(from / to)) };
    put_long(out, scaled.ok_or("the point in time is out of range for Avro's unit")?);
    Ok(())
}

fn rescale(value: i128, from: usize, to: usize, precision: usize) -> Result<i128, String> {
    let out_of_range = || format!("the decimal does not fit Avro's decimal({precision}, {to})");
    let power = |n: usize| u32::try_from(n).ok().and_then(|n| 10_i128.checked_pow(n)).ok_or_else(out_of_range);
    let scaled = if to >= from {
        value.checked_mul(power(to - from)?).ok_or_else(out_of_range)?
    } else {
        let factor = power(from - to)?;
        if value % factor != 0 {
            return Err(out_of_range());
        }
        value / factor
    };
    match power(precision.min(38)) {
        Ok(limit) if scaled.unsigned_abs() >= limit.unsigned_abs() => Err(out_of_range()),
        _ => Ok(scaled),
    }
}

/// Big-endian two's complement, as short as it can be or as long as the type is.
fn put_decimal(out: &mut Vec<u8>, value: i128, fixed: Option<usize>) -> Result<(), String> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let surplus = (0..15).take_while(|i| bytes[*i] == sign && (bytes[i + 1] ^ sign) & 0x80 == 0).count();
    let short = &bytes[surplus..];
    match fixed {
        None => put_bytes(out, short),
        Some(n) if n >= short.len() => {
            out.resize(out.len() + n - short.len(), sign);
            out.extend_from_slice(short);
        }
        Some(n) => return Err(format!("the decimal needs {} bytes, Avro's fixed has {n}", short.len())),
    }
    Ok(())
}
