//! Parts of nested values.

use super::{Binding, Builtin, Call, PURE, types};
use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use datafusion_common::Result;

pub(super) const FUNCTIONS: &[Builtin] =
    &[Builtin { name: "$field", coerce, returns: field_type, eval: field, ..PURE }];

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
