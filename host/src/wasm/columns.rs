//! Arrow arrays to a frame's columns and back. One layout on each side; where they differ (units of time, slices,
//! MAP entries) is here and nowhere else.

use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use std::sync::Arc;
use wasmill_abi::{Column, FramePlan, FrameWriter, Type, Wire};

/// Adds an array's nodes to the plan. `ty` is the wire's type of the array.
pub(super) fn plan(array: &dyn Array, ty: &Type, plan: &mut FramePlan) {
    let wire = ty.wire();
    let nested = if wire.is_nested() { children(array) } else { Vec::new() };
    let data = match wire {
        Wire::Bits => Some(array.len().div_ceil(8)),
        Wire::Fixed(width) => Some(array.len() * width),
        Wire::Bytes => Some(byte_range(array).len()),
        Wire::List | Wire::Map | Wire::Struct => None,
    };
    let offsets = matches!(wire, Wire::Bytes | Wire::List | Wire::Map);
    plan.node(ty.code(), nested.len(), array.len(), array.null_count() > 0, offsets, data);
    if wire.is_nested() {
        nested.iter().zip(ty.children()).for_each(|(child, field)| self::plan(child, &field.ty, plan));
    }
}

/// Fills the buffers that [`plan`] asked for. The error names a value that the wire cannot carry.
pub(super) fn fill(array: &dyn Array, ty: &Type, out: &mut FrameWriter) -> Result<(), String> {
    if let Some(nulls) = array.nulls().filter(|n| n.null_count() > 0) {
        put_bits(nulls.inner(), out.buffer());
    }
    let wire = ty.wire();
    match wire {
        Wire::Bits => put_bits(array.as_boolean().values(), out.buffer()),
        Wire::Fixed(_) => put_fixed(array, out.buffer())?,
        Wire::Bytes => {
            put_offsets(byte_offsets(array), out.buffer());
            let range = byte_range(array);
            out.buffer().copy_from_slice(&byte_data(array)[range]);
        }
        Wire::List => put_offsets(array.as_list::<i32>().value_offsets(), out.buffer()),
        Wire::Map => put_offsets(array.as_map().value_offsets(), out.buffer()),
        Wire::Struct => {}
    }
    if !wire.is_nested() {
        return Ok(());
    }
    children(array).iter().zip(ty.children()).try_for_each(|(child, field)| fill(child, &field.ty, out))
}

fn children(array: &dyn Array) -> Vec<ArrayRef> {
    let part = |values: &ArrayRef, offsets: &[i32]| {
        let (start, end) = ends(offsets);
        values.slice(start, end - start)
    };
    match array.data_type() {
        DataType::List(_) => vec![part(array.as_list::<i32>().values(), array.as_list::<i32>().value_offsets())],
        DataType::Map(..) => {
            let map = array.as_map();
            vec![part(map.keys(), map.value_offsets()), part(map.values(), map.value_offsets())]
        }
        DataType::Struct(_) => array.as_struct().columns().to_vec(),
        _ => Vec::new(),
    }
}

fn ends(offsets: &[i32]) -> (usize, usize) {
    match offsets {
        [first, .., last] => (*first as usize, *last as usize),
        _ => (0, 0),
    }
}

fn byte_offsets(array: &dyn Array) -> &[i32] {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_offsets(),
        _ => array.as_binary::<i32>().value_offsets(),
    }
}

fn byte_data(array: &dyn Array) -> &[u8] {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value_data(),
        _ => array.as_binary::<i32>().value_data(),
    }
}

fn byte_range(array: &dyn Array) -> std::ops::Range<usize> {
    let (start, end) = ends(byte_offsets(array));
    start..end
}

fn put_bits(bits: &BooleanBuffer, out: &mut [u8]) {
    let bytes = bits.sliced();
    out.copy_from_slice(&bytes.as_slice()[..out.len()]);
    // Equal rows give equal frames: nothing of neighbouring rows behind the last bit.
    if let (Some(last), rest @ 1..) = (out.last_mut(), bits.len() % 8) {
        *last &= (1 << rest) - 1;
    }
}

fn put_offsets(offsets: &[i32], out: &mut [u8]) {
    let first = offsets.first().copied().unwrap_or(0);
    if first == 0 && cfg!(target_endian = "little") && offsets.len() * 4 == out.len() {
        out.copy_from_slice(offsets.to_byte_slice());
        return;
    }
    for (place, offset) in out.chunks_exact_mut(4).zip(offsets) {
        place.copy_from_slice(&(offset - first).to_le_bytes());
    }
}

fn put_fixed(array: &dyn Array, out: &mut [u8]) -> Result<(), String> {
    fn raw<T: ArrowPrimitiveType>(array: &dyn Array, out: &mut [u8]) {
        out.copy_from_slice(array.as_primitive::<T>().values().to_byte_slice());
    }
    fn scaled<T: ArrowPrimitiveType>(array: &dyn Array, factor: i64, out: &mut [u8]) -> Result<(), String>
    where
        T::Native: Into<i64>,
    {
        let array = array.as_primitive::<T>();
        for (row, place) in out.chunks_exact_mut(8).enumerate() {
            let value: i64 = array.values()[row].into();
            let wire = match value.checked_mul(factor) {
                Some(wire) => wire,
                None if array.is_null(row) => 0,
                None => return Err(format!("a point in time is out of range: {value} times {factor} microseconds")),
            };
            place.copy_from_slice(&wire.to_le_bytes());
        }
        Ok(())
    }
    use TimeUnit::*;
    match array.data_type() {
        DataType::Int8 => raw::<Int8Type>(array, out),
        DataType::Int16 => raw::<Int16Type>(array, out),
        DataType::Int32 => raw::<Int32Type>(array, out),
        DataType::Int64 => raw::<Int64Type>(array, out),
        DataType::Float32 => raw::<Float32Type>(array, out),
        DataType::Float64 => raw::<Float64Type>(array, out),
        DataType::Decimal128(..) => raw::<Decimal128Type>(array, out),
        DataType::Date32 => raw::<Date32Type>(array, out),
        DataType::Time32(Second) => scaled::<Time32SecondType>(array, 1_000_000, out)?,
        DataType::Time32(_) => scaled::<Time32MillisecondType>(array, 1000, out)?,
        DataType::Time64(Microsecond) => raw::<Time64MicrosecondType>(array, out),
        DataType::Time64(_) => raw::<Time64NanosecondType>(array, out),
        DataType::Timestamp(Second, _) => scaled::<TimestampSecondType>(array, 1_000_000, out)?,
        DataType::Timestamp(Millisecond, _) => scaled::<TimestampMillisecondType>(array, 1000, out)?,
        DataType::Timestamp(Microsecond, _) => raw::<TimestampMicrosecondType>(array, out),
        DataType::Timestamp(Nanosecond, _) => raw::<TimestampNanosecondType>(array, out),
        other => return Err(format!("{other} has no place on the wire")),
    }
    Ok(())
}

/// A column of an answer (sizes and offsets checked by the frame's reader) as an array of `data_type`. Checks what
/// is left: UTF-8, precision of decimals, range of TIME. The error names the column.
pub(super) fn read(column: &Column, data_type: &DataType) -> Result<ArrayRef, String> {
    let bad = |what: String| format!("column {} ({}): {what}", column.field.name, column.field.ty);
    let nulls =
        column.validity.map(|bits| NullBuffer::new(BooleanBuffer::new(Buffer::from_slice_ref(bits), 0, column.len)));
    // Without a NULL the kernels are faster without the bits.
    let nulls = nulls.filter(|n| n.null_count() > 0);
    Ok(match data_type {
        DataType::Boolean => {
            let bits = BooleanBuffer::new(Buffer::from_slice_ref(column.data), 0, column.len);
            Arc::new(BooleanArray::new(bits, nulls))
        }
        DataType::Utf8 => {
            let offsets = offsets(column);
            check_text(column.data, &offsets).map_err(bad)?;
            let data = copy::<u8>(column.data);
            // SAFETY: the offsets rise from 0 to the end of the data (checked by the frame's reader), and the data
            // are UTF-8 with every offset at the boundary of a character (checked above).
            Arc::new(unsafe { StringArray::new_unchecked(offsets, data, nulls) })
        }
        DataType::Binary => Arc::new(
            BinaryArray::try_new(offsets(column), copy::<u8>(column.data), nulls).map_err(|e| bad(e.to_string()))?,
        ),
        DataType::List(item) => {
            let values = read(child(column, 0)?, item.data_type())?;
            Arc::new(ListArray::try_new(item.clone(), offsets(column), values, nulls).map_err(|e| bad(e.to_string()))?)
        }
        DataType::Map(entries, sorted) => {
            let DataType::Struct(kv) = entries.data_type() else { return Err(bad("not a MAP".into())) };
            let members = kv
                .iter()
                .enumerate()
                .map(|(i, f)| read(child(column, i)?, f.data_type()))
                .collect::<Result<Vec<_>, _>>()?;
            let pairs = StructArray::try_new(kv.clone(), members, None).map_err(|e| bad(e.to_string()))?;
            let map = MapArray::try_new(entries.clone(), offsets(column), pairs, nulls, *sorted);
            Arc::new(map.map_err(|e| bad(e.to_string()))?)
        }
        DataType::Struct(fields) => {
            let members = fields
                .iter()
                .enumerate()
                .map(|(i, f)| read(child(column, i)?, f.data_type()))
                .collect::<Result<Vec<_>, _>>()?;
            let row = StructArray::try_new_with_length(fields.clone(), members, nulls, column.len);
            Arc::new(row.map_err(|e| bad(e.to_string()))?)
        }
        _ => read_fixed(column, data_type, nulls).map_err(bad)?,
    })
}

fn child<'a, 'b>(column: &'b Column<'a>, index: usize) -> Result<&'b Column<'a>, String> {
    column.children.get(index).ok_or_else(|| format!("column {}: child {index} is missing", column.field.name))
}

/// Copies bytes out of the guest's memory, aligned for T. A plain allocation nearly always is; Arrow's own, aligned to
/// 64, costs several times as much in glibc.
fn copy<T>(bytes: &[u8]) -> Buffer {
    let plain = Buffer::from_vec(bytes.to_vec());
    if plain.as_ptr().cast::<T>().is_aligned() { plain } else { Buffer::from_slice_ref(bytes) }
}

/// Copies the offsets out of the guest's memory, where they may lie at any address.
fn offsets(column: &Column) -> OffsetBuffer<i32> {
    // SAFETY: the frame's reader has checked that the offsets rise from 0 and stay below 2^28.
    unsafe { OffsetBuffer::new_unchecked(ScalarBuffer::from(copy::<i32>(column.offsets))) }
}

fn check_text(data: &[u8], offsets: &[i32]) -> Result<(), String> {
    if data.is_ascii() {
        return Ok(());
    }
    let row_of = |at: usize| offsets.partition_point(|o| *o as usize <= at).saturating_sub(1);
    let text = std::str::from_utf8(data).map_err(|e| format!("row {} is not valid UTF-8", row_of(e.valid_up_to())))?;
    match offsets.iter().position(|o| !text.is_char_boundary(*o as usize)) {
        Some(row) => Err(format!("row {} is not valid UTF-8", row.saturating_sub(1))),
        None => Ok(()),
    }
}

fn read_fixed(column: &Column, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayRef, String> {
    fn values<T: ArrowNativeType>(column: &Column) -> ScalarBuffer<T> {
        copy::<T>(column.data).into()
    }
    fn raw<T: ArrowPrimitiveType>(column: &Column, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(values(column), nulls))
    }
    /// Cuts to the coarser unit, towards the past, as Flink does.
    fn scaled<T: ArrowPrimitiveType>(column: &Column, factor: i64, nulls: Option<NullBuffer>) -> ArrayRef
    where
        T::Native: TryFrom<i64>,
    {
        let wire = values::<i64>(column);
        let native = wire.iter().map(|v| T::Native::try_from(v.div_euclid(factor)).unwrap_or_default());
        Arc::new(PrimitiveArray::<T>::new(native.collect(), nulls))
    }
    let valid = |row: usize| nulls.as_ref().is_none_or(|n| n.is_valid(row));
    if let DataType::Time32(_) | DataType::Time64(_) = data_type {
        let day =
            if *data_type == DataType::Time64(TimeUnit::Nanosecond) { 86_400_000_000_000 } else { 86_400_000_000 };
        let times = values::<i64>(column);
        if let Some(row) = (0..column.len).find(|r| valid(*r) && !(0..day).contains(&times[*r])) {
            return Err(format!("row {row}: {} is not within a day", times[row]));
        }
    }
    use TimeUnit::*;
    Ok(match data_type {
        DataType::Int8 => raw::<Int8Type>(column, nulls),
        DataType::Int16 => raw::<Int16Type>(column, nulls),
        DataType::Int32 => raw::<Int32Type>(column, nulls),
        DataType::Int64 => raw::<Int64Type>(column, nulls),
        DataType::Float32 => raw::<Float32Type>(column, nulls),
        DataType::Float64 => raw::<Float64Type>(column, nulls),
        DataType::Date32 => raw::<Date32Type>(column, nulls),
        DataType::Decimal128(precision, scale) => {
            let values = values::<i128>(column);
            let fits = |row: &usize| Decimal128Type::is_valid_decimal_precision(values[*row], *precision);
            if let Some(row) = (0..column.len).find(|r| valid(*r) && !fits(r)) {
                return Err(format!("row {row} has more digits than fit"));
            }
            let array = PrimitiveArray::<Decimal128Type>::new(values, nulls);
            Arc::new(array.with_precision_and_scale(*precision, *scale).map_err(|e| e.to_string())?)
        }
        DataType::Time32(Second) => scaled::<Time32SecondType>(column, 1_000_000, nulls),
        DataType::Time32(_) => scaled::<Time32MillisecondType>(column, 1000, nulls),
        DataType::Time64(Microsecond) => raw::<Time64MicrosecondType>(column, nulls),
        DataType::Time64(_) => raw::<Time64NanosecondType>(column, nulls),
        DataType::Timestamp(unit, _) => {
            let plain = match unit {
                Second => scaled::<TimestampSecondType>(column, 1_000_000, nulls),
                Millisecond => scaled::<TimestampMillisecondType>(column, 1000, nulls),
                Microsecond => raw::<TimestampMicrosecondType>(column, nulls),
                Nanosecond => raw::<TimestampNanosecondType>(column, nulls),
            };
            // The zone is part of Arrow's type, not of the values.
            let zoned = plain.into_data().into_builder().data_type(data_type.clone()).build();
            make_array(zoned.map_err(|e| e.to_string())?)
        }
        other => return Err(format!("{other} has no place on the wire")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::LogicalType;
    use crate::wasm::types::to_wire;
    use wasmill_abi::{Check, Field, Frame, Schema};

    fn through_a_frame(array: &ArrayRef, ty: &LogicalType) -> Result<ArrayRef, String> {
        let wire = to_wire(ty);
        let schema = Schema::new(vec![Field::new("c", wire.clone(), true)]).unwrap();
        let mut frame_plan = FramePlan::default();
        frame_plan.reset(array.len(), schema.fingerprint());
        plan(array, &wire, &mut frame_plan);
        let mut bytes = vec![0xcc; frame_plan.layout().unwrap()];
        fill(array, &wire, &mut frame_plan.start(&mut bytes).unwrap())?;
        let frame = Frame::parse(&bytes).unwrap();
        let columns = frame.columns(&schema, Check::Full).unwrap();
        read(&columns[0], &ty.to_arrow())
    }

    #[test]
    fn every_type_comes_back_whole_and_sliced() {
        use LogicalType as T;
        let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some(""), Some("üß"), Some("x")]));
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), Some(true)]));
        let ints: ArrayRef = Arc::new(Int16Array::from(vec![Some(1), None, Some(-3), Some(4), Some(5)]));
        let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(1), None, Some(-3), Some(4), Some(5)]));
        let zoned: ArrayRef = Arc::new(
            TimestampMillisecondArray::from(vec![Some(1), None, Some(-3), Some(4), Some(5)]).with_timezone("UTC"),
        );
        let times: ArrayRef = Arc::new(Time32SecondArray::from(vec![Some(1), None, Some(3), Some(4), Some(86_399)]));
        let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(7)]),
            Some(vec![Some(8), Some(9)]),
        ]));
        let fields = vec![("t".to_string(), T::STRING), ("l".to_string(), T::Array(Box::new(T::Int)))];
        let row_type = T::Row(fields);
        let DataType::Struct(members) = row_type.to_arrow() else { unreachable!() };
        let row: ArrayRef = Arc::new(StructArray::new(
            members,
            vec![text.clone(), list.clone()],
            Some(NullBuffer::from(vec![true, false, true, true, true])),
        ));
        let cases = [
            (text, T::STRING),
            (bools, T::Boolean),
            (ints, T::SmallInt),
            (seconds, T::Timestamp(0)),
            (zoned, T::TimestampLtz(3)),
            (times, T::Time(0)),
            (list, T::Array(Box::new(T::Int))),
            (row, row_type),
        ];
        for (array, ty) in cases {
            for (from, len) in [(0, 5), (1, 4), (3, 2), (2, 0)] {
                let part = array.slice(from, len);
                assert_eq!(&through_a_frame(&part, &ty).unwrap(), &part, "{ty} {from}+{len}");
            }
        }
    }

    #[test]
    fn a_time_that_the_wire_cannot_carry_is_named() {
        let array: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        let error = through_a_frame(&array, &LogicalType::Timestamp(0)).unwrap_err();
        assert!(error.starts_with("a point in time is out of range"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_row() {
        assert_eq!(check_text(b"ab\xffcd", &[0, 2, 3, 5]).unwrap_err(), "row 1 is not valid UTF-8");
        assert_eq!(check_text("aüb".as_bytes(), &[0, 2, 4]).unwrap_err(), "row 0 is not valid UTF-8");
        assert!(check_text("aüb".as_bytes(), &[0, 3, 4]).is_ok());
    }
}
