//! Rows of answers into Arrow batches. No number of a server is trusted.

use crate::encode::indirect_cell;
use crate::error::{Error, Result};
use crate::pb::kudu::{ColumnarRowBlockPb, RowwiseRowBlockPb};
use crate::schema::{ColumnSchema, DataType};
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, Decimal128Array, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    self, Date32Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef, TimeUnit,
    TimestampMicrosecondType,
};
use bytes::Bytes;
use std::sync::Arc;

pub fn arrow_type(data_type: DataType) -> datatypes::DataType {
    use datatypes::DataType as A;
    match data_type {
        DataType::Bool => A::Boolean,
        DataType::Int8 => A::Int8,
        DataType::Int16 => A::Int16,
        DataType::Int32 => A::Int32,
        DataType::Int64 => A::Int64,
        DataType::Float => A::Float32,
        DataType::Double => A::Float64,
        DataType::Decimal { precision, scale } => A::Decimal128(precision, scale as i8),
        DataType::String | DataType::Varchar { .. } => A::Utf8,
        DataType::Binary => A::Binary,
        DataType::Date => A::Date32,
        DataType::UnixtimeMicros => A::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

pub fn arrow_schema(columns: &[ColumnSchema]) -> SchemaRef {
    let fields = columns.iter().map(|c| Field::new(&c.name, arrow_type(c.data_type), c.nullable));
    Arc::new(datatypes::Schema::new(fields.collect::<Vec<_>>()))
}

/// Where the bytes of an answer's columns are.
pub struct Target<'a> {
    pub schema: &'a SchemaRef,
    pub columns: &'a [ColumnSchema],
    pub sidecars: &'a [Bytes],
}

impl Target<'_> {
    fn sidecar(&self, index: Option<i32>, what: &str) -> Result<&Bytes> {
        let found = index.and_then(|i| usize::try_from(i).ok()).and_then(|i| self.sidecars.get(i));
        found.ok_or_else(|| Error::protocol(format!("an answer to a scan without its {what}")))
    }
    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    /// The layout by columns.
    pub fn columnar(&self, block: &ColumnarRowBlockPb) -> Result<RecordBatch> {
        let rows = usize::try_from(block.num_rows()).map_err(|_| Error::protocol("a negative count of rows"))?;
        if block.columns.len() != self.columns.len() && !(rows == 0 && block.columns.is_empty()) {
            let (got, asked) = (block.columns.len(), self.columns.len());
            return Err(Error::protocol(format!("{got} columns came where {asked} were asked for")));
        }
        if rows == 0 {
            return Ok(RecordBatch::new_empty(self.schema.clone()));
        }
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, pb) in self.columns.iter().zip(&block.columns) {
            let nulls = match pb.non_null_bitmap_sidecar {
                Some(_) => Some(not_null(self.sidecar(pb.non_null_bitmap_sidecar, "nulls")?, rows)?),
                None => None,
            };
            let data = self.sidecar(pb.data_sidecar, "cells")?;
            let variable = column.data_type.is_variable();
            arrays.push(if variable {
                let values = self.sidecar(pb.varlen_data_sidecar, "values")?;
                variable_column(column, data, values, nulls, rows)?
            } else {
                fixed_column(column, data, nulls, rows)?
            });
        }
        self.batch(arrays, rows)
    }

    /// The layout by rows.
    pub fn rowwise(&self, block: &RowwiseRowBlockPb) -> Result<RecordBatch> {
        let rows = usize::try_from(block.num_rows()).map_err(|_| Error::protocol("a negative count of rows"))?;
        if rows == 0 {
            return Ok(RecordBatch::new_empty(self.schema.clone()));
        }
        if self.columns.is_empty() {
            return self.batch(vec![], rows);
        }
        let cells: usize = self.columns.iter().map(|c| c.data_type.cell_size()).sum();
        let nullable = self.columns.iter().any(|c| c.nullable);
        let width = cells + if nullable { self.columns.len().div_ceil(8) } else { 0 };
        let data = self.sidecar(block.rows_sidecar, "rows")?;
        if rows.checked_mul(width) != Some(data.len()) {
            return Err(Error::protocol(format!("{rows} rows of {width} bytes in {} bytes", data.len())));
        }
        let none = Bytes::new();
        let indirect = match block.indirect_data_sidecar {
            Some(_) => self.sidecar(block.indirect_data_sidecar, "values")?,
            None => &none,
        };
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut at = 0;
        for (i, column) in self.columns.iter().enumerate() {
            let size = column.data_type.cell_size();
            // Here a set bit is a NULL.
            let null = |row: &[u8]| column.nullable && row[cells + i / 8] >> (i % 8) & 1 != 0;
            let nulls = column
                .nullable
                .then(|| NullBuffer::from(data.chunks_exact(width).map(|r| !null(r)).collect::<Vec<bool>>()));
            let column_cells = data.chunks_exact(width).map(|row| (&row[at..at + size], null(row)));
            if column.data_type.is_variable() {
                let mut values = Vec::new();
                let mut offsets = Vec::with_capacity(rows + 1);
                offsets.push(0i32);
                for (cell, null) in column_cells {
                    if !null {
                        values.extend_from_slice(indirect_cell(cell, indirect)?);
                    }
                    offsets.push(i32::try_from(values.len()).map_err(|_| too_long(column))?);
                }
                arrays.push(texts(column, OffsetBuffer::new(offsets.into()), values.into(), nulls)?);
            } else {
                let mut packed = Vec::with_capacity(rows * size);
                column_cells.for_each(|(cell, _)| packed.extend_from_slice(cell));
                arrays.push(fixed_column(column, &packed, nulls, rows)?);
            }
            at += size;
        }
        self.batch(arrays, rows)
    }
}

fn too_long(column: &ColumnSchema) -> Error {
    Error::protocol(format!("more than 2 GiB of the column `{}` in one answer", column.name))
}

/// A set bit is a value; bits behind the last row are not looked at.
fn not_null(bitmap: &Bytes, rows: usize) -> Result<NullBuffer> {
    if bitmap.len() < rows.div_ceil(8) {
        return Err(Error::protocol(format!("{} bytes of null bits for {rows} rows", bitmap.len())));
    }
    Ok(NullBuffer::new(BooleanBuffer::new(Buffer::from_slice_ref(bitmap), 0, rows)))
}

fn fixed_column(column: &ColumnSchema, data: &[u8], nulls: Option<NullBuffer>, rows: usize) -> Result<ArrayRef> {
    let size = column.data_type.cell_size();
    if rows.checked_mul(size) != Some(data.len()) {
        let message = format!("{} bytes of the column `{}` for {rows} rows", data.len(), column.name);
        return Err(Error::protocol(message));
    }
    fn numbers<T: ArrowPrimitiveType, const N: usize>(
        data: &[u8],
        nulls: Option<NullBuffer>,
        read: fn([u8; N]) -> T::Native,
    ) -> Result<PrimitiveArray<T>> {
        let (cells, _) = data.as_chunks::<N>();
        let values: ScalarBuffer<T::Native> = cells.iter().map(|c| read(*c)).collect();
        Ok(PrimitiveArray::try_new(values, nulls)?)
    }
    Ok(match column.data_type {
        DataType::Bool => {
            let values = BooleanBuffer::collect_bool(rows, |i| data[i] != 0);
            Arc::new(BooleanArray::new(values, nulls))
        }
        DataType::Int8 => Arc::new(numbers::<Int8Type, 1>(data, nulls, i8::from_le_bytes)?),
        DataType::Int16 => Arc::new(numbers::<Int16Type, 2>(data, nulls, i16::from_le_bytes)?),
        DataType::Int32 => Arc::new(numbers::<Int32Type, 4>(data, nulls, i32::from_le_bytes)?),
        DataType::Date => Arc::new(numbers::<Date32Type, 4>(data, nulls, i32::from_le_bytes)?),
        DataType::Int64 => Arc::new(numbers::<Int64Type, 8>(data, nulls, i64::from_le_bytes)?),
        DataType::UnixtimeMicros => {
            Arc::new(numbers::<TimestampMicrosecondType, 8>(data, nulls, i64::from_le_bytes)?.with_timezone("UTC"))
        }
        DataType::Float => Arc::new(numbers::<Float32Type, 4>(data, nulls, f32::from_le_bytes)?),
        DataType::Double => Arc::new(numbers::<Float64Type, 8>(data, nulls, f64::from_le_bytes)?),
        DataType::Decimal { precision, scale } => {
            let values: ScalarBuffer<i128> = match size {
                4 => data.as_chunks::<4>().0.iter().map(|c| i32::from_le_bytes(*c).into()).collect(),
                8 => data.as_chunks::<8>().0.iter().map(|c| i64::from_le_bytes(*c).into()).collect(),
                _ => data.as_chunks::<16>().0.iter().map(|c| i128::from_le_bytes(*c)).collect(),
            };
            Arc::new(Decimal128Array::try_new(values, nulls)?.with_precision_and_scale(precision, scale as i8)?)
        }
        DataType::String | DataType::Varchar { .. } | DataType::Binary => {
            return Err(Error::protocol("a column of variable length among the others"));
        }
    })
}

fn variable_column(
    column: &ColumnSchema,
    offsets: &Bytes,
    values: &Bytes,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<ArrayRef> {
    if rows.checked_add(1).and_then(|n| n.checked_mul(4)) != Some(offsets.len()) {
        return Err(Error::protocol(format!("{} bytes of offsets for {rows} rows", offsets.len())));
    }
    let mut last = 0;
    let mut checked = Vec::with_capacity(rows + 1);
    for offset in offsets.as_chunks::<4>().0 {
        let offset = i32::try_from(u32::from_le_bytes(*offset)).map_err(|_| too_long(column))?;
        if offset < last || offset as usize > values.len() {
            return Err(Error::protocol(format!("offset {offset} in {} bytes of `{}`", values.len(), column.name)));
        }
        last = offset;
        checked.push(offset);
    }
    texts(column, OffsetBuffer::new(checked.into()), Buffer::from_slice_ref(values), nulls)
}

fn texts(
    column: &ColumnSchema,
    offsets: OffsetBuffer<i32>,
    values: Buffer,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if column.data_type == DataType::Binary {
        return Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls)?));
    }
    // Servers do not check texts.
    let array = StringArray::try_new(offsets, values, nulls);
    let array = array.map_err(|e| {
        Error::protocol(format!("the column `{}` holds a text that is not valid UTF-8 ({e})", column.name))
    })?;
    Ok(Arc::new(array) as ArrayRef)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::kudu::columnar_row_block_pb::Column;
    use arrow::array::{Array, AsArray, Int32Array};
    use proptest::prelude::*;

    fn columns() -> Vec<ColumnSchema> {
        vec![
            ColumnSchema::new("k", DataType::Int32),
            ColumnSchema::new("s", DataType::String).nullable(),
            ColumnSchema::new("b", DataType::Bool),
            ColumnSchema::new("d", DataType::Decimal { precision: 5, scale: 2 }).nullable(),
        ]
    }
    fn sidecar(parts: &[&[u8]]) -> Bytes {
        parts.concat().into()
    }
    fn check(batch: &RecordBatch) {
        assert_eq!(batch.column(0).as_ref(), &Int32Array::from(vec![1, -2]) as &dyn Array);
        let texts: Vec<Option<&str>> = batch.column(1).as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("h\u{e9}"), None]);
        let flags: Vec<Option<bool>> = batch.column(2).as_boolean().iter().collect();
        assert_eq!(flags, [Some(true), Some(false)]);
        let numbers: Vec<Option<i128>> = batch.column(3).as_primitive::<datatypes::Decimal128Type>().iter().collect();
        assert_eq!(numbers, [None, Some(-12345)]);
    }

    #[test]
    fn both_layouts_give_the_same_batch() {
        let columns = columns();
        let schema = arrow_schema(&columns);
        let (k1, k2, d) = (1i32.to_le_bytes(), (-2i32).to_le_bytes(), (-12345i32).to_le_bytes());
        let text = "h\u{e9}".as_bytes();
        let (zero, three) = (0u64.to_le_bytes(), 3u64.to_le_bytes());
        // A bool that is not 0 is true. NULL cells take their room; null bits: the text of row 2, the number of row 1.
        let rows = sidecar(&[&k1, &zero, &three, &[7], &[0; 4], &[0b1000], &k2, &[9; 16], &[0], &d, &[0b0010]]);
        let sidecars = [rows, sidecar(&[text])];
        let target = Target { schema: &schema, columns: &columns, sidecars: &sidecars };
        let block = RowwiseRowBlockPb { num_rows: Some(2), rows_sidecar: Some(0), indirect_data_sidecar: Some(1) };
        check(&target.rowwise(&block).expect("valid"));

        let offsets = sidecar(&[&[0; 4], &3u32.to_le_bytes(), &3u32.to_le_bytes()]);
        // Bits behind the last row are set by servers.
        let sidecars = [
            sidecar(&[&k1, &k2]),
            offsets,
            sidecar(&[text]),
            sidecar(&[&[0xfd]]),
            sidecar(&[&[7, 0]]),
            sidecar(&[&[0; 4], &d]),
            sidecar(&[&[0xfe]]),
        ];
        let column = |data, values, nulls| Column {
            data_sidecar: Some(data),
            varlen_data_sidecar: values,
            non_null_bitmap_sidecar: nulls,
        };
        let columns_pb =
            vec![column(0, None, None), column(1, Some(2), Some(3)), column(4, None, None), column(5, None, Some(6))];
        let block = ColumnarRowBlockPb { num_rows: Some(2), columns: columns_pb };
        let target = Target { schema: &schema, columns: &columns, sidecars: &sidecars };
        check(&target.columnar(&block).expect("valid"));
    }

    #[test]
    fn a_projection_of_nothing_is_a_count() {
        let schema = arrow_schema(&[]);
        let target = Target { schema: &schema, columns: &[], sidecars: &[] };
        let block = RowwiseRowBlockPb { num_rows: Some(7), ..Default::default() };
        assert_eq!(target.rowwise(&block).expect("valid").num_rows(), 7);
        let block = ColumnarRowBlockPb { num_rows: Some(7), columns: vec![] };
        assert_eq!(target.columnar(&block).expect("valid").num_rows(), 7);
    }

    #[test]
    fn a_text_that_is_no_utf8_names_its_column() {
        let columns = [ColumnSchema::new("s", DataType::String)];
        let schema = arrow_schema(&columns);
        let offsets = sidecar(&[&[0; 4], &1u32.to_le_bytes()]);
        let sidecars = [offsets, sidecar(&[&[0xff]])];
        let target = Target { schema: &schema, columns: &columns, sidecars: &sidecars };
        let column = Column { data_sidecar: Some(0), varlen_data_sidecar: Some(1), non_null_bitmap_sidecar: None };
        let block = ColumnarRowBlockPb { num_rows: Some(1), columns: vec![column] };
        let e = target.columnar(&block).expect_err("no text").to_string();
        assert!(e.contains("`s` holds a text that is not valid UTF-8"), "{e}");
    }

    fn any_sidecars() -> impl Strategy<Value = Vec<Bytes>> {
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..70).prop_map(Bytes::from), 0..8)
    }
    fn index() -> impl Strategy<Value = Option<i32>> {
        prop_oneof![6 => (0i32..8).prop_map(Some), 1 => Just(None), 1 => any::<i32>().prop_map(Some)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn any_answer_is_a_batch_or_an_error(
            sidecars in any_sidecars(), rows in prop_oneof![0i64..4, any::<i64>()],
            indices in proptest::collection::vec((index(), index(), index()), 0..6),
        ) {
            let columns = columns();
            let schema = arrow_schema(&columns);
            let target = Target { schema: &schema, columns: &columns, sidecars: &sidecars };
            let first = indices.first().copied().unwrap_or_default();
            let _ = target.rowwise(&RowwiseRowBlockPb {
                num_rows: Some(rows as i32), rows_sidecar: first.0, indirect_data_sidecar: first.1,
            });
            let columns = indices.iter().map(|(d, v, n)| Column {
                data_sidecar: *d, varlen_data_sidecar: *v, non_null_bitmap_sidecar: *n,
            });
            let _ = target.columnar(&ColumnarRowBlockPb { num_rows: Some(rows), columns: columns.collect() });
        }
        #[test]
        fn any_rows_of_the_right_length_are_read_or_refused(
            cells in proptest::collection::vec(0u8..4, 52), values in proptest::collection::vec(0u8..0x80, 0..8),
        ) {
            let columns = columns();
            let schema = arrow_schema(&columns);
            let sidecars = [Bytes::from(cells), Bytes::from(values)];
            let target = Target { schema: &schema, columns: &columns, sidecars: &sidecars };
            let block = RowwiseRowBlockPb { num_rows: Some(2), rows_sidecar: Some(0), indirect_data_sidecar: Some(1) };
            let _ = target.rowwise(&block);
        }
    }
}
