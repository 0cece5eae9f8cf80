//! Conditions of the query that Kudu applies. Values are of the column's own type there, so they mean the same.

use super::cluster::Cluster;
use super::types::to_kudu;
use crate::connectors::api::TableContext;
use crate::connectors::predicate::{Comparison, Predicate, Pushdown, Test};
use crate::data::LogicalType;
use crate::error::{Error, Result};
use kudu_rs::{Compare, DataType, Table, Value};

/// Taken where the order and the equality of values are the same there as here. What a column is in Kudu is not known
/// yet, and a value that it cannot hold selects nothing: the engine applies all of it once more.
pub fn pushdown(cx: &TableContext, predicate: &Predicate) -> Pushdown {
    use LogicalType as T;
    let column = cx.schema.columns.iter().find(|c| c.name == predicate.column);
    let plain = |t: &LogicalType| {
        matches!(t, T::Boolean | T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Varchar(_) | T::Date)
    };
    match (column.map(|c| &c.logical_type), &predicate.test) {
        (None, _) | (_, Test::Compare(Comparison::NotEqual, _)) => Pushdown::No,
        (Some(_), Test::IsNull | Test::IsNotNull) => Pushdown::Inexact,
        (Some(t), _) if plain(t) => Pushdown::Inexact,
        _ => Pushdown::No,
    }
}

/// The conditions for a scan of this table; None: no row can meet them.
pub fn predicates(
    cluster: &Cluster,
    cx: &[Predicate],
    schema: &crate::data::TableSchema,
    table: &Table,
    places: &[usize],
    zone: chrono_tz::Tz,
) -> Result<Option<Vec<kudu_rs::Predicate>>> {
    let mut all = Vec::with_capacity(cx.len());
    for p in cx {
        let Some(at) = schema.index_of(&p.column) else { continue };
        let column = &table.schema().columns()[places[at]];
        let name = column.name.as_str();
        let value = |values: &arrow::array::ArrayRef, row: usize| {
            to_kudu(values, row, column.data_type, zone)
                .map_err(|why| Error::user(format!("table {}: column {}: {why}", cluster.table, p.column)))
        };
        match &p.test {
            Test::IsNull => all.push(kudu_rs::Predicate::is_null(name)),
            Test::IsNotNull => all.push(kudu_rs::Predicate::is_not_null(name)),
            Test::In(values) => {
                let mut fitting = Vec::with_capacity(values.len());
                for row in 0..values.len() {
                    let v = value(values, row)?;
                    if holds(column.data_type, &v) {
                        fitting.push(v);
                    }
                }
                if fitting.is_empty() {
                    return Ok(None);
                }
                all.push(kudu_rs::Predicate::is_in(name, fitting));
            }
            Test::Compare(op, values) => {
                let v = value(values, 0)?;
                let compare = match op {
                    Comparison::Equal => Compare::Equal,
                    Comparison::Less => Compare::Less,
                    Comparison::LessOrEqual => Compare::LessOrEqual,
                    Comparison::Greater => Compare::Greater,
                    Comparison::GreaterOrEqual => Compare::GreaterOrEqual,
                    Comparison::NotEqual => continue,
                };
                match (holds(column.data_type, &v), compare) {
                    (true, _) => all.push(kudu_rs::Predicate::compare(name, compare, v)),
                    (false, Compare::Equal) => return Ok(None),
                    // A bound that the column cannot hold: the engine applies it.
                    (false, _) => {}
                }
            }
        }
    }
    Ok(Some(all))
}

/// Whether the column can hold the value at all: an integer that is too large for it is in no row.
fn holds(column: DataType, value: &Value) -> bool {
    match (column, value) {
        (DataType::Int8, Value::Int64(v)) => i8::try_from(*v).is_ok(),
        (DataType::Int16, Value::Int64(v)) => i16::try_from(*v).is_ok(),
        (DataType::Int32, Value::Int64(v)) => i32::try_from(*v).is_ok(),
        (DataType::Varchar { length }, Value::String(s)) => s.chars().count() <= usize::from(length),
        _ => true,
    }
}
