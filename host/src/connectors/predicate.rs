//! Conditions of a query that a connector may hand to the outside: a column against values of its own type.
//!
//! Several of them are joined by AND. What is handed out must mean there what it means here: a connector that would keep
//! *fewer* rows must not take a condition; one that may keep *more* takes it as [`Pushdown::Inexact`].

use crate::formats::{Cell, Spelling};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::fmt;

/// `column op value`, `column IN (values)`, `column IS [NOT] NULL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    /// Of the table's schema, by its name in the job.
    pub column: String,
    pub test: Test,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// With the only value of the array, which is not NULL and has the column's type.
    Compare(Comparison, ArrayRef),
    /// Any of the values, none of which is NULL.
    In(ArrayRef),
    IsNull,
    IsNotNull,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub fn as_sql(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }

    /// Of the same comparison with its sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }
}

/// What a connector does with a condition that it was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushdown {
    /// Not applied: the engine does.
    No,
    /// Applied, but rows may come that do not meet it: the engine applies it, too.
    Inexact,
    /// Exactly the rows that meet it come.
    Exact,
}

impl Test {
    /// The values that it compares with.
    pub fn values(&self) -> Option<&ArrayRef> {
        match self {
            Test::Compare(_, values) | Test::In(values) => Some(values),
            Test::IsNull | Test::IsNotNull => None,
        }
    }
}

/// For EXPLAIN: `id > 5`, `city IN ('a', 'b')`.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.test {
            Test::Compare(op, value) => write!(f, "{} {} {}", self.column, op.as_sql(), shown(value)),
            Test::In(values) => write!(f, "{} IN ({})", self.column, shown(values)),
            Test::IsNull => write!(f, "{} IS NULL", self.column),
            Test::IsNotNull => write!(f, "{} IS NOT NULL", self.column),
        }
    }
}

/// In a list of more values the rest is left out.
const SHOWN_MAX: usize = 20;

fn shown(values: &ArrayRef) -> String {
    let Ok(cell) = Cell::new(values) else { return "?".into() };
    let plain = values.data_type().is_numeric() || *values.data_type() == DataType::Boolean;
    let mut all: Vec<String> = (0..values.len().min(SHOWN_MAX)).map(|row| literal(&cell, row, plain)).collect();
    if values.len() > SHOWN_MAX {
        all.push("..".into());
    }
    all.join(", ")
}

fn literal(cell: &Cell<'_>, row: usize, plain: bool) -> String {
    let mut text = Vec::new();
    if cell.write_text(row, Spelling::SQL, &mut text).is_err() {
        return "?".into();
    }
    let text = String::from_utf8_lossy(&text);
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}
