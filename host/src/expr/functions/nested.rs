//! Parts of nested values.

use super::{Binding, Builtin, Call, PURE, types};
use arrow::array::{Array, ArrayRef, AsArray, StructArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$field", coerce, returns: field_type, eval: field, ..PURE },
    Builtin { name: "row", coerce: row_args, returns: row_type, eval: row, ..PURE },
];

fn row_args(types: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    if types.is_empty() {
        return Err("takes at least one value".to_string());
    }
    Ok(types.iter().map(|t| if *t == DataType::Null { DataType::Utf8 } else { t.clone() }).collect())
}

/// The fields are called as Flink calls columns without a name.
fn row_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let field = |(i, t): (usize, &DataType)| Field::new(format!("EXPR${i}"), t.clone(), true);
    Ok(DataType::Struct(binding.types.iter().enumerate().map(field).collect()))
}

fn row(call: &Call<'_>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = call.returns else { return call.internal("was planned for another type") };
    let columns = (0..call.arg_count()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

fn coerce(types: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match types {
        [row @ DataType::Struct(_), DataType::Utf8] => Ok(vec![row.clone(), DataType::Utf8]),
        [other, _] => Err(format!("{} has no fields", types::name(other))),
        _ => Err("expects a ROW and the name of a field".to_string()),
    }
}

fn field_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let name = binding.text(1).unwrap_or_default();
    match binding.types.first() {
        Some(DataType::Struct(fields)) => match fields.iter().find(|f| f.name() == name) {
            Some(f) => Ok(f.data_type().clone()),
            None => {
                let known: Vec<&str> = fields.iter().map(|f| f.name().as_str()).collect();
                Err(format!("the ROW has no field {name}; its fields are {}", known.join(", ")))
            }
        },
        _ => Err("only a ROW has fields".to_string()),
    }
}

/// A field of a NULL row is NULL.
fn field(call: &Call<'_>) -> Result<ArrayRef> {
    let row = call.array(0)?;
    let Some(name) = call.texts(1)?.get(0) else { return call.internal("lost the field's name") };
    let row = row.as_struct();
    let Some(values) = row.column_by_name(name) else { return call.internal("lost the field") };
    let nulls = NullBuffer::union(row.nulls(), values.nulls());
    Ok(make_array(values.to_data().into_builder().nulls(nulls).build()?))
}
