//! The elements of array arguments, side by side: what array functions compare and choose from.

use super::Call;
use arrow::array::NullBufferBuilder;
use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt32Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{concat, take};
use arrow::datatypes::Field;
use arrow::row::{Row, RowConverter, Rows, SortField};
use datafusion_common::Result;
use std::ops::Range;
use std::sync::Arc;

pub struct Pool {
    pub values: ArrayRef,
    lists: Vec<(ListArray, usize)>,
    /// Where each plain column begins.
    columns: Vec<usize>,
    rows: Option<Rows>,
}

impl Pool {
    /// Lists (arguments by index) and plain columns of the same element type.
    pub fn new(call: &Call<'_>, lists: impl IntoIterator<Item = usize>, columns: &[usize]) -> Result<Self> {
        let (mut parts, mut read, mut starts, mut length) = (vec![], vec![], vec![], 0);
        for index in lists {
            let list = call.array(index)?;
            let Some(list) = list.as_list_opt::<i32>() else { return call.internal("expects an array") };
            read.push((list.clone(), length));
            length += list.values().len();
            parts.push(list.values().clone());
        }
        for &index in columns {
            let column = call.array(index)?;
            starts.push(length);
            length += column.len();
            parts.push(column);
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        let values = concat(&parts)?;
        Ok(Self { values, lists: read, columns: starts, rows: None })
    }

    /// With the elements made comparable.
    pub fn comparable(mut self) -> Result<Self> {
        let converter = RowConverter::new(vec![SortField::new(self.values.data_type().clone())])?;
        self.rows = Some(converter.convert_columns(std::slice::from_ref(&self.values))?);
        Ok(self)
    }

    /// The elements of a list in a row; None: NULL.
    pub fn range(&self, list: usize, row: usize) -> Option<Range<usize>> {
        let (list, start) = &self.lists[list];
        list.is_valid(row).then(|| {
            let offsets = list.value_offsets();
            start + offsets[row] as usize..start + offsets[row + 1] as usize
        })
    }

    /// The value of a plain column.
    pub fn value(&self, column: usize, row: usize) -> usize {
        self.columns[column] + row
    }

    pub fn is_null(&self, element: usize) -> bool {
        self.values.is_null(element)
    }

    /// The element as something that compares and hashes; NULLs are equal, and before all others.
    pub fn key(&self, element: usize) -> Option<Row<'_>> {
        self.rows.as_ref().map(|rows| rows.row(element))
    }

    /// A list per row of the elements that `f` names; None: NULL.
    pub fn gather(&self, call: &Call<'_>, mut f: impl FnMut(usize, &mut Vec<u32>) -> Option<()>) -> Result<ArrayRef> {
        let (mut chosen, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
        let mut valid = NullBufferBuilder::new(call.rows);
        for row in 0..call.rows {
            let start = chosen.len();
            match f(row, &mut chosen) {
                Some(()) => valid.append_non_null(),
                None => {
                    chosen.truncate(start);
                    valid.append_null();
                }
            }
            lengths.push(chosen.len() - start);
        }
        crate::expr::cast::text::offset(chosen.len())?;
        let values = take(&self.values, &UInt32Array::from(chosen), None)?;
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, valid.finish())?))
    }

    /// An element per row; None: NULL.
    pub fn pick(&self, call: &Call<'_>, f: impl FnMut(usize) -> Option<usize>) -> Result<ArrayRef> {
        let mut f = f;
        let chosen: UInt32Array = (0..call.rows).map(|row| f(row).map(|e| e as u32)).collect();
        Ok(take(&self.values, &chosen, None)?)
    }
}
