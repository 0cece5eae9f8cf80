//! Functions over maps, and access to elements of both arrays and maps.

use super::arrays::item;
use super::call::at;
use super::pool::Pool;
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use arrow::array::NullBufferBuilder;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, interleave, take};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion_common::Result;
use std::collections::HashMap;
use std::sync::Arc;

const MAP: Builtin = Builtin { coerce: |t| types::signature(t, &[Arg::Map], 1), ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$element", coerce: element_args, returns: element_type, eval: element, ..PURE },
    Builtin { name: "$map", fallible: true, coerce: map_args, returns: map_type, eval: map, ..PURE },
    Builtin { name: "map_keys", returns: |b| part_type(b, 0), eval: |c| part(c, 0), ..MAP },
    Builtin { name: "map_values", returns: |b| part_type(b, 1), eval: |c| part(c, 1), ..MAP },
    Builtin { name: "map_entries", returns: entries_type, eval: entries, ..MAP },
    Builtin {
        name: "map_from_arrays",
        fallible: true,
        coerce: |t| types::signature(t, &[Arg::Array, Arg::Array], 2),
        returns: from_arrays_type,
        eval: from_arrays,
        ..PURE
    },
    Builtin { name: "map_union", fallible: true, coerce: maps_alike, returns: types::as_first, eval: union, ..PURE },
];

type Coerced = std::result::Result<Vec<DataType>, String>;
type Returns = std::result::Result<DataType, String>;

/// The third is the text of a position or key that is a literal (`plan::ast_passes`).
fn element_args(args: &[DataType]) -> Coerced {
    let (args, literal) = match args {
        [pair @ .., DataType::Utf8] if pair.len() == 2 => (pair, true),
        args => (args, false),
    };
    let mut coerced = element_pair(args)?;
    coerced.extend(literal.then_some(DataType::Utf8));
    Ok(coerced)
}

fn element_pair(args: &[DataType]) -> Coerced {
    match args {
        [list @ DataType::List(_), index] if types::is_integer(index) || *index == DataType::Null => {
            Ok(vec![list.clone(), DataType::Int64])
        }
        [DataType::List(_), index] => Err(format!("an array is indexed by an integer, not {}", types::name(index))),
        [map @ DataType::Map(..), key] => match types::entry(map) {
            Some((own, _)) if types::merge(own, key).is_some() => Ok(vec![map.clone(), own.clone()]),
            _ => Err(format!("{} has no keys of type {}", types::name(map), types::name(key))),
        },
        [other, _] => Err(format!("{} has no elements: [..] needs an array or a map", types::name(other))),
        _ => Err("takes an array or a map, and a position or a key".to_string()),
    }
}

fn element_type(binding: &Binding<'_>) -> Returns {
    if matches!(binding.types.first(), Some(DataType::List(_)))
        && let Some(index) = binding.text(2).and_then(|n| n.parse::<i64>().ok())
        && index < 1
    {
        return Err(format!("elements of an array count from 1, not {index}"));
    }
    let first = types::as_first(binding)?;
    let found = types::element(&first).or(types::entry(&first).map(|(_, value)| value));
    found.cloned().ok_or_else(|| format!("{} has no elements", types::name(&first)))
}

/// `array[position]`, `map[key]`; NULL where there is none.
fn element(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.array(0)?;
    if let Some(map) = source.as_map_opt() {
        let keys = call.array(1)?;
        let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
        let wanted = converter.convert_columns(&[keys])?;
        let known = converter.convert_columns(&[map.keys().clone()])?;
        let chosen: UInt32Array = (0..call.rows)
            .map(|i| {
                let offsets = map.value_offsets();
                let mut range = if map.is_valid(i) { offsets[i] as usize..offsets[i + 1] as usize } else { 0..0 };
                range.find(|e| known.row(*e) == wanted.row(i)).map(|e| e as u32)
            })
            .collect();
        return Ok(take(map.values(), &chosen, None)?);
    }
    let positions = call.longs(1)?;
    let pool = Pool::new(call, [0], &[])?;
    pool.pick(call, |i| {
        let position = usize::try_from(at(&positions, i)?).ok()?.checked_sub(1)?;
        pool.range(0, i)?.nth(position)
    })
}

/// Keys and values in turn; all keys of one type, all values of one.
fn map_args(args: &[DataType]) -> Coerced {
    if args.is_empty() || !args.len().is_multiple_of(2) {
        return Err(format!("takes keys and values in pairs, not {} values", args.len()));
    }
    let of = |first: usize| {
        let all: Vec<DataType> = args.iter().skip(first).step_by(2).cloned().collect();
        types::common(&all).map(|c| if c[0] == DataType::Null { DataType::Utf8 } else { c[0].clone() })
    };
    let (key, value) = (of(0)?, of(1)?);
    Ok(args.iter().enumerate().map(|(i, _)| if i.is_multiple_of(2) { key.clone() } else { value.clone() }).collect())
}

fn map_type(binding: &Binding<'_>) -> Returns {
    match binding.types {
        [key, value, ..] => Ok(types::map_of(key.clone(), value.clone())),
        _ => Err("takes keys and values in pairs".to_string()),
    }
}

/// `MAP[key, value, ..]`
fn map(call: &Call<'_>) -> Result<ArrayRef> {
    let columns = (0..call.arg_count()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    let pairs = call.arg_count() / 2;
    let side = |first: usize| -> Result<ArrayRef> {
        let parts: Vec<&dyn Array> = columns.iter().skip(first).step_by(2).map(AsRef::as_ref).collect();
        let order: Vec<_> = (0..call.rows).flat_map(|row| (0..pairs).map(move |p| (p, row))).collect();
        if order.is_empty() {
            return Ok(arrow::array::new_empty_array(columns[first].data_type()));
        }
        Ok(interleave(&parts, &order)?)
    };
    assemble(call, side(0)?, side(1)?, |i| Some((i * pairs..(i + 1) * pairs).collect()))
}

/// A map per row of the entries that `f` names. Of equal keys the last one's value counts, at the first one's place.
/// A NULL key refuses the row.
fn assemble(
    call: &Call<'_>,
    keys: ArrayRef,
    values: ArrayRef,
    f: impl Fn(usize) -> Option<Vec<usize>>,
) -> Result<ArrayRef> {
    let DataType::Map(field, _) = call.returns else { return call.internal("was planned for another type") };
    let DataType::Struct(fields) = field.data_type() else { return call.internal("was planned for another type") };
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
    let known = converter.convert_columns(std::slice::from_ref(&keys))?;
    let (mut key_indexes, mut value_indexes, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(call.rows));
    let mut valid = NullBufferBuilder::new(call.rows);
    for row in 0..call.rows {
        let start = key_indexes.len();
        let mut places: HashMap<OwnedRow, usize> = HashMap::new();
        let entries = f(row).filter(|entries| {
            let null = entries.iter().any(|e| keys.is_null(*e));
            if null {
                call.fail(row, Reason::NotNull, "a key of a map is NULL");
            }
            !null
        });
        for entry in entries.iter().flatten() {
            match places.entry(known.row(*entry).owned()) {
                std::collections::hash_map::Entry::Occupied(place) => value_indexes[*place.get()] = *entry as u32,
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(value_indexes.len());
                    key_indexes.push(*entry as u32);
                    value_indexes.push(*entry as u32);
                }
            }
        }
        valid.append(entries.is_some());
        lengths.push(key_indexes.len() - start);
    }
    crate::expr::cast::text::offset(key_indexes.len())?;
    let columns = vec![
        take(&keys, &UInt32Array::from(key_indexes), None)?,
        take(&values, &UInt32Array::from(value_indexes), None)?,
    ];
    let entries = StructArray::try_new(fields.clone(), columns, None)?;
    Ok(Arc::new(MapArray::try_new(field.clone(), OffsetBuffer::from_lengths(lengths), entries, valid.finish(), false)?))
}

fn part_type(binding: &Binding<'_>, part: usize) -> Returns {
    let first = types::as_first(binding)?;
    match types::entry(&first) {
        Some((key, value)) => Ok(types::array_of(if part == 0 { key.clone() } else { value.clone() })),
        None => Err(format!("takes a map, not {}", types::name(&first))),
    }
}

fn part(call: &Call<'_>, part: usize) -> Result<ArrayRef> {
    let source = call.array(0)?;
    let map = source.as_map();
    let values = map.entries().column(part).clone();
    Ok(Arc::new(ListArray::try_new(item(values.data_type()), map.offsets().clone(), values, map.nulls().cloned())?))
}

fn entry_fields(key: &DataType, value: &DataType) -> Fields {
    Fields::from(vec![Field::new("key", key.clone(), true), Field::new("value", value.clone(), true)])
}

fn entries_type(binding: &Binding<'_>) -> Returns {
    let first = types::as_first(binding)?;
    match types::entry(&first) {
        Some((key, value)) => Ok(types::array_of(DataType::Struct(entry_fields(key, value)))),
        None => Err(format!("takes a map, not {}", types::name(&first))),
    }
}

/// An array of ROW<key, value>.
fn entries(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.array(0)?;
    let map = source.as_map();
    let fields = entry_fields(map.keys().data_type(), map.values().data_type());
    let rows: ArrayRef = Arc::new(StructArray::try_new(fields, vec![map.keys().clone(), map.values().clone()], None)?);
    Ok(Arc::new(ListArray::try_new(item(rows.data_type()), map.offsets().clone(), rows, map.nulls().cloned())?))
}

fn from_arrays_type(binding: &Binding<'_>) -> Returns {
    match binding.types {
        [keys, values] => match (types::element(keys), types::element(values)) {
            (Some(key), Some(value)) => Ok(types::map_of(key.clone(), value.clone())),
            _ => Err("takes two arrays".to_string()),
        },
        _ => Err("takes two arrays".to_string()),
    }
}

/// Arrays of different lengths refuse the row.
fn from_arrays(call: &Call<'_>) -> Result<ArrayRef> {
    let (keys, values) = (Pool::new(call, [0], &[])?, Pool::new(call, [1], &[])?);
    // Entries are named by the key's index, so the values are brought beside the keys first.
    let mut beside = vec![0u32; keys.values.len()];
    let mut ranges = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let pair = keys.range(0, row).zip(values.range(0, row));
        ranges.push(pair.and_then(|(k, v)| {
            if k.len() != v.len() {
                let message = format!("{} keys and {} values make no map", k.len(), v.len());
                call.fail(row, Reason::Cast, message);
                return None;
            }
            k.clone().zip(v).for_each(|(k, v)| beside[k] = v as u32);
            Some(k)
        }));
    }
    let values = if values.values.is_empty() {
        arrow::array::new_null_array(values.values.data_type(), beside.len())
    } else {
        take(&values.values, &UInt32Array::from(beside), None)?
    };
    assemble(call, keys.values, values, |row| ranges[row].clone().map(Iterator::collect))
}

fn maps_alike(args: &[DataType]) -> Coerced {
    let Some(first) = args.first() else { return Err("takes at least one map".to_string()) };
    types::signature(std::slice::from_ref(first), &[Arg::Map], 1)?;
    match args.iter().find(|t| *t != first) {
        None => Ok(args.to_vec()),
        Some(other) => Err(format!("takes maps of one type, not {} and {}", types::name(first), types::name(other))),
    }
}

/// The entries of all maps; a later map's value counts.
fn union(call: &Call<'_>) -> Result<ArrayRef> {
    let columns = (0..call.arg_count()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    let maps: Vec<&MapArray> = columns.iter().map(|c| c.as_map()).collect();
    let keys: Vec<&dyn Array> = maps.iter().map(|m| m.keys().as_ref()).collect();
    let values: Vec<&dyn Array> = maps.iter().map(|m| m.values().as_ref()).collect();
    let mut starts = Vec::with_capacity(maps.len());
    let mut length = 0;
    for map in &maps {
        starts.push(length);
        length += map.keys().len();
    }
    assemble(call, concat(&keys)?, concat(&values)?, |row| {
        let mut entries = Vec::new();
        for (map, start) in maps.iter().zip(&starts) {
            if map.is_null(row) {
                return None;
            }
            entries.extend(start + map.value_offsets()[row] as usize..start + map.value_offsets()[row + 1] as usize);
        }
        Some(entries)
    })
}
