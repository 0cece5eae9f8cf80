//! Rows that are written, and operations on them.

use crate::encode;
use crate::error::{Error, Result};
use crate::pb::kudu::row_operations_pb::Type as OpType;
use crate::schema::Schema;
use crate::value::Value;
use std::fmt;

/// A row of a table in which some columns are set. A column that is not set takes its default, or keeps its value.
#[derive(Clone, PartialEq)]
pub struct Row {
    schema: Schema,
    cells: Vec<Option<Value>>,
}

/// A column by its place or its name.
pub trait ColumnRef {
    fn resolve(&self, schema: &Schema) -> Result<usize>;
}

impl ColumnRef for usize {
    fn resolve(&self, schema: &Schema) -> Result<usize> {
        match *self < schema.columns().len() {
            true => Ok(*self),
            false => Err(Error::invalid(format!("there is no column {self}, there are {}", schema.columns().len()))),
        }
    }
}

impl ColumnRef for &str {
    fn resolve(&self, schema: &Schema) -> Result<usize> {
        schema.index_of(self)
    }
}

impl ColumnRef for &String {
    fn resolve(&self, schema: &Schema) -> Result<usize> {
        schema.index_of(self)
    }
}

impl Row {
    pub fn new(schema: &Schema) -> Self {
        Self { schema: schema.clone(), cells: vec![None; schema.columns().len()] }
    }
    /// Sets a column. The value must fit the column's type as it is: nothing is cut or rounded.
    pub fn set(&mut self, column: impl ColumnRef, value: impl Into<Value>) -> Result<&mut Self> {
        let i = column.resolve(&self.schema)?;
        self.cells[i] = Some(value.into().fit(&self.schema.columns()[i])?);
        Ok(self)
    }
    /// For bounds, which may lie between the values that a column can have.
    pub(crate) fn set_unchecked(&mut self, column: usize, value: Value) {
        self.cells[column] = Some(value);
    }
    /// As `set`, for chains.
    pub fn with(mut self, column: impl ColumnRef, value: impl Into<Value>) -> Result<Self> {
        self.set(column, value)?;
        Ok(self)
    }
    pub fn unset(&mut self, column: impl ColumnRef) -> Result<&mut Self> {
        let i = column.resolve(&self.schema)?;
        self.cells[i] = None;
        Ok(self)
    }
    /// What is set; NULL is a value.
    pub fn get(&self, column: impl ColumnRef) -> Result<Option<&Value>> {
        Ok(self.cells[column.resolve(&self.schema)?].as_ref())
    }
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
    pub(crate) fn cells(&self) -> &[Option<Value>] {
        &self.cells
    }
    /// The primary key as the servers order rows by it.
    pub fn encoded_key(&self) -> Result<Vec<u8>> {
        encode::primary_key(self)
    }
    /// About what the row takes in a request.
    pub(crate) fn size(&self) -> usize {
        let set = self.cells.iter().zip(self.schema.columns()).filter(|(c, _)| c.is_some());
        16 + set.map(|(c, s)| s.data_type.cell_size() + c.as_ref().map_or(0, Value::bytes_len)).sum::<usize>()
    }
    /// The key columns in words.
    pub(crate) fn describe_key(&self) -> String {
        let keys = self.schema.key_columns().iter().zip(&self.cells);
        let parts: Vec<_> = keys
            .map(|(c, v)| match v {
                Some(v) => format!("{}={v}", c.name),
                None => format!("{}=?", c.name),
            })
            .collect();
        format!("({})", parts.join(", "))
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut map = f.debug_map();
        for (c, v) in self.schema.columns().iter().zip(&self.cells) {
            if let Some(v) = v {
                map.entry(&c.name, v);
            }
        }
        map.finish()
    }
}

/// What is done with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// An error of the row when the key is there.
    Insert,
    /// Insert, or update of the columns that are set.
    Upsert,
    /// An error of the row when the key is not there.
    Update,
    /// By key; other columns that are set are left out. An error of the row when the key is not there.
    Delete,
    /// As `Insert`; nothing happens when the key is there.
    InsertIgnore,
    /// As `Update`; nothing happens when the key is not there.
    UpdateIgnore,
    /// As `Delete`; nothing happens when the key is not there.
    DeleteIgnore,
    /// As `Upsert`; new values of immutable columns are ignored.
    UpsertIgnore,
}

impl OpKind {
    pub(crate) fn wire(self) -> OpType {
        match self {
            Self::Insert => OpType::Insert,
            Self::Upsert => OpType::Upsert,
            Self::Update => OpType::Update,
            Self::Delete => OpType::Delete,
            Self::InsertIgnore => OpType::InsertIgnore,
            Self::UpdateIgnore => OpType::UpdateIgnore,
            Self::DeleteIgnore => OpType::DeleteIgnore,
            Self::UpsertIgnore => OpType::UpsertIgnore,
        }
    }
    pub(crate) fn by_key(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteIgnore)
    }
    pub(crate) fn is_ignore(self) -> bool {
        matches!(self, Self::InsertIgnore | Self::UpdateIgnore | Self::DeleteIgnore | Self::UpsertIgnore)
    }
}

/// Found before a row is sent: what the servers would refuse the row, or the whole batch, for.
pub(crate) fn check(kind: OpKind, row: &Row) -> Result<()> {
    let schema = row.schema();
    for (c, v) in schema.columns().iter().zip(row.cells()) {
        let needed = match kind {
            OpKind::Insert | OpKind::InsertIgnore | OpKind::Upsert | OpKind::UpsertIgnore => {
                !c.nullable && c.default.is_none() && !c.auto_incrementing
            }
            _ => c.key,
        };
        if v.is_none() && needed {
            return Err(Error::Row {
                status: crate::StatusCode::InvalidArgument,
                message: format!("{kind:?} of a row without a value for the column `{}`", c.name),
            });
        }
        if v.is_some() && c.auto_incrementing && matches!(kind, OpKind::Insert | OpKind::InsertIgnore) {
            return Err(Error::Row {
                status: crate::StatusCode::InvalidArgument,
                message: format!("{kind:?} of a row with a value for the auto-incrementing column `{}`", c.name),
            });
        }
    }
    let values = row.cells()[schema.key_count()..].iter().filter(|c| c.is_some()).count();
    if matches!(kind, OpKind::Update | OpKind::UpdateIgnore) && values == 0 {
        return Err(Error::Row {
            status: crate::StatusCode::InvalidArgument,
            message: format!("{kind:?} of a row in which no column but the key is set"),
        });
    }
    Ok(())
}
