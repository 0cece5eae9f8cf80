//! Functions that choose among values.

use super::{Builtin, Call, PURE, types};
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::{is_not_null, kernels::zip::zip};
use datafusion_common::Result;

pub(super) const FUNCTIONS: &[Builtin] =
    &[Builtin { name: "coalesce", coerce: types::common, returns: types::as_first, eval: coalesce, ..PURE }];

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
