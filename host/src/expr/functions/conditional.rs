//! Functions that choose among values.

use super::{Binding, Builtin, Call, PURE, types};
use arrow::array::{Array, ArrayRef, StringArray, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::cmp::{gt, lt};
use arrow::compute::{is_not_null, kernels::zip::zip};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "coalesce", coerce: types::common, returns: types::as_first, eval: coalesce, ..PURE },
    Builtin { name: "greatest", coerce: comparable, returns: types::as_first, eval: |c| extreme(c, true), ..PURE },
    Builtin { name: "least", coerce: comparable, returns: types::as_first, eval: |c| extreme(c, false), ..PURE },
    Builtin { name: "typeof", coerce: typeof_args, returns: typeof_type, eval: type_of, ..PURE },
];

/// The first value that is not NULL. Compiled expressions evaluate later arguments only where they are needed
/// (`expr::lazy`); this form, with all of them at hand, serves constants.
fn coalesce(call: &Call<'_>) -> Result<ArrayRef> {
    let mut result = new_null_array(call.returns, call.rows);
    for i in 0..call.arg_count() {
        if result.logical_null_count() == 0 {
            break;
        }
        result = zip(&is_not_null(&result)?, &result, &call.array(i)?)?;
    }
    Ok(result)
}

fn comparable(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let coerced = types::common(args)?;
    match coerced.first() {
        Some(t) if t.is_nested() => Err(format!("cannot compare values of {}", types::name(t))),
        _ => Ok(coerced),
    }
}

/// The greatest or least; NULL if one is NULL.
fn extreme(call: &Call<'_>, greatest: bool) -> Result<ArrayRef> {
    let mut result = call.array(0)?;
    let mut nulls = result.nulls().cloned();
    for i in 1..call.arg_count() {
        let other = call.array(i)?;
        nulls = NullBuffer::union(nulls.as_ref(), other.nulls());
        let keep = if greatest { gt(&result, &other)? } else { lt(&result, &other)? };
        result = zip(&keep, &result, &other)?;
    }
    if *result.data_type() == DataType::Null {
        return Ok(result);
    }
    Ok(arrow::array::make_array(result.to_data().into_builder().nulls(nulls).build()?))
}

fn typeof_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    types::signature(args, &[types::Arg::Any, types::Arg::Boolean], 1)
}

fn typeof_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    types::text(binding)
}

/// The name of the argument's type. (Flink adds NOT NULL where it knows; types here do not carry that.)
fn type_of(call: &Call<'_>) -> Result<ArrayRef> {
    let name = types::name(call.array(0)?.data_type());
    Ok(Arc::new(StringArray::from(vec![name; call.rows])))
}
