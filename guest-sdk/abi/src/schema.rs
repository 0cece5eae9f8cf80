//! The schema block: a list of columns as a tree in pre-order. It travels once, when a function is opened.

use crate::bytes::{fnv1a, range, u16_at, u32_at, u64_at};
use crate::types::{Field, Type};
use crate::{FrameError, MAX_DEPTH, MAX_NODES, VERSION};

const MAGIC: &[u8; 4] = b"WMSC";
const HEADER: usize = 32;
const NODE: usize = 16;
const NULLABLE: u8 = 1;

/// Columns and the fingerprint that their frames carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    fields: Vec<Field>,
    fingerprint: u64,
    bytes: Vec<u8>,
}

impl Schema {
    /// Fails when the tree is too deep or has too many nodes.
    pub fn new(fields: Vec<Field>) -> Result<Self, FrameError> {
        let bytes = encode(&fields)?;
        Ok(Self { fingerprint: fnv1a(&bytes[HEADER..]), fields, bytes })
    }

    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// FNV-1a 64 over the nodes.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The block as it travels.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        if range(bytes, 0, 4, "schema")? != MAGIC {
            return Err(FrameError::new("schema: does not begin with WMSC"));
        }
        if bytes.get(4..6) != Some(&[VERSION.0, VERSION.1]) {
            return Err(FrameError::new(format!("schema: version {}.{} is expected", VERSION.0, VERSION.1)));
        }
        let header = usize::from(u16_at(bytes, 6)?);
        let total = u32_at(bytes, 8)? as usize;
        let (count, nodes) = (u32_at(bytes, 12)? as usize, u32_at(bytes, 16)? as usize);
        if header < HEADER || total < header || total > bytes.len() || nodes > MAX_NODES {
            return Err(FrameError::new(format!("schema: header {header}, length {total}, {nodes} nodes do not fit")));
        }
        let body = &bytes[header..total];
        let mut reader = Reader { body, at: 0, nodes: 0 };
        let fields = (0..count).map(|_| reader.field(0)).collect::<Result<Vec<_>, _>>()?;
        if reader.at != body.len() || reader.nodes != nodes {
            return Err(FrameError::new(format!("schema: {} nodes found, {nodes} announced", reader.nodes)));
        }
        let schema = Self::new(fields)?;
        if u64_at(bytes, 24)? != schema.fingerprint {
            return Err(FrameError::new("schema: the fingerprint does not belong to the nodes"));
        }
        Ok(schema)
    }
}

struct Reader<'a> {
    body: &'a [u8],
    at: usize,
    nodes: usize,
}

impl Reader<'_> {
    fn field(&mut self, depth: usize) -> Result<Field, FrameError> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(FrameError::new("schema: too deep or too many nodes"));
        }
        let node = range(self.body, self.at, NODE, "schema node")?;
        let (code, flags, p, s) = (node[0], node[1], node[2], node[3]);
        let (length, children) = (u32_at(node, 4)?, u32_at(node, 8)?);
        let name_len = u32_at(node, 12)? as usize;
        let name = std::str::from_utf8(range(self.body, self.at + NODE, name_len, "schema name")?)
            .map_err(|_| FrameError::new("schema: a name is not valid UTF-8"))?
            .to_string();
        self.at += NODE + name_len.div_ceil(4) * 4;
        let precision = |max: u8| {
            if p <= max { Ok(p) } else { Err(FrameError::new(format!("schema: precision {p} of column {name}"))) }
        };
        let ty = match code {
            1 => Type::Boolean,
            2 => Type::TinyInt,
            3 => Type::SmallInt,
            4 => Type::Int,
            5 => Type::BigInt,
            6 => Type::Float,
            7 => Type::Double,
            8 if (1..=38).contains(&p) && s <= p => Type::Decimal { precision: p, scale: s },
            9 => Type::Char(length),
            10 => Type::Varchar(length),
            11 => Type::Binary(length),
            12 => Type::Varbinary(length),
            13 => Type::Date,
            14 => Type::Time(precision(9)?),
            15 => Type::Timestamp(precision(9)?),
            16 => Type::TimestampLtz(precision(9)?),
            17 => Type::Array(Box::new(self.field(depth + 1)?)),
            18 => Type::Map(Box::new((self.field(depth + 1)?, self.field(depth + 1)?))),
            19 => Type::Row((0..children).map(|_| self.field(depth + 1)).collect::<Result<_, _>>()?),
            _ => return Err(FrameError::new(format!("schema: type code {code} of column {name}"))),
        };
        if ty.children().len() != children as usize {
            return Err(FrameError::new(format!("schema: {children} children of column {name}, a {ty}")));
        }
        Ok(Field { name, ty, nullable: flags & NULLABLE != 0 })
    }
}

fn encode(fields: &[Field]) -> Result<Vec<u8>, FrameError> {
    let mut out = vec![0; HEADER];
    let mut nodes = 0;
    for field in fields {
        encode_field(field, 0, &mut nodes, &mut out)?;
    }
    out[..4].copy_from_slice(MAGIC);
    out[4..6].copy_from_slice(&[VERSION.0, VERSION.1]);
    out[6..8].copy_from_slice(&(HEADER as u16).to_le_bytes());
    let total = out.len() as u32;
    out[8..12].copy_from_slice(&total.to_le_bytes());
    out[12..16].copy_from_slice(&(fields.len() as u32).to_le_bytes());
    out[16..20].copy_from_slice(&(nodes as u32).to_le_bytes());
    let fingerprint = fnv1a(&out[HEADER..]);
    out[24..32].copy_from_slice(&fingerprint.to_le_bytes());
    Ok(out)
}

fn encode_field(field: &Field, depth: usize, nodes: &mut usize, out: &mut Vec<u8>) -> Result<(), FrameError> {
    *nodes += 1;
    if depth > MAX_DEPTH || *nodes > MAX_NODES || field.name.len() > 65_536 {
        return Err(FrameError::new(format!("schema: column {:.40} is nested too deeply or too large", field.name)));
    }
    let (mut p, mut s, mut length) = (0, 0, 0);
    match &field.ty {
        Type::Decimal { precision, scale } => (p, s) = (*precision, *scale),
        Type::Time(n) | Type::Timestamp(n) | Type::TimestampLtz(n) => p = *n,
        Type::Char(n) | Type::Varchar(n) | Type::Binary(n) | Type::Varbinary(n) => length = *n,
        _ => {}
    }
    let children = field.ty.children();
    out.extend_from_slice(&[field.ty.code(), u8::from(field.nullable) * NULLABLE, p, s]);
    for word in [length, children.len() as u32, field.name.len() as u32] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(field.name.as_bytes());
    out.resize(out.len().div_ceil(4) * 4, 0);
    children.into_iter().try_for_each(|child| encode_field(child, depth + 1, nodes, out))
}
