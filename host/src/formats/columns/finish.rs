//! Finished columns as Arrow arrays, in the one layout of their logical type.

use super::{ColumnBuilder, Values};
use crate::data::LogicalType;
use crate::error::{Error, Result};
use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, ListArray, MapArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use std::mem::take;
use std::sync::Arc;

impl ColumnBuilder {
    /// The column; the builder is empty afterwards.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let len = self.len();
        let nulls = self.validity.finish();
        let arrow_type = self.logical_type.to_arrow();
        Ok(match &mut self.values {
            Values::Boolean(b) => Arc::new(BooleanArray::new(b.finish(), nulls)),
            Values::Int8(v) => primitive::<Int8Type>(take(v), nulls),
            Values::Int16(v) => primitive::<Int16Type>(take(v), nulls),
            Values::Int32(v) => primitive::<Int32Type>(take(v), nulls),
            Values::Int64(v) => primitive::<Int64Type>(take(v), nulls),
            Values::Float32(v) => primitive::<Float32Type>(take(v), nulls),
            Values::Float64(v) => primitive::<Float64Type>(take(v), nulls),
            Values::Decimal(v) => Arc::new(Decimal128Array::new(take(v).into(), nulls).with_data_type(arrow_type)),
            Values::Text(b) => {
                let (offsets, data) = b.finish();
                Arc::new(StringArray::try_new(offsets, data.into(), nulls)?)
            }
            Values::Binary(b) => {
                let (offsets, data) = b.finish();
                Arc::new(BinaryArray::try_new(offsets, data.into(), nulls)?)
            }
            Values::Date(v) => Arc::new(Date32Array::new(take(v).into(), nulls)),
            Values::Time(v) => finish_time(take(v), nulls, &arrow_type)?,
            Values::Timestamp(v) => finish_timestamp(take(v), nulls, arrow_type)?,
            Values::List { ends, items } => {
                let DataType::List(field) = arrow_type else { return Err(layout_fault(&self.logical_type)) };
                let offsets = OffsetBuffer::new(std::mem::replace(ends, vec![0]).into());
                Arc::new(ListArray::try_new(field, offsets, items.finish()?, nulls)?)
            }
            Values::Map { ends, keys, values } => {
                let DataType::Map(field, sorted) = arrow_type else { return Err(layout_fault(&self.logical_type)) };
                let DataType::Struct(entry) = field.data_type() else { return Err(layout_fault(&self.logical_type)) };
                let entries = StructArray::try_new(entry.clone(), vec![keys.finish()?, values.finish()?], None)?;
                let offsets = OffsetBuffer::new(std::mem::replace(ends, vec![0]).into());
                Arc::new(MapArray::try_new(field, offsets, entries, nulls, sorted)?)
            }
            Values::Row(fields) => {
                let DataType::Struct(names) = arrow_type else { return Err(layout_fault(&self.logical_type)) };
                let columns = fields.iter_mut().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
                Arc::new(StructArray::try_new_with_length(names, columns, nulls, len)?)
            }
        })
    }
}

fn layout_fault(t: &LogicalType) -> Error {
    Error::internal(format!("unexpected layout of {t}"))
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

fn finish_time(values: Vec<i64>, nulls: Option<NullBuffer>, arrow_type: &DataType) -> Result<ArrayRef> {
    // A time of day in seconds or milliseconds always fits 32 bits.
    let narrow = |v: Vec<i64>| v.into_iter().map(|x| x as i32).collect::<Vec<i32>>();
    Ok(match arrow_type {
        DataType::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(narrow(values), nulls),
        DataType::Time32(_) => primitive::<Time32MillisecondType>(narrow(values), nulls),
        DataType::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(values, nulls),
        DataType::Time64(_) => primitive::<Time64NanosecondType>(values, nulls),
        other => return Err(Error::internal(format!("{other} is not a time"))),
    })
}

fn finish_timestamp(values: Vec<i64>, nulls: Option<NullBuffer>, arrow_type: DataType) -> Result<ArrayRef> {
    fn typed<T: ArrowPrimitiveType<Native = i64>>(v: Vec<i64>, nulls: Option<NullBuffer>, t: DataType) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(v.into(), nulls).with_data_type(t))
    }
    Ok(match &arrow_type {
        DataType::Timestamp(TimeUnit::Second, _) => typed::<TimestampSecondType>(values, nulls, arrow_type),
        DataType::Timestamp(TimeUnit::Millisecond, _) => typed::<TimestampMillisecondType>(values, nulls, arrow_type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => typed::<TimestampMicrosecondType>(values, nulls, arrow_type),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => typed::<TimestampNanosecondType>(values, nulls, arrow_type),
        other => return Err(Error::internal(format!("{other} is not a timestamp"))),
    })
}
