//! Avro's JSON encoding, to and from its binary one: what reads and writes columns then knows one form only.

use super::cursor::{Cursor, Fault};
use super::encode::put_long;
use super::types::{Type, TypeId, Types};
use crate::formats::json::pieces::{Piece, piece};
use crate::formats::json::write_string;

/// A record in JSON as the same record in binary. The error says where the JSON does not fit the schema.
pub(super) fn to_binary(types: &Types, record: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(record).map_err(|_| "the record is not valid UTF-8".to_string())?;
    let mut out = Vec::with_capacity(record.len());
    put(types, types.root, text, &mut out, 0, Unions::Named)?;
    Ok(out)
}

/// The default of a field in binary.
pub(super) fn default_value(types: &Types, ty: TypeId, json: &serde_json::Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    put(types, ty, &json.to_string(), &mut out, 0, Unions::FirstBranch)?;
    Ok(out)
}

/// How a value of a union is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unions {
    /// In an object under its type's name.
    Named,
    /// It is one of the first branch: defaults.
    FirstBranch,
}

fn put(types: &Types, ty: TypeId, text: &str, out: &mut Vec<u8>, depth: usize, unions: Unions) -> Result<(), String> {
    if depth > super::DEPTH_MAX {
        return Err("the record is nested too deeply".into());
    }
    if let (Type::Union(branches), Unions::FirstBranch) = (types.get(ty), unions) {
        put_long(out, 0);
        let first = branches.first().ok_or("a union without types")?;
        return put(types, *first, text, out, depth + 1, unions);
    }
    let json = piece(text)?;
    let misfit = || {
        let shown: String = text.trim().chars().take(64).collect();
        format!("{shown} is no Avro {}", types.show(ty))
    };
    match (types.get(ty), json) {
        (Type::Null, Piece::Null) => {}
        (Type::Boolean, Piece::Bool(b)) => out.push(u8::from(b)),
        (Type::Int | Type::Date | Type::Time(1_000), Piece::Number(n)) => {
            put_long(out, n.parse::<i32>().map_err(|_| misfit())?.into());
        }
        (Type::Long | Type::Time(_) | Type::Timestamp(_), Piece::Number(n)) => {
            put_long(out, n.parse::<i64>().map_err(|_| misfit())?);
        }
        (Type::Float, Piece::Number(n)) => out.extend_from_slice(&number::<f32>(n).ok_or_else(misfit)?.to_le_bytes()),
        (Type::Double, Piece::Number(n)) => out.extend_from_slice(&number::<f64>(n).ok_or_else(misfit)?.to_le_bytes()),
        (Type::Float, Piece::Text(s)) => {
            out.extend_from_slice(&(special(&s).ok_or_else(misfit)? as f32).to_le_bytes());
        }
        (Type::Double, Piece::Text(s)) => out.extend_from_slice(&special(&s).ok_or_else(misfit)?.to_le_bytes()),
        (Type::String, Piece::Text(s)) => put_bytes(out, s.as_bytes()),
        (Type::Bytes | Type::Decimal { fixed: None, .. }, Piece::Text(s)) => {
            put_bytes(out, &latin1(&s).ok_or_else(misfit)?);
        }
        (Type::Fixed(n) | Type::Decimal { fixed: Some(n), .. }, Piece::Text(s)) => {
            out.extend_from_slice(&latin1(&s).filter(|b| b.len() == *n).ok_or_else(misfit)?);
        }
        (Type::Enum(symbols), Piece::Text(s)) => {
            put_long(out, symbols.iter().position(|x| *x == s).ok_or_else(misfit)? as i64);
        }
        (Type::Array(item), Piece::Array(items)) => {
            if !items.is_empty() {
                put_long(out, items.len() as i64);
                items.iter().try_for_each(|v| put(types, *item, v, out, depth + 1, unions))?;
            }
            out.push(0);
        }
        (Type::Map(item), Piece::Object(entries)) => {
            if !entries.is_empty() {
                put_long(out, entries.len() as i64);
                for (key, v) in &entries {
                    put_bytes(out, key.as_bytes());
                    put(types, *item, v, out, depth + 1, unions)?;
                }
            }
            out.push(0);
        }
        (Type::Record(fields), Piece::Object(members)) => {
            for field in fields {
                let given = members.iter().rev().find(|(name, _)| *name == field.name);
                match (given, &field.default) {
                    (Some((_, v)), _) => {
                        put(types, field.ty, v, out, depth + 1, unions).map_err(|e| format!("{}: {e}", field.name))?;
                    }
                    (None, Some(default)) => out.extend_from_slice(default),
                    (None, None) => return Err(format!("the field {} is missing", field.name)),
                }
            }
        }
        (Type::Union(branches), Piece::Null) => {
            let null = branches.iter().position(|b| *types.get(*b) == Type::Null).ok_or_else(misfit)?;
            put_long(out, null as i64);
        }
        (Type::Union(branches), Piece::Object(members)) => {
            // A value of a union stands in an object under its type's name.
            let [(name, inner)] = &members[..] else { return Err(misfit()) };
            let branch = branches.iter().position(|b| types.name(*b) == *name).ok_or_else(misfit)?;
            put_long(out, branch as i64);
            put(types, branches[branch], inner, out, depth + 1, unions)?;
        }
        _ => return Err(misfit()),
    }
    Ok(())
}

/// A finite number; one that is too large is none.
fn number<T: std::str::FromStr + Into<f64> + Copy>(text: &str) -> Option<T> {
    text.parse::<T>().ok().filter(|v| (*v).into().is_finite())
}

fn special(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Code points 0 to 255 are the bytes.
fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

/// A record in binary as the same record in JSON, appended to `out`.
pub(super) fn from_binary(types: &Types, record: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    write(types, types.root, &mut Cursor::new(record), out).map_err(|fault| match fault {
        Fault::Broken(message) | Fault::Value(message) => message,
    })
}

fn write(types: &Types, ty: TypeId, cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
    match types.get(ty) {
        Type::Null => out.extend_from_slice(b"null"),
        Type::Boolean => out.extend_from_slice(if cursor.boolean()? { b"true" } else { b"false" }),
        Type::Int | Type::Long | Type::Date | Type::Time(_) | Type::Timestamp(_) => {
            out.extend_from_slice(cursor.long()?.to_string().as_bytes());
        }
        Type::Float => {
            let v = f32::from_le_bytes(cursor.array()?);
            write_number(&v, f64::from(v), out)?;
        }
        Type::Double => {
            let v = f64::from_le_bytes(cursor.array()?);
            write_number(&v, v, out)?;
        }
        Type::String => write_string(out, cursor.text()?),
        Type::Bytes | Type::Decimal { fixed: None, .. } => write_latin1(cursor.bytes()?, out),
        Type::Fixed(n) | Type::Decimal { fixed: Some(n), .. } => write_latin1(cursor.take(*n)?, out),
        Type::Enum(symbols) => {
            let symbol = cursor.branch(symbols.len())?;
            write_string(out, &symbols[symbol]);
        }
        Type::Union(branches) => {
            let branch = branches[cursor.branch(branches.len())?];
            if *types.get(branch) == Type::Null {
                out.extend_from_slice(b"null");
                return Ok(());
            }
            out.push(b'{');
            write_string(out, types.name(branch));
            out.push(b':');
            write(types, branch, cursor, out)?;
            out.push(b'}');
        }
        Type::Record(fields) => {
            out.push(b'{');
            for (i, field) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_string(out, &field.name);
                out.push(b':');
                write(types, field.ty, cursor, out)?;
            }
            out.push(b'}');
        }
        Type::Array(item) | Type::Map(item) => {
            let is_map = matches!(types.get(ty), Type::Map(_));
            out.push(if is_map { b'{' } else { b'[' });
            let mut first = true;
            while let Some((count, _)) = cursor.block()? {
                for _ in 0..count {
                    if !std::mem::replace(&mut first, false) {
                        out.push(b',');
                    }
                    if is_map {
                        write_string(out, cursor.text()?);
                        out.push(b':');
                    }
                    write(types, *item, cursor, out)?;
                }
            }
            out.push(if is_map { b'}' } else { b']' });
        }
    }
    Ok(())
}

fn write_number<T: serde::Serialize>(value: &T, wide: f64, out: &mut Vec<u8>) -> Result<(), String> {
    if wide.is_finite() {
        return serde_json::to_writer(out, value).map_err(|e| e.to_string());
    }
    out.extend_from_slice(match wide {
        v if v.is_nan() => b"\"NaN\"".as_slice(),
        v if v > 0.0 => b"\"Infinity\"",
        _ => b"\"-Infinity\"",
    });
    Ok(())
}

fn write_latin1(bytes: &[u8], out: &mut Vec<u8>) {
    write_string(out, &bytes.iter().map(|b| char::from(*b)).collect::<String>());
}
