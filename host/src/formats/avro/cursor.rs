//! The bytes of one record, read from the front. Every length is checked against what is there.

use super::types::{Type, TypeId, Types};

/// Why a record cannot be read.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// The bytes are no record of the schema: nothing of it can be used.
    Broken(String),
    /// A value does not fit its column.
    Value(String),
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault::Value(message)
    }
}

pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Elements of arrays and maps that may still come: those without bytes of their own would be endless.
    elements: usize,
}

/// A place to go back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    at: usize,
    elements: usize,
}

/// Elements beyond one for each byte.
const ELEMENTS_MIN: usize = 65_536;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, elements: bytes.len() + ELEMENTS_MIN }
    }

    pub fn mark(&self) -> Mark {
        Mark { at: self.at, elements: self.elements }
    }

    /// What was read since counts as not read.
    pub fn back(&mut self, mark: Mark) {
        (self.at, self.elements) = (mark.at, mark.elements);
    }

    pub fn rest(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[cold]
    fn ends(&self) -> Fault {
        Fault::Broken(format!(
            "not Avro of the table's schema: the record ends at byte {} within a value",
            self.bytes.len()
        ))
    }

    pub fn broken(&self, what: impl std::fmt::Display) -> Fault {
        Fault::Broken(format!("not Avro of the table's schema: {what} at byte {}", self.at))
    }

    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        match self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += len;
                Ok(bytes)
            }
            None => Err(self.ends()),
        }
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// A zig-zag number of variable length.
    #[inline]
    pub fn long(&mut self) -> Result<i64, Fault> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.bytes.get(self.at) else { return Err(self.ends()) };
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(self.broken("a number of more than 64 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(self.broken("a number of more than ten bytes"))
    }

    pub fn int(&mut self) -> Result<i32, Fault> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| self.broken("a number of more than 32 bits"))
    }

    pub fn boolean(&mut self) -> Result<bool, Fault> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(self.broken("a boolean that is neither 0 nor 1")),
        }
    }

    /// Bytes with their length in front.
    pub fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let len = self.long()?;
        match usize::try_from(len) {
            Ok(len) => self.take(len),
            Err(_) => Err(self.broken("a negative length")),
        }
    }

    pub fn text(&mut self) -> Result<&'a str, Fault> {
        let bytes = self.bytes()?;
        std::str::from_utf8(bytes).map_err(|_| self.broken("text that is not valid UTF-8"))
    }

    pub fn branch(&mut self, branches: usize) -> Result<usize, Fault> {
        let index = self.long()?;
        let index = usize::try_from(index).ok().filter(|i| *i < branches);
        index.ok_or_else(|| self.broken("a branch that its union does not have"))
    }

    /// The next block of an array or map: how many elements, and the bytes they take if the block says so. None: the
    /// end.
    pub fn block(&mut self) -> Result<Option<(usize, Option<usize>)>, Fault> {
        let count = self.long()?;
        if count == 0 {
            return Ok(None);
        }
        let size = match count {
            ..0 => Some(self.long()?),
            _ => None,
        };
        let size =
            size.map(|s| usize::try_from(s).map_err(|_| self.broken("a negative size of a block"))).transpose()?;
        let count = usize::try_from(count.unsigned_abs()).ok().filter(|n| *n <= self.elements);
        let count = count.ok_or_else(|| self.broken("more elements than the record can hold"))?;
        self.elements -= count;
        Ok(Some((count, size)))
    }

    /// Passes a value over.
    pub fn skip(&mut self, types: &Types, ty: TypeId, depth: usize) -> Result<(), Fault> {
        if depth > super::DEPTH_MAX {
            return Err(self.broken("values nested too deeply"));
        }
        match types.get(ty) {
            Type::Null => {}
            Type::Boolean => drop(self.boolean()?),
            Type::Int | Type::Long | Type::Enum(_) | Type::Date | Type::Time(_) | Type::Timestamp(_) => {
                self.long()?;
            }
            Type::Float => drop(self.take(4)?),
            Type::Double => drop(self.take(8)?),
            Type::Fixed(n) | Type::Decimal { fixed: Some(n), .. } => drop(self.take(*n)?),
            Type::Bytes | Type::String | Type::Decimal { fixed: None, .. } => drop(self.bytes()?),
            Type::Union(branches) => {
                let branch = self.branch(branches.len())?;
                self.skip(types, branches[branch], depth + 1)?;
            }
            Type::Record(fields) => {
                for field in fields {
                    self.skip(types, field.ty, depth + 1)?;
                }
            }
            Type::Array(element) | Type::Map(element) => {
                let is_map = matches!(types.get(ty), Type::Map(_));
                while let Some((count, size)) = self.block()? {
                    if let Some(size) = size {
                        self.take(size)?;
                        continue;
                    }
                    for _ in 0..count {
                        if is_map {
                            self.bytes()?;
                        }
                        self.skip(types, *element, depth + 1)?;
                    }
                }
            }
        }
        Ok(())
    }
}
