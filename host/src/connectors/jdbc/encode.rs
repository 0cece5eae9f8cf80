//! Waiting rows as statements with their values.

use super::changes::{Changes, RowRef};
use super::sink::{Known, Target};
use super::statements::NullPolicy;
use super::types::Value;
use super::values::value;
use crate::connectors::api::FailedRow;
use crate::data::{Reason, RowError};
use crate::formats::Cell;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Delete,
    Write,
}

/// Rows that one statement can hold, with their values.
pub struct Statement<'a> {
    pub action: Action,
    pub width: usize,
    pub rows: Vec<RowRef>,
    pub values: Vec<Value<'a>>,
    pub bytes: usize,
}

/// A part of a statement.
#[derive(Clone)]
pub struct Piece<'a> {
    pub of: &'a Statement<'a>,
    pub rows: Range<usize>,
}

impl Piece<'_> {
    pub fn values(&self) -> &[Value<'_>] {
        &self.of.values[self.rows.start * self.of.width..self.rows.end * self.of.width]
    }
    pub fn halves(&self) -> [Self; 2] {
        let middle = self.rows.start + self.rows.len() / 2;
        [Piece { of: self.of, rows: self.rows.start..middle }, Piece { of: self.of, rows: middle..self.rows.end }]
    }
}

/// Makes statements of rows.
pub struct Encoder<'a, 'f> {
    pub target: &'a Target,
    pub known: &'a Known,
    pub changes: &'a Changes,
    pub cells: &'a [Vec<Cell<'a>>],
    pub statements: Vec<Statement<'a>>,
    pub failed: &'f mut Vec<FailedRow>,
}

impl<'a> Encoder<'a, '_> {
    pub fn add(&mut self, action: Action, rows: &[RowRef], columns: &[usize]) {
        for &row in rows {
            match self.values(row, columns) {
                Err(error) => self.failed.push(FailedRow { origin: self.changes.origin(row), error }),
                Ok((values, bytes)) => self.push(action, row, values, bytes),
            }
        }
    }

    fn values(&self, row: RowRef, columns: &[usize]) -> Result<(Vec<Value<'a>>, usize), RowError> {
        let mut values = Vec::with_capacity(columns.len());
        for &column in columns {
            let value = self.value(row, column).map_err(|message| {
                RowError::new(0, Reason::Encode, message).column(&self.target.schema.columns[column].name)
            })?;
            values.push(value);
        }
        let bytes = values.iter().map(Value::bytes).sum();
        if bytes > self.known.statement_bytes_max {
            let message = format!("has {bytes} bytes; the server takes {} at once", self.known.statement_bytes_max);
            return Err(RowError::new(0, Reason::TooLarge, message));
        }
        Ok((values, bytes))
    }

    /// The value of a row, or where NULL keeps what is there, of the last row of its key that has one.
    fn value(&self, row: RowRef, column: usize) -> Result<Value<'a>, String> {
        let cell = &self.cells[row.batch as usize][column];
        if cell.is_null(row.row as usize) && self.target.null_policy == NullPolicy::Keep {
            let mut at = self.changes.earlier(row);
            while let Some(earlier) = at {
                let cell = &self.cells[earlier.batch as usize][column];
                if !cell.is_null(earlier.row as usize) {
                    return self.checked(cell, earlier.row, column);
                }
                at = self.changes.earlier(earlier);
            }
        }
        self.checked(cell, row.row, column)
    }

    fn checked(&self, cell: &Cell<'a>, row: u32, column: usize) -> Result<Value<'a>, String> {
        let statements = &self.known.statements;
        let value = value(cell, row as usize, statements.columns[column].kind)?;
        statements.check_value(column, &value)?;
        Ok(value)
    }

    fn push(&mut self, action: Action, row: RowRef, values: Vec<Value<'a>>, bytes: usize) {
        let (rows_max, bytes_max) = (self.known.rows_per_statement, self.known.statement_bytes_max);
        let width = values.len();
        match self.statements.last_mut() {
            Some(s) if s.action == action && s.rows.len() < rows_max && s.bytes + bytes <= bytes_max => {
                s.rows.push(row);
                s.values.extend(values);
                s.bytes += bytes;
            }
            _ => self.statements.push(Statement { action, width, rows: vec![row], values, bytes }),
        }
    }
}
