//! How columns are read out of records of a schema: planned once, then walked along for each record.

use super::types::{Type, TypeId, Types};
use crate::data::{Column, LogicalType, PathStep};

/// How a value of an Avro type becomes a value of a column.
#[derive(Debug)]
pub(super) enum Read {
    /// As both types say.
    Plain,
    /// The items of an ARRAY.
    List(Box<Read>),
    /// The values of a MAP.
    Map(Box<Read>),
    /// Per field of the record: the ROW's member and how it is read; None: passed over. Then the members that the
    /// record lacks.
    Row(Vec<Option<(usize, Read)>>, Vec<usize>),
    /// Per branch; an error says why a value of it cannot be taken.
    Union(Vec<Result<Read, String>>),
}

/// What the columns want of one field of a record.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub columns: Vec<(usize, Read)>,
    /// What is wanted of the fields inside, if it is a record.
    pub inside: Option<Vec<Wanted>>,
}

/// A column that the schema lacks.
#[derive(Debug)]
pub(super) struct Missing {
    pub column: usize,
    pub message: String,
}

/// What of a record goes where.
#[derive(Debug)]
pub(super) struct Plan {
    pub fields: Vec<Wanted>,
    pub missing: Vec<Missing>,
}

impl Plan {
    /// An error names the column whose type the schema's cannot become.
    pub fn new(types: &Types, columns: &[Column]) -> Result<Plan, String> {
        let Some(fields) = types.record(types.root) else {
            return Err(format!("the Avro schema is no record but {}", types.show(types.root)));
        };
        let mut plan = Plan { fields: fields.iter().map(|_| Wanted::default()).collect(), missing: vec![] };
        for (i, column) in columns.iter().enumerate() {
            if let Err(message) = want(types, types.root, &mut plan.fields, i, column, &column.path)? {
                plan.missing.push(Missing { column: i, message });
            }
        }
        Ok(plan)
    }
}

type Found = Result<(), String>;

/// Notes what a column wants. The outer error: it cannot be read; the inner one: it is not there.
fn want(
    types: &Types,
    record: TypeId,
    wanted: &mut [Wanted],
    column: usize,
    c: &Column,
    path: &[PathStep],
) -> Result<Found, String> {
    let refuse = |what: String| format!("column {}: {what}", c.name);
    let (Some(PathStep::Member(name)), Some(fields)) = (path.first(), types.record(record)) else {
        return Err(refuse("a path into an Avro record names fields of records; arrays have no path".into()));
    };
    let place = fields.iter().position(|f| f.name == *name);
    let place = place.or_else(|| fields.iter().position(|f| f.aliases.contains(name)));
    let Some(place) = place else {
        let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
        return Ok(Err(refuse(format!("the Avro schema has no field {name}; its fields are {}", names.join(", ")))));
    };
    let ty = fields[place].ty;
    let target = &mut wanted[place];
    if path.len() == 1 {
        let read = read(types, ty, &c.logical_type, 0).map_err(refuse)?;
        target.columns.push((column, read));
        return Ok(Ok(()));
    }
    let Some(inner) = types.record(ty) else {
        return Err(refuse(format!("the field {name} is no record but {}", types.show(ty))));
    };
    let inside = target.inside.get_or_insert_with(|| inner.iter().map(|_| Wanted::default()).collect());
    want(types, ty, inside, column, c, &path[1..])
}

/// How a value of a type becomes a value of a column's type.
pub(super) fn read_type(types: &Types, ty: TypeId, wanted: &LogicalType) -> Result<Read, String> {
    read(types, ty, wanted, 0)
}

fn read(types: &Types, ty: TypeId, wanted: &LogicalType, depth: usize) -> Result<Read, String> {
    use LogicalType as T;
    if depth > super::DEPTH_MAX {
        return Err("the type is nested too deeply".into());
    }
    let misfit = || Err(format!("Avro's {} cannot become {wanted}", types.show(ty)));
    match (types.get(ty), wanted) {
        (Type::Union(branches), _) => {
            let reads: Vec<_> = branches.iter().map(|b| read(types, *b, wanted, depth + 1)).collect();
            let values = branches.iter().zip(&reads).filter(|(b, _)| *types.get(**b) != Type::Null);
            match values.clone().all(|(_, r)| r.is_err()).then(|| values.clone().next()).flatten() {
                Some((_, Err(why))) => Err(why.clone()),
                _ => Ok(Read::Union(reads)),
            }
        }
        (Type::Array(item), T::Array(wanted)) => Ok(Read::List(Box::new(read(types, *item, wanted, depth + 1)?))),
        (Type::Map(value), T::Map(key, wanted)) if key.is_text() => {
            Ok(Read::Map(Box::new(read(types, *value, wanted, depth + 1)?)))
        }
        (Type::Record(fields), T::Row(members)) => {
            let mut reads = Vec::with_capacity(fields.len());
            for field in fields {
                let member = members.iter().position(|(name, _)| *name == field.name);
                reads.push(match member {
                    Some(m) => Some((
                        m,
                        read(types, field.ty, &members[m].1, depth + 1).map_err(|e| format!("{}: {e}", field.name))?,
                    )),
                    None => None,
                });
            }
            let found = |m: &usize| reads.iter().flatten().any(|(member, _)| member == m);
            let lacking: Vec<usize> = (0..members.len()).filter(|m| !found(m)).collect();
            Ok(Read::Row(reads, lacking))
        }
        (Type::Null, _) => Ok(Read::Plain),
        (a, t) if plain_fits(a, t) => Ok(Read::Plain),
        _ => misfit(),
    }
}

/// Whether a plain Avro value can become a value of the type, as far as the types say.
fn plain_fits(from: &Type, to: &LogicalType) -> bool {
    use LogicalType as T;
    match from {
        Type::Boolean => matches!(to, T::Boolean) || to.is_text(),
        Type::Int | Type::Long => {
            to.is_numeric()
                || to.is_text()
                || matches!((from, to), (Type::Int, T::Date | T::Time(_)))
                || matches!((from, to), (Type::Long, T::Timestamp(_) | T::TimestampLtz(_)))
        }
        Type::Float | Type::Double => matches!(to, T::Float | T::Double) || to.is_text(),
        Type::Bytes | Type::Fixed(_) => matches!(to, T::Binary(_) | T::Varbinary(_)),
        Type::String => to.is_text() || matches!(to, T::Binary(_) | T::Varbinary(_)),
        Type::Enum(_) => to.is_text(),
        Type::Decimal { .. } => matches!(to, T::Decimal(..)) || to.is_text(),
        Type::Date => matches!(to, T::Date),
        Type::Time(_) => matches!(to, T::Time(_)),
        Type::Timestamp(_) => matches!(to, T::Timestamp(_) | T::TimestampLtz(_)),
        Type::Null | Type::Array(_) | Type::Map(_) | Type::Union(_) | Type::Record(_) => false,
    }
}
