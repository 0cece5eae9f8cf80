//! One evaluation of a function: its arguments, and where its errors go.

use crate::data::{Reason, RowError};
use crate::expr::errors;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use chrono_tz::Tz;
use datafusion_common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion_expr::ColumnarValue;
use std::cell::RefCell;

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

    pub fn internal<T>(&self, what: &str) -> Result<T> {
        internal_err!("function {} {what}", self.name)
    }
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
