//! Records in Avro's binary form into column builders.

use super::cursor::{Cursor, Fault, Mark};
use super::read::{Plan, Read, Wanted};
use super::types::{Type, TypeId, Types};
use crate::data::{Column, Reason};
use crate::formats::columns::{ColumnBuilder, TextRules, Values};
use crate::formats::rows::{RecordFault, Rows};
use crate::formats::text;
use std::sync::Arc;

/// Reads records that were written with one schema.
pub(super) struct RecordReader {
    types: Arc<Types>,
    plan: Plan,
    /// Defaults for columns that the records lack: (column, types, value, how it is read).
    defaults: Vec<DefaultValue>,
    null_on_error: bool,
    rules: TextRules,
}

/// A column's value where the writer's schema has no such field.
struct DefaultValue {
    column: usize,
    types: Arc<Types>,
    ty: TypeId,
    value: Vec<u8>,
    read: Read,
}

impl RecordReader {
    /// Columns that the schema lacks become NULL, or what `reader`, the table's own schema, has as their default.
    pub fn new(
        types: Arc<Types>,
        reader: Option<&Arc<Types>>,
        columns: &[Column],
        null_on_error: bool,
        rules: TextRules,
    ) -> Result<Self, String> {
        let plan = Plan::new(&types, columns)?;
        let mut defaults = Vec::new();
        for missing in &plan.missing {
            let [crate::data::PathStep::Member(name)] = columns[missing.column].path.as_slice() else { continue };
            let Some(own) = reader else { continue };
            let field = own.record(own.root).and_then(|fields| fields.iter().find(|f| f.name == *name));
            if let Some(field) = field
                && let Some(value) = &field.default
            {
                let read = super::read::read_type(own, field.ty, &columns[missing.column].logical_type)?;
                let default = DefaultValue {
                    column: missing.column,
                    types: own.clone(),
                    ty: field.ty,
                    value: value.clone(),
                    read,
                };
                defaults.push(default);
            }
        }
        Ok(Self { types, plan, defaults, null_on_error, rules })
    }

    /// As [`Self::new`], for the table's only schema: a column that it lacks is an error.
    pub fn strict(
        types: Arc<Types>,
        columns: &[Column],
        null_on_error: bool,
        rules: TextRules,
    ) -> Result<Self, String> {
        let reader = Self::new(types, None, columns, null_on_error, rules)?;
        match reader.plan.missing.into_iter().next() {
            Some(missing) => Err(missing.message),
            None => Ok(Self { plan: Plan { fields: reader.plan.fields, missing: vec![] }, ..reader }),
        }
    }

    pub fn types(&self) -> &Types {
        &self.types
    }

    /// One record as one row.
    pub fn read(&self, rows: &mut Rows, record: &[u8]) -> Result<(), RecordFault> {
        let mut cursor = Cursor::new(record);
        let mut reading = Reading { types: &self.types, rows, null_on_error: self.null_on_error, rules: self.rules };
        reading.root(&mut cursor, &self.plan.fields)?;
        if cursor.rest() > 0 {
            let message = format!("not Avro of the table's schema: {} bytes follow the record", cursor.rest());
            return Err(RecordFault::record(message));
        }
        for default in &self.defaults {
            let mut reading =
                Reading { types: &default.types, rows, null_on_error: self.null_on_error, rules: self.rules };
            let mut cursor = Cursor::new(&default.value);
            reading
                .column(&mut cursor, default.ty, default.column, &default.read)
                .map_err(|f| fault(f, Some(default.column)))?;
        }
        rows.end_row()
    }
}

fn fault(fault: Fault, column: Option<usize>) -> RecordFault {
    match fault {
        Fault::Broken(message) => RecordFault::record(message),
        Fault::Value(message) => RecordFault { reason: Reason::Decode, column, message },
    }
}

struct Reading<'r> {
    types: &'r Types,
    rows: &'r mut Rows,
    null_on_error: bool,
    rules: TextRules,
}

impl Reading<'_> {
    fn root(&mut self, cursor: &mut Cursor<'_>, wanted: &[Wanted]) -> Result<(), RecordFault> {
        self.record(cursor, self.types.root, wanted, 0)
    }

    /// The fields of a record that lies in columns of its own; a NULL in its place leaves them all NULL.
    fn record(
        &mut self,
        cursor: &mut Cursor<'_>,
        mut ty: TypeId,
        wanted: &[Wanted],
        depth: usize,
    ) -> Result<(), RecordFault> {
        let types = self.types;
        if let Type::Union(branches) = types.get(ty) {
            ty = branches[cursor.branch(branches.len()).map_err(|f| fault(f, None))?];
        }
        let Type::Record(fields) = types.get(ty) else { return Ok(()) };
        for (field, wanted) in fields.iter().zip(wanted) {
            let start = cursor.mark();
            if wanted.columns.is_empty() && wanted.inside.is_none() {
                cursor.skip(types, field.ty, depth).map_err(|f| fault(f, None))?;
            }
            for (column, read) in &wanted.columns {
                cursor.back(start);
                self.column(cursor, field.ty, *column, read).map_err(|f| fault(f, Some(*column)))?;
            }
            if let Some(inside) = &wanted.inside {
                cursor.back(start);
                self.record(cursor, field.ty, inside, depth + 1)?;
            }
        }
        Ok(())
    }

    fn column(&mut self, cursor: &mut Cursor<'_>, ty: TypeId, column: usize, how: &Read) -> Result<(), Fault> {
        let (start, len) = (cursor.mark(), self.rows.len);
        let builder = &mut self.rows.columns[column];
        match value(self.types, ty, how, cursor, builder, &self.rules) {
            Err(Fault::Value(message)) if self.null_on_error => {
                builder.truncate(len);
                builder.append_null();
                self.rows.nulled.push((column, message));
                cursor.back(start);
                cursor.skip(self.types, ty, 0)
            }
            outcome => outcome,
        }
    }
}

/// Appends the value here.
fn value(
    types: &Types,
    ty: TypeId,
    how: &Read,
    cursor: &mut Cursor<'_>,
    b: &mut ColumnBuilder,
    rules: &TextRules,
) -> Result<(), Fault> {
    match (how, types.get(ty)) {
        (Read::Union(reads), Type::Union(branches)) => {
            let branch = cursor.branch(branches.len())?;
            match &reads[branch] {
                Ok(read) => value(types, branches[branch], read, cursor, b, rules),
                Err(why) => Err(Fault::Value(why.clone())),
            }
        }
        (Read::List(read), Type::Array(item)) => {
            if let Values::List { items, .. } = &mut b.values {
                while let Some((count, _)) = cursor.block()? {
                    for _ in 0..count {
                        value(types, *item, read, cursor, items, rules)?;
                    }
                }
            }
            Ok(b.finish_nested()?)
        }
        (Read::Map(read), Type::Map(item)) => {
            map(types, *item, read, cursor, b, rules)?;
            Ok(b.finish_nested()?)
        }
        (Read::Row(reads, lacking), Type::Record(fields)) => {
            if let Values::Row(members) = &mut b.values {
                for (field, read) in fields.iter().zip(reads) {
                    match read {
                        Some((member, read)) => value(types, field.ty, read, cursor, &mut members[*member], rules)?,
                        None => cursor.skip(types, field.ty, 0)?,
                    }
                }
                lacking.iter().for_each(|m| members[*m].append_null());
            }
            Ok(b.finish_nested()?)
        }
        (_, plain) => plain_value(plain, cursor, b, rules),
    }
}

/// The last of several equal keys wins.
fn map(
    types: &Types,
    item: TypeId,
    read: &Read,
    cursor: &mut Cursor<'_>,
    b: &mut ColumnBuilder,
    rules: &TextRules,
) -> Result<(), Fault> {
    let mut entries: indexmap::IndexMap<&str, Mark> = indexmap::IndexMap::new();
    while let Some((count, _)) = cursor.block()? {
        for _ in 0..count {
            let key = cursor.text()?;
            entries.insert(key, cursor.mark());
            cursor.skip(types, item, 0)?;
        }
    }
    let end = cursor.mark();
    if let Values::Map { keys, values, .. } = &mut b.values {
        for (key, at) in entries {
            keys.append_bytes(key.as_bytes())?;
            cursor.back(at);
            value(types, item, read, cursor, values, rules)?;
        }
    }
    cursor.back(end);
    Ok(())
}

fn plain_value(ty: &Type, cursor: &mut Cursor<'_>, b: &mut ColumnBuilder, rules: &TextRules) -> Result<(), Fault> {
    match ty {
        Type::Null => b.append_null(),
        Type::Boolean => b.append_bool(cursor.boolean()?)?,
        Type::Int => {
            let v = cursor.int()?;
            match b.values {
                Values::Date(_) => b.append_days(v)?,
                Values::Time(_) => time(b, i64::from(v), 1_000)?,
                _ => b.append_i64(i64::from(v))?,
            }
        }
        Type::Long => {
            let v = cursor.long()?;
            match b.values {
                Values::Timestamp(_) => timestamp(b, v, 1_000)?,
                _ => b.append_i64(v)?,
            }
        }
        Type::Float => {
            let v = f32::from_le_bytes(cursor.array()?);
            match b.values {
                Values::Text(_) => b.append_number(&float_text(&v, v.is_finite())?, rules)?,
                _ => b.append_f64(f64::from(v))?,
            }
        }
        Type::Double => {
            let v = f64::from_le_bytes(cursor.array()?);
            match b.values {
                Values::Float32(_) if v.is_finite() && !(v as f32).is_finite() => {
                    return Err(Fault::Value(format!("{v} is out of range for FLOAT")));
                }
                Values::Text(_) => b.append_number(&float_text(&v, v.is_finite())?, rules)?,
                _ => b.append_f64(v)?,
            }
        }
        Type::Bytes => b.append_bytes(cursor.bytes()?)?,
        Type::String => {
            let v = cursor.text()?;
            b.append_bytes(v.as_bytes())?;
        }
        Type::Fixed(n) => b.append_bytes(cursor.take(*n)?)?,
        Type::Enum(symbols) => {
            let index = cursor.branch(symbols.len())?;
            b.append_bytes(symbols[index].as_bytes())?;
        }
        Type::Decimal { fixed, scale, .. } => {
            let bytes = match fixed {
                Some(n) => cursor.take(*n)?,
                None => cursor.bytes()?,
            };
            decimal(b, bytes, *scale, rules)?;
        }
        Type::Date => {
            let days = cursor.int()?;
            b.append_days(days)?;
        }
        Type::Time(unit) => {
            let v = cursor.long()?;
            time(b, v, *unit)?;
        }
        Type::Timestamp(unit) => {
            let v = cursor.long()?;
            timestamp(b, v, *unit)?;
        }
        // The plan has ways of its own for these.
        Type::Array(_) | Type::Map(_) | Type::Union(_) | Type::Record(_) => {
            return Err(cursor.broken("a nested value"));
        }
    }
    Ok(())
}

fn float_text<T: serde::Serialize + std::fmt::Display>(value: &T, finite: bool) -> Result<String, String> {
    if finite { serde_json::to_string(value).map_err(|e| e.to_string()) } else { Ok(value.to_string()) }
}

fn time(b: &mut ColumnBuilder, value: i64, unit: i64) -> Result<(), String> {
    if !(0..86_400 * unit).contains(&value) {
        return Err(format!("{value} is no time of day"));
    }
    b.append_time(value * (1_000_000_000 / unit))
}

fn timestamp(b: &mut ColumnBuilder, value: i64, unit: i64) -> Result<(), String> {
    b.append_timestamp(value.div_euclid(unit), value.rem_euclid(unit) * (1_000_000_000 / unit))
}

/// Big-endian two's complement of any length; longer ones than 16 bytes must be sign extension.
fn decimal(b: &mut ColumnBuilder, bytes: &[u8], scale: usize, rules: &TextRules) -> Result<(), String> {
    let sign = if bytes.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
    let surplus = bytes.len().saturating_sub(16);
    let (head, tail) = bytes.split_at(surplus);
    let mut wide = [sign; 16];
    wide[16 - tail.len()..].copy_from_slice(tail);
    let value = i128::from_be_bytes(wide);
    let fits = head.iter().all(|b| *b == sign) && (value < 0) == (sign == 0xff);
    let scale = u8::try_from(scale).ok().filter(|_| fits);
    let scale =
        scale.ok_or_else(|| format!("a decimal of {} bytes is out of range for {}", bytes.len(), b.logical_type()))?;
    let mut shown = Vec::new();
    text::write_decimal(&mut shown, value, scale);
    let shown = String::from_utf8(shown).map_err(|e| e.to_string())?;
    b.append_text(&shown, rules)
}
