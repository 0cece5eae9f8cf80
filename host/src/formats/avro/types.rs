//! An Avro schema with its names resolved: what reading and writing walk along.

use crate::error::{Error, Result};
use apache_avro::Schema;
use apache_avro::schema::{Name, Namespace};
use serde_json::Value;
use std::collections::HashMap;

/// The number of a type in [`Types`]. Types may contain themselves, so they are numbered, not nested.
pub(super) type TypeId = usize;

#[derive(Debug)]
pub(super) struct Types {
    all: Vec<Type>,
    /// Full names of records, enums and fixed types.
    names: HashMap<TypeId, String>,
    pub root: TypeId,
    /// The text that the schema was made of.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Vec<String>),
    /// `fixed`: the number of bytes; None: as many as it takes.
    Decimal {
        fixed: Option<usize>,
        precision: usize,
        scale: usize,
    },
    /// An int of days.
    Date,
    /// An int (milliseconds) or a long, with the units in a second.
    Time(i64),
    /// A long, with the units in a second.
    Timestamp(i64),
    Array(TypeId),
    Map(TypeId),
    Union(Vec<TypeId>),
    Record(Vec<Field>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub name: String,
    pub aliases: Vec<String>,
    pub ty: TypeId,
    /// The default as Avro's binary form of the type.
    pub default: Option<Vec<u8>>,
}

/// More types than any sensible schema has.
const TYPES_MAX: usize = 20_000;

impl Types {
    /// Parses a schema's text. `whose`: the table or registry id that it belongs to, for messages.
    pub fn parse(text: &str, whose: &str) -> Result<Types> {
        super::schema_names::check(text)
            .map_err(|e| Error::user(format!("{whose}: the Avro schema cannot be used: {e}")))?;
        let schema = Schema::parse_str(&set_defaults_aside(text)).map_err(|e| {
            Error::user(format!("{whose}: the Avro schema cannot be used: {e}"))
                .with_hint("it is JSON such as {\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}")
        })?;
        let refuse = |e: String| Error::user(format!("{whose}: {e}"));
        let mut making = Making { all: vec![], named: HashMap::new(), defaults: vec![] };
        let root = making.add(&schema, &None, 0).map_err(refuse)?;
        let names = making.named.into_iter().map(|(name, id)| (id, name.fullname(None))).collect();
        let mut types = Types { all: making.all, names, root, text: text.to_string() };
        // Inner records first: the defaults of outer ones may rest on theirs.
        for (record, field, json) in making.defaults.into_iter().rev() {
            types.set_default(record, field, &json).map_err(refuse)?;
        }
        Ok(types)
    }

    fn set_default(&mut self, record: TypeId, index: usize, json: &Value) -> std::result::Result<(), String> {
        let Type::Record(fields) = self.get(record) else { return Ok(()) };
        let Some(field) = fields.get(index) else { return Ok(()) };
        let bytes = super::json::default_value(self, field.ty, json);
        let bytes = bytes.map_err(|e| format!("the default of the Avro field {}: {e}", field.name))?;
        if let Type::Record(fields) = &mut self.all[record] {
            fields[index].default = Some(bytes);
        }
        Ok(())
    }

    pub fn get(&self, id: TypeId) -> &Type {
        &self.all[id]
    }

    /// The fields of a record, or of the one record in a union with null.
    pub fn record(&self, id: TypeId) -> Option<&[Field]> {
        match self.get(id) {
            Type::Record(fields) => Some(fields),
            Type::Union(branches) => {
                let mut others = branches.iter().filter(|b| *self.get(**b) != Type::Null);
                match (others.next(), others.next()) {
                    (Some(only), None) => self.record(*only),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// What the JSON encoding calls a branch of a union.
    pub fn name(&self, id: TypeId) -> &str {
        match self.get(id) {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Int | Type::Date | Type::Time(1_000) => "int",
            Type::Long | Type::Time(_) | Type::Timestamp(_) => "long",
            Type::Float => "float",
            Type::Double => "double",
            Type::Bytes | Type::Decimal { fixed: None, .. } => "bytes",
            Type::String => "string",
            Type::Array(_) => "array",
            Type::Map(_) => "map",
            Type::Union(_) => "union",
            Type::Fixed(_) | Type::Enum(_) | Type::Record(_) | Type::Decimal { .. } => {
                self.names.get(&id).map_or("", String::as_str)
            }
        }
    }

    /// For messages.
    pub fn show(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Null => "null".into(),
            Type::Boolean => "boolean".into(),
            Type::Int => "int".into(),
            Type::Long => "long".into(),
            Type::Float => "float".into(),
            Type::Double => "double".into(),
            Type::Bytes => "bytes".into(),
            Type::String => "string".into(),
            Type::Fixed(n) => format!("fixed({n})"),
            Type::Enum(_) => "enum".into(),
            Type::Decimal { precision, scale, .. } => format!("decimal({precision}, {scale})"),
            Type::Date => "date".into(),
            Type::Time(1_000) => "time-millis".into(),
            Type::Time(_) => "time-micros".into(),
            Type::Timestamp(1_000) => "timestamp-millis".into(),
            Type::Timestamp(1_000_000) => "timestamp-micros".into(),
            Type::Timestamp(_) => "timestamp-nanos".into(),
            Type::Array(_) => "array".into(),
            Type::Map(_) => "map".into(),
            Type::Record(_) => "record".into(),
            Type::Union(branches) => {
                format!("union of {}", branches.iter().map(|b| self.show(*b)).collect::<Vec<_>>().join(" and "))
            }
        }
    }
}

/// Under this name the parser carries defaults along without a look at them: it knows fewer of their forms than Avro has.
const DEFAULT: &str = "wasmill-default";

/// Renames `default` in the fields of records; text that is no JSON is left for the parser to refuse.
fn set_defaults_aside(text: &str) -> String {
    fn walk(json: &mut Value) {
        match json {
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(members) => {
                for field in members.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(field) = field.as_object_mut()
                        && let Some(default) = field.remove("default")
                    {
                        field.insert(DEFAULT.to_string(), default);
                    }
                }
                members.iter_mut().filter(|(name, _)| *name != DEFAULT).for_each(|(_, v)| walk(v));
            }
            _ => {}
        }
    }
    match serde_json::from_str::<Value>(text) {
        Ok(mut json) => {
            walk(&mut json);
            json.to_string()
        }
        Err(_) => text.to_string(),
    }
}

struct Making {
    all: Vec<Type>,
    named: HashMap<Name, TypeId>,
    /// Record, field, default.
    defaults: Vec<(TypeId, usize, Value)>,
}

impl Making {
    fn push(&mut self, ty: Type) -> std::result::Result<TypeId, String> {
        if self.all.len() >= TYPES_MAX {
            return Err(format!("the Avro schema has more than {TYPES_MAX} types"));
        }
        self.all.push(ty);
        Ok(self.all.len() - 1)
    }

    fn add(&mut self, schema: &Schema, within: &Namespace, depth: usize) -> std::result::Result<TypeId, String> {
        if depth > super::DEPTH_MAX {
            return Err(format!("the Avro schema is nested deeper than {} levels", super::DEPTH_MAX));
        }
        let plain = match schema {
            Schema::Null => Type::Null,
            Schema::Boolean => Type::Boolean,
            Schema::Int => Type::Int,
            Schema::Long => Type::Long,
            Schema::Float => Type::Float,
            Schema::Double => Type::Double,
            Schema::Bytes | Schema::BigDecimal => Type::Bytes,
            Schema::String | Schema::Uuid => Type::String,
            Schema::Date => Type::Date,
            Schema::TimeMillis => Type::Time(1_000),
            Schema::TimeMicros => Type::Time(1_000_000),
            Schema::TimestampMillis | Schema::LocalTimestampMillis => Type::Timestamp(1_000),
            Schema::TimestampMicros | Schema::LocalTimestampMicros => Type::Timestamp(1_000_000),
            Schema::TimestampNanos | Schema::LocalTimestampNanos => Type::Timestamp(1_000_000_000),
            Schema::Duration => Type::Fixed(12),
            Schema::Array(array) => Type::Array(self.add(&array.items, within, depth + 1)?),
            Schema::Map(map) => Type::Map(self.add(&map.types, within, depth + 1)?),
            Schema::Union(union) => {
                let branches = union.variants().iter().map(|b| self.add(b, within, depth + 1));
                Type::Union(branches.collect::<std::result::Result<_, _>>()?)
            }
            Schema::Decimal(decimal) => {
                let fixed = match &*decimal.inner {
                    Schema::Fixed(fixed) => Some(fixed.size),
                    _ => None,
                };
                let id = self.push(Type::Decimal { fixed, precision: decimal.precision, scale: decimal.scale })?;
                if let Schema::Fixed(fixed) = &*decimal.inner {
                    self.named.insert(fixed.name.fully_qualified_name(within), id);
                }
                return Ok(id);
            }
            Schema::Fixed(fixed) => return self.add_named(&fixed.name, within, Type::Fixed(fixed.size)),
            Schema::Enum(e) => return self.add_named(&e.name, within, Type::Enum(e.symbols.clone())),
            Schema::Ref { name } => {
                let name = name.fully_qualified_name(within);
                let known = self.named.get(&name).copied();
                return known.ok_or_else(|| format!("the Avro schema has no type {}", name.fullname(None)));
            }
            Schema::Record(record) => {
                let id = self.add_named(&record.name, within, Type::Record(vec![]))?;
                let within = record.name.fully_qualified_name(within).namespace;
                let mut fields = Vec::with_capacity(record.fields.len());
                for (index, f) in record.fields.iter().enumerate() {
                    if let Some(default) = f.custom_attributes.get(DEFAULT) {
                        self.defaults.push((id, index, default.clone()));
                    }
                    let ty = self.add(&f.schema, &within, depth + 1)?;
                    let aliases = f.aliases.clone().unwrap_or_default();
                    fields.push(Field { name: f.name.clone(), aliases, ty, default: None });
                }
                self.all[id] = Type::Record(fields);
                return Ok(id);
            }
        };
        self.push(plain)
    }

    fn add_named(&mut self, name: &Name, within: &Namespace, ty: Type) -> std::result::Result<TypeId, String> {
        let id = self.push(ty)?;
        self.named.insert(name.fully_qualified_name(within), id);
        Ok(id)
    }
}
