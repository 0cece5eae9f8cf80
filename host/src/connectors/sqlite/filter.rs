//! Conditions of the query in SQLite's SQL. A column holds values of any class: the condition speaks of those of the
//! class that the job's type is stored in, and lets all others through. The engine applies it once more.

use super::connection::{Location, quoted};
use super::values::bind;
use crate::connectors::api::TableContext;
use crate::connectors::predicate::{Comparison, Predicate, Pushdown, Test};
use crate::data::{LogicalType, TableSchema};
use crate::error::{Error, Result};
use crate::formats::Cell;
use arrow::array::ArrayRef;
use sqlx::sqlite::SqliteArguments;

pub fn pushdown(cx: &TableContext, predicate: &Predicate) -> Pushdown {
    let column = cx.schema.columns.iter().find(|c| c.name == predicate.column);
    match (column.and_then(|c| class(&c.logical_type)), &predicate.test) {
        (Some("text"), Test::Compare(op, _)) if *op != Comparison::Equal => Pushdown::No,
        (Some(_), _) => Pushdown::Inexact,
        // Whatever its class.
        (None, Test::IsNull | Test::IsNotNull) if column.is_some() => Pushdown::Inexact,
        (None, _) => Pushdown::No,
    }
}

/// The class of a type whose values compare there as here. Dates and decimals are texts, in any spelling.
fn class(t: &LogicalType) -> Option<&'static str> {
    use LogicalType as T;
    match t {
        T::TinyInt | T::SmallInt | T::Int | T::BigInt => Some("integer"),
        T::Double => Some("real"),
        // A column's own collation may make more texts equal.
        T::Char(_) | T::Varchar(_) => Some("text"),
        _ => None,
    }
}

/// The conditions, and their parameters in order.
#[derive(Clone, Default)]
pub struct Filter {
    pub conditions: Vec<String>,
    values: Vec<ArrayRef>,
}

impl Filter {
    pub fn new(schema: &TableSchema, location: &Location, predicates: &[Predicate]) -> Self {
        let mut filter = Self::default();
        for p in predicates {
            let Some(at) = schema.index_of(&p.column) else { continue };
            let column = format!("{}.{}", quoted(&location.name), quoted(&location.columns[at]));
            let test = match &p.test {
                Test::Compare(op, _) => format!("{} ?", op.as_sql()),
                Test::In(values) => format!("IN ({})", vec!["?"; values.len()].join(", ")),
                Test::IsNull => "IS NULL".to_string(),
                Test::IsNotNull => "IS NOT NULL".to_string(),
            };
            match (p.test.values(), class(&schema.columns[at].logical_type)) {
                (Some(values), Some(class)) => {
                    filter.values.push(values.clone());
                    let others = format!("typeof({column}) NOT IN ('{class}', 'null')");
                    filter.conditions.push(format!("({column} {test} OR {others})"));
                }
                (Some(_), None) => {}
                (None, _) => filter.conditions.push(format!("{column} {test}")),
            }
        }
        filter
    }

    /// Adds the parameters behind those that are there.
    pub fn bind(&self, arguments: &mut SqliteArguments) -> Result<()> {
        for values in &self.values {
            let cell = Cell::new(values)?;
            for row in 0..values.len() {
                bind(arguments, &cell, row).map_err(Error::internal)?;
            }
        }
        Ok(())
    }
}
