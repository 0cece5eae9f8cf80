//! Making JSON text. The first argument of JSON_OBJECT and JSON_ARRAY is written by `sql::special_forms`: NULL or
//! ABSENT, a colon, and for each value `1` if it is JSON already, else `0`.

use super::types::{self, Arg};
use super::{Builtin, Call, PURE};
use crate::data::Reason;
use crate::expr::json_text::{JsonColumn, joined, push_quoted};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use datafusion_common::Result;
use std::collections::BTreeMap;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "json_string", coerce: |t| types::signature(t, &[Arg::Any], 1), eval: string, ..PURE },
    Builtin { name: "json_object", fallible: true, coerce: object_args, eval: object, ..PURE },
    Builtin { name: "json_array", fallible: true, coerce: array_args, eval: array, ..PURE },
];

/// Any value as JSON; NULL stays NULL.
fn string(call: &Call<'_>) -> Result<ArrayRef> {
    let column = JsonColumn::new(&call.array(0)?, false, call.time_zone)?;
    call.text_rows(|i, out| {
        if column.is_null(i) {
            return None;
        }
        column.push(i, out);
        Some(())
    })
}

fn object_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let [mode, entries @ ..] = args else { return Err("takes keys and values".to_string()) };
    let mut coerced = vec![mode.clone()];
    for pair in entries.chunks(2) {
        let [key, value] = pair else { return Err("takes keys and values in pairs".to_string()) };
        if !types::is_text(key) {
            return Err(format!("takes text as keys, not {}", types::name(key)));
        }
        coerced.extend([DataType::Utf8, value.clone()]);
    }
    Ok(coerced)
}

fn array_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    Ok(args.to_vec())
}

/// A value, and its text where that is raw JSON, which has to be sound.
type BuildValue = (JsonColumn, Option<ArrayRef>);

/// Whether NULLs are left out, and the values (arguments by index); raw ones must be JSON.
fn values(call: &Call<'_>, indexes: impl Iterator<Item = usize>) -> Result<(bool, Vec<BuildValue>)> {
    let Some((mode, raw)) = call.texts(0)?.get(0).and_then(|t| t.split_once(':')) else {
        return call.internal("lost its mode");
    };
    let raw: Vec<bool> = raw.bytes().map(|b| b == b'1').collect();
    let read = |(n, index): (usize, usize)| {
        let column = call.array(index)?;
        let raw = raw.get(n).copied().unwrap_or(false);
        let checked = (raw && *column.data_type() == DataType::Utf8).then(|| column.clone());
        Ok((JsonColumn::new(&column, raw, call.time_zone)?, checked))
    };
    let columns = indexes.enumerate().map(read).collect::<Result<Vec<_>>>()?;
    Ok((mode == "ABSENT", columns))
}

/// A raw value that is no JSON refuses the row.
fn is_sound(call: &Call<'_>, row: usize, columns: &[BuildValue]) -> bool {
    let broken = columns.iter().filter_map(|(_, raw)| raw.as_ref()).find_map(|raw| {
        let text = raw.is_valid(row).then(|| raw.as_string::<i32>().value(row))?;
        serde_json::from_str::<serde::de::IgnoredAny>(text).err()
    });
    if let Some(e) = &broken {
        call.fail(row, Reason::Cast, format!("the text for JSON(..) is no JSON: {e}"));
    }
    broken.is_none()
}

/// Members sorted by key, as Flink sorts them; of equal keys the last counts. A NULL key refuses the row.
fn object(call: &Call<'_>) -> Result<ArrayRef> {
    let pairs = (call.arg_count() - 1) / 2;
    let keys = (0..pairs).map(|n| call.texts(2 * n + 1)).collect::<Result<Vec<_>>>()?;
    let (absent, columns) = values(call, (0..pairs).map(|n| 2 * n + 2))?;
    call.text_rows(|i, out| {
        if !is_sound(call, i, &columns) {
            return None;
        }
        let mut members = BTreeMap::new();
        for (key, (column, _)) in keys.iter().zip(&columns) {
            let Some(key) = key.get(i) else {
                call.fail(i, Reason::NotNull, "a key of an object is NULL");
                return None;
            };
            if !(absent && column.is_null(i)) {
                members.insert(key, column);
            }
        }
        joined('{', '}', members, out, |(key, column), out| {
            push_quoted(key, out);
            out.push(':');
            column.push(i, out);
        });
        Some(())
    })
}

fn array(call: &Call<'_>) -> Result<ArrayRef> {
    let (absent, columns) = values(call, 1..call.arg_count())?;
    call.text_rows(|i, out| {
        if !is_sound(call, i, &columns) {
            return None;
        }
        let shown = columns.iter().filter(|(column, _)| !(absent && column.is_null(i)));
        joined('[', ']', shown, out, |(column, _), out| column.push(i, out));
        Some(())
    })
}
