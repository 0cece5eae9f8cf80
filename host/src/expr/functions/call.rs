//! One evaluation of a function: its arguments, and where its errors go.

use crate::data::{Reason, RowError};
use crate::expr::cast::text::offset;
use crate::expr::errors;
use arrow::array::NullBufferBuilder;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, Int64Array, PrimitiveArray, StringArray,
    UInt32Array,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use chrono_tz::Tz;
use datafusion_common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion_expr::ColumnarValue;
use std::cell::RefCell;
use std::sync::Arc;

/// A call as the planner sees it: types, and the values of constant arguments.
pub struct Binding<'a> {
    pub types: &'a [DataType],
    pub scalars: &'a [Option<&'a ScalarValue>],
}

impl Binding<'_> {
    /// The text of a constant argument; None if it is not constant (or NULL).
    pub fn text(&self, index: usize) -> Option<&str> {
        self.scalars.get(index).copied().flatten().and_then(constant_text)
    }
}

fn constant_text(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

/// A call over a batch.
pub struct Call<'a> {
    name: &'static str,
    args: &'a [ColumnarValue],
    /// Values to give.
    pub rows: usize,
    pub returns: &'a DataType,
    pub time_zone: Tz,
    row_ids: Option<&'a UInt32Array>,
    /// All arguments are: the one row stands for the whole batch.
    constant: bool,
    /// The first refusal where no row numbers are bound: constant folding at plan time.
    unbound: RefCell<Option<String>>,
}

impl<'a> Call<'a> {
    pub fn new(
        name: &'static str,
        args: &'a [ColumnarValue],
        rows: usize,
        returns: &'a DataType,
        time_zone: Tz,
        row_ids: Option<&'a UInt32Array>,
        constant: bool,
    ) -> Self {
        Self { name, args, rows, returns, time_zone, row_ids, constant, unbound: RefCell::new(None) }
    }

    /// Refuses a row; its value should be NULL.
    pub fn fail(&self, row: usize, reason: Reason, message: impl Into<String>) {
        let message = message.into();
        let Some(ids) = self.row_ids else {
            self.unbound.borrow_mut().get_or_insert(message);
            return;
        };
        let function = self.name.trim_start_matches('$').to_ascii_uppercase();
        let report = |id: u32| errors::report(RowError::new(id, reason, message.clone()).function(function.clone()));
        if self.constant {
            ids.values().iter().copied().for_each(report);
        } else if let Some(&id) = ids.values().get(row) {
            report(id);
        }
    }

    /// After the evaluation: the refusal that has no row to go to.
    pub fn finish(&self) -> Result<()> {
        match self.unbound.take() {
            Some(message) => Err(DataFusionError::Execution(message)),
            None => Ok(()),
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn arg_count(&self) -> usize {
        self.args.len()
    }

    /// An argument as a column of `rows` values.
    pub fn array(&self, index: usize) -> Result<ArrayRef> {
        match self.args.get(index) {
            Some(value) => value.to_array(self.rows),
            None => self.internal("lacks an argument"),
        }
    }

    pub fn texts(&self, index: usize) -> Result<Texts<'a>> {
        match self.args.get(index) {
            Some(ColumnarValue::Scalar(s)) if s.is_null() => Ok(Texts::Constant(None)),
            Some(ColumnarValue::Scalar(s)) => match constant_text(s) {
                Some(text) => Ok(Texts::Constant(Some(text))),
                None => self.internal("expects text"),
            },
            Some(ColumnarValue::Array(a)) => match a.as_any().downcast_ref::<StringArray>() {
                Some(a) => Ok(Texts::Column(a)),
                None => self.internal("expects text"),
            },
            None => self.internal("lacks an argument"),
        }
    }

    pub fn numbers<T: ArrowPrimitiveType>(&self, index: usize) -> Result<PrimitiveArray<T>> {
        match self.array(index)?.as_any().downcast_ref::<PrimitiveArray<T>>() {
            Some(a) => Ok(a.clone()),
            None => self.internal("got an argument of another type than it was planned for"),
        }
    }

    /// A text per row; None is NULL, and what `f` had written for it is dropped.
    pub fn text_rows(&self, mut f: impl FnMut(usize, &mut String) -> Option<()>) -> Result<ArrayRef> {
        let mut data = String::new();
        let mut offsets = Vec::with_capacity(self.rows + 1);
        offsets.push(0);
        let mut valid = NullBufferBuilder::new(self.rows);
        for row in 0..self.rows {
            let start = data.len();
            match f(row, &mut data) {
                Some(()) => valid.append_non_null(),
                None => {
                    data.truncate(start);
                    valid.append_null();
                }
            }
            offsets.push(offset(data.len())?);
        }
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(data.into_bytes()), valid.finish())?))
    }

    /// A number, a date or a timestamp per row, of the type `T`, which is the call's.
    pub fn primitive_rows<T: ArrowPrimitiveType>(&self, f: impl FnMut(usize) -> Option<T::Native>) -> ArrayRef {
        let values: PrimitiveArray<T> = (0..self.rows).map(f).collect();
        Arc::new(values)
    }

    pub fn boolean_rows(&self, f: impl FnMut(usize) -> Option<bool>) -> ArrayRef {
        Arc::new((0..self.rows).map(f).collect::<BooleanArray>())
    }

    pub fn longs(&self, index: usize) -> Result<Int64Array> {
        self.numbers::<Int64Type>(index)
    }

    pub fn doubles(&self, index: usize) -> Result<Float64Array> {
        self.numbers::<Float64Type>(index)
    }

    pub fn internal<T>(&self, what: &str) -> Result<T> {
        internal_err!("function {} {what}", self.name)
    }
}

/// The value in a row; None: NULL.
pub fn at<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// A text argument.
#[derive(Clone, Copy)]
pub enum Texts<'a> {
    Column(&'a StringArray),
    Constant(Option<&'a str>),
}

impl<'a> Texts<'a> {
    pub fn get(&self, row: usize) -> Option<&'a str> {
        match self {
            Texts::Column(a) => a.is_valid(row).then(|| a.value(row)),
            Texts::Constant(text) => *text,
        }
    }

    /// Which rows are not NULL; None: all.
    pub fn nulls(&self, rows: usize) -> Option<NullBuffer> {
        match self {
            Texts::Column(a) => a.nulls().cloned(),
            Texts::Constant(Some(_)) => None,
            Texts::Constant(None) => Some(NullBuffer::new_null(rows)),
        }
    }
}
