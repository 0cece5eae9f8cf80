//! Functions over arrays. Positions count from 1; two NULL elements are equal.

use super::call::at;
use super::pool::Pool;
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, new_empty_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::Result;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

const ARRAY: Builtin = Builtin { coerce: |t| types::signature(t, &[Arg::Array], 1), returns: types::as_first, ..PURE };
const WITH_ELEMENT: Builtin = Builtin { coerce: array_and_element, returns: types::as_first, ..PURE };
const TWO_ARRAYS: Builtin = Builtin { coerce: arrays_alike, returns: types::as_first, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$array", coerce: types::common, returns: array_type, eval: array, ..PURE },
    Builtin {
        name: "cardinality",
        coerce: |t| types::signature(t, &[Arg::Any], 1),
        returns: cardinality_type,
        eval: cardinality,
        ..PURE
    },
    Builtin { name: "element", fallible: true, returns: element_type, eval: sole, ..ARRAY },
    Builtin { name: "array_contains", returns: types::boolean, eval: contains, ..WITH_ELEMENT },
    Builtin { name: "array_position", returns: types::int, eval: position, ..WITH_ELEMENT },
    Builtin { name: "array_remove", eval: remove, ..WITH_ELEMENT },
    Builtin { name: "array_append", eval: |c| extend(c, false), ..WITH_ELEMENT },
    Builtin { name: "array_prepend", eval: |c| extend(c, true), ..WITH_ELEMENT },
    Builtin { name: "array_distinct", eval: |c| united(c, 1), ..ARRAY },
    Builtin { name: "array_union", eval: |c| united(c, 2), ..TWO_ARRAYS },
    Builtin { name: "array_except", eval: |c| filtered(c, false), ..TWO_ARRAYS },
    Builtin { name: "array_intersect", eval: |c| filtered(c, true), ..TWO_ARRAYS },
    Builtin { name: "array_concat", coerce: many_arrays, eval: concat, ..TWO_ARRAYS },
    Builtin { name: "array_reverse", eval: reverse, ..ARRAY },
    Builtin {
        name: "array_slice",
        coerce: |t| types::signature(t, &[Arg::Array, Arg::Int, Arg::Int], 2),
        eval: slice,
        ..ARRAY
    },
    Builtin {
        name: "array_sort",
        coerce: |t| types::signature(t, &[Arg::Array, Arg::Boolean, Arg::Boolean], 1),
        eval: sort,
        ..ARRAY
    },
    Builtin { name: "array_max", returns: element_type, eval: |c| extreme(c, Ordering::Greater), ..ARRAY },
    Builtin { name: "array_min", returns: element_type, eval: |c| extreme(c, Ordering::Less), ..ARRAY },
    Builtin { name: "array_join", coerce: join_args, eval: join, ..PURE },
];

type Coerced = std::result::Result<Vec<DataType>, String>;
type Returns = std::result::Result<DataType, String>;

fn array_type(binding: &Binding<'_>) -> Returns {
    Ok(types::array_of(match types::as_first(binding)? {
        DataType::Null => DataType::Utf8,
        t => t,
    }))
}

fn element_type(binding: &Binding<'_>) -> Returns {
    let first = types::as_first(binding)?;
    types::element(&first).cloned().ok_or_else(|| format!("takes an array, not {}", types::name(&first)))
}

fn cardinality_type(binding: &Binding<'_>) -> Returns {
    match types::as_first(binding)? {
        DataType::List(_) | DataType::Map(..) | DataType::Null => Ok(DataType::Int32),
        t => Err(format!("takes an array or a map, not {}", types::name(&t))),
    }
}

/// An array and a value of its elements' type, or one that can become such.
fn array_and_element(args: &[DataType]) -> Coerced {
    let coerced = types::signature(args, &[Arg::Array, Arg::Any], 2)?;
    match (types::element(&coerced[0]), &coerced[1]) {
        (Some(element), given) if types::merge(element, given).is_some() => Ok(vec![args[0].clone(), element.clone()]),
        (_, given) => Err(format!("{} has no element of type {}", types::name(&args[0]), types::name(given))),
    }
}

fn arrays_alike(args: &[DataType]) -> Coerced {
    types::signature(args, &[Arg::Array, Arg::Array], 2)?;
    many_arrays(args)
}

fn many_arrays(args: &[DataType]) -> Coerced {
    let Some(first) = args.first() else { return Err("takes at least one array".to_string()) };
    types::signature(std::slice::from_ref(first), &[Arg::Array], 1)?;
    match args.iter().find(|t| *t != first) {
        None => Ok(args.to_vec()),
        Some(other) => Err(format!("takes arrays of one type, not {} and {}", types::name(first), types::name(other))),
    }
}

/// `ARRAY[a, b, ..]`
fn array(call: &Call<'_>) -> Result<ArrayRef> {
    let DataType::List(field) = call.returns else { return call.internal("was planned for another type") };
    let columns = (0..call.arg_count())
        .map(|i| Ok(arrow::compute::cast(&call.array(i)?, field.data_type())?))
        .collect::<Result<Vec<_>>>()?;
    let parts: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let order: Vec<(usize, usize)> = (0..call.rows).flat_map(|row| (0..parts.len()).map(move |p| (p, row))).collect();
    let values = if order.is_empty() { new_empty_array(field.data_type()) } else { interleave(&parts, &order)? };
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(parts.len(), call.rows));
    Ok(Arc::new(ListArray::try_new(field.clone(), offsets, values, None)?))
}

/// Elements of an array, entries of a map.
fn cardinality(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.array(0)?;
    let (offsets, nulls): (&[i32], Option<&NullBuffer>) = match source.data_type() {
        DataType::List(_) => (source.as_list::<i32>().value_offsets(), source.nulls()),
        DataType::Map(..) => (source.as_map().value_offsets(), source.nulls()),
        _ => return Ok(arrow::array::new_null_array(call.returns, call.rows)),
    };
    Ok(call.primitive_rows::<Int32Type>(|i| nulls.is_none_or(|n| n.is_valid(i)).then(|| offsets[i + 1] - offsets[i])))
}

/// The only element; NULL of an empty array.
fn sole(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[])?;
    pool.pick(call, |i| {
        let mut all = pool.range(0, i)?;
        if all.len() > 1 {
            call.fail(i, Reason::Cast, format!("the array has {} elements, not one", all.len()));
            return None;
        }
        all.next()
    })
}

fn find(pool: &Pool, row: usize) -> Option<Option<usize>> {
    let needle = pool.key(pool.value(0, row));
    Some(pool.range(0, row)?.position(|e| pool.key(e) == needle))
}

fn contains(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[1])?.comparable()?;
    Ok(call.boolean_rows(|i| Some(find(&pool, i)?.is_some())))
}

/// 0 if there is none; NULL if the value is.
fn position(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[1])?.comparable()?;
    Ok(call.primitive_rows::<Int32Type>(|i| {
        if pool.is_null(pool.value(0, i)) {
            return None;
        }
        Some(find(&pool, i)?.map_or(0, |at| at as i32 + 1))
    }))
}

fn remove(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[1])?.comparable()?;
    pool.gather(call, |i, out| {
        let needle = pool.key(pool.value(0, i));
        out.extend(pool.range(0, i)?.filter(|e| pool.key(*e) != needle).map(|e| e as u32));
        Some(())
    })
}

fn extend(call: &Call<'_>, before: bool) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[1])?;
    pool.gather(call, |i, out| {
        let value = pool.value(0, i) as u32;
        out.extend(before.then_some(value));
        out.extend(pool.range(0, i)?.map(|e| e as u32));
        out.extend((!before).then_some(value));
        Some(())
    })
}

/// The elements of all arrays, each once.
fn united(call: &Call<'_>, arrays: usize) -> Result<ArrayRef> {
    let pool = Pool::new(call, 0..arrays, &[])?.comparable()?;
    pool.gather(call, |i, out| {
        let mut seen = HashSet::new();
        for list in 0..arrays {
            out.extend(pool.range(list, i)?.filter(|e| seen.insert(pool.key(*e))).map(|e| e as u32));
        }
        Some(())
    })
}

/// The elements of the first array that are (or are not) in the second, each once.
fn filtered(call: &Call<'_>, common: bool) -> Result<ArrayRef> {
    let pool = Pool::new(call, 0..2, &[])?.comparable()?;
    pool.gather(call, |i, out| {
        let others: HashSet<_> = pool.range(1, i)?.map(|e| pool.key(e)).collect();
        let mut seen = HashSet::new();
        let keep = |e: &usize| others.contains(&pool.key(*e)) == common && seen.insert(pool.key(*e));
        out.extend(pool.range(0, i)?.filter(keep).map(|e| e as u32));
        Some(())
    })
}

fn concat(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, 0..call.arg_count(), &[])?;
    pool.gather(call, |i, out| {
        for list in 0..call.arg_count() {
            out.extend(pool.range(list, i)?.map(|e| e as u32));
        }
        Some(())
    })
}

fn reverse(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[])?;
    pool.gather(call, |i, out| {
        out.extend(pool.range(0, i)?.rev().map(|e| e as u32));
        Some(())
    })
}

/// `ARRAY_SLICE(array, start[, end])`: both inclusive, 0 is the first, negative ones count from the end.
fn slice(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[])?;
    let starts = call.longs(1)?;
    let ends = if call.arg_count() > 2 { Some(call.longs(2)?) } else { None };
    pool.gather(call, |i, out| {
        let all = pool.range(0, i)?;
        let length = all.len() as i64;
        let end = ends.as_ref().map_or(Some(length), |ends| at(ends, i))?;
        let from_front = |n: i64| match n {
            0 => 1,
            n if n < 0 => n.saturating_add(length + 1),
            n => n,
        };
        let (start, end) = (from_front(at(&starts, i)?), from_front(end));
        // Both outside on one side leave nothing.
        let (start, end) = (start.max(1), end.min(length));
        if start <= end {
            out.extend((all.start + start as usize - 1..all.start + end as usize).map(|e| e as u32));
        }
        Some(())
    })
}

/// `ARRAY_SORT(array[, ascending[, nulls first]])`; NULLs come first in ascending order and last in descending.
fn sort(call: &Call<'_>) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[])?.comparable()?;
    let flag = |index: usize| -> Result<Option<ArrayRef>> {
        if call.arg_count() > index { call.array(index).map(Some) } else { Ok(None) }
    };
    let (ascending, nulls_first) = (flag(1)?, flag(2)?);
    let given = |flag: &Option<ArrayRef>, row: usize, default: bool| match flag {
        Some(flag) => flag.is_valid(row).then(|| flag.as_boolean().value(row)),
        None => Some(default),
    };
    pool.gather(call, |i, out| {
        let ascending = given(&ascending, i, true)?;
        let nulls_first = given(&nulls_first, i, ascending)?;
        let (nulls, mut values): (Vec<usize>, Vec<usize>) = pool.range(0, i)?.partition(|e| pool.is_null(*e));
        values.sort_by(|a, b| {
            let order = pool.key(*a).cmp(&pool.key(*b));
            if ascending { order } else { order.reverse() }
        });
        let (first, second) = if nulls_first { (nulls, values) } else { (values, nulls) };
        out.extend(first.into_iter().chain(second).map(|e| e as u32));
        Some(())
    })
}

/// Of the elements that are not NULL.
fn extreme(call: &Call<'_>, wanted: Ordering) -> Result<ArrayRef> {
    let pool = Pool::new(call, [0], &[])?.comparable()?;
    pool.pick(call, |i| {
        let values = pool.range(0, i)?.filter(|e| !pool.is_null(*e));
        values.reduce(|best, e| if pool.key(e).cmp(&pool.key(best)) == wanted { e } else { best })
    })
}

fn join_args(args: &[DataType]) -> Coerced {
    let coerced = types::signature(args, &[Arg::Array, Arg::Text, Arg::Text], 2)?;
    match types::element(&coerced[0]) {
        Some(DataType::Utf8) => Ok(coerced),
        _ => Err(format!("takes an array of text, not {}", types::name(&args[0]))),
    }
}

/// `ARRAY_JOIN(array, separator[, text for NULL])`; NULL elements are left out without such a text.
fn join(call: &Call<'_>) -> Result<ArrayRef> {
    let lists = call.array(0)?;
    let (lists, separators) = (lists.as_list::<i32>(), call.texts(1)?);
    let for_null = if call.arg_count() > 2 { Some(call.texts(2)?) } else { None };
    let values = lists.values().as_string::<i32>();
    call.text_rows(|i, out| {
        let separator = separators.get(i)?;
        let for_null = match &for_null {
            Some(texts) => Some(texts.get(i)?),
            None => None,
        };
        if lists.is_null(i) {
            return None;
        }
        let range = lists.value_offsets()[i] as usize..lists.value_offsets()[i + 1] as usize;
        let parts = range.filter_map(|e| if values.is_valid(e) { Some(values.value(e)) } else { for_null });
        for (n, part) in parts.enumerate() {
            if n > 0 {
                out.push_str(separator);
            }
            out.push_str(part);
        }
        Some(())
    })
}

/// The field of an array's elements.
pub(super) fn item(t: &DataType) -> Arc<Field> {
    Arc::new(Field::new("item", t.clone(), true))
}
