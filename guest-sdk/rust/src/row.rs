//! A row as formatters see it.

use crate::args::Arg;
use crate::show::show;
use wasmill_abi::{Column, Type};

/// What a row does to the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Insert,
    UpdateBefore,
    UpdateAfter,
    Delete,
}

impl RowKind {
    pub(crate) fn from_byte(byte: u8) -> RowKind {
        match byte {
            1 => RowKind::UpdateBefore,
            2 => RowKind::UpdateAfter,
            3 => RowKind::Delete,
            _ => RowKind::Insert,
        }
    }
}

/// One row of the sink's table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(crate) columns: &'a [Column<'a>],
    pub(crate) index: usize,
    pub(crate) kind: RowKind,
}

impl<'a> Row<'a> {
    /// Number of columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    pub fn kind(&self) -> RowKind {
        self.kind
    }

    /// A column's name; empty outside of the row.
    pub fn name(&self, column: usize) -> &'a str {
        self.columns.get(column).map_or("", |c| &c.field.name)
    }

    pub fn column_type(&self, column: usize) -> Option<&'a Type> {
        self.columns.get(column).map(|c| &c.field.ty)
    }

    /// The place of the column with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.field.name == name)
    }

    pub fn is_null(&self, column: usize) -> bool {
        self.columns.get(column).is_none_or(|c| !c.is_valid(self.index))
    }

    /// A value as a Rust type; None when it is NULL or of another type.
    pub fn get<T: Arg<'a>>(&self, column: usize) -> Option<T> {
        let column = self.columns.get(column)?;
        let wanted: Type = T::sql().parse().ok()?;
        let same_layout = wanted.code() == column.field.ty.code()
            || wanted.wire() == column.field.ty.wire()
                && wanted.is_text() == column.field.ty.is_text()
                && wanted.children().is_empty()
                && matches!(wanted, Type::Varchar(_) | Type::Varbinary(_));
        if !same_layout || T::REQUIRED && !column.is_valid(self.index) {
            return None;
        }
        Some(T::read(&T::reader(column, column.len), self.index))
    }

    /// A value as SQL shows it; NULL is empty.
    pub fn text(&self, column: usize) -> String {
        self.columns.get(column).map_or(String::new(), |c| show(c, self.index))
    }
}
