//! Records as decoders see them, and the rows that they make of them.

use crate::Config;
use crate::fit::{Cell, fit, parse};
use crate::plugin::Input;
use std::fmt::Display;
use wasmill_abi::value::{Value, encode_answer};
use wasmill_abi::{Field, FrameError, Type};

/// The rows of one record. They become rows of the table, in the order in which they were added; a record without
/// rows is dropped without a word.
pub struct Rows<'a> {
    fields: &'a [Field],
    rows: &'a mut Vec<Vec<Value>>,
    fault: &'a mut Option<String>,
}

impl Rows<'_> {
    /// Adds a row. Its columns are NULL until they are set.
    pub fn add(&mut self) -> NewRow<'_> {
        self.rows.push(vec![Value::Null; self.fields.len()]);
        let last = self.rows.len() - 1;
        NewRow { fields: self.fields, values: &mut self.rows[last], fault: self.fault }
    }

    /// The columns that the query needs, by name and type; often fewer than the table has.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Type)> {
        self.fields.iter().map(|f| (f.name.as_str(), &f.ty))
    }

    /// Whether the query needs this column.
    pub fn wants(&self, column: &str) -> bool {
        self.fields.iter().any(|f| f.name == column)
    }
}

/// A row that is being filled.
pub struct NewRow<'a> {
    fields: &'a [Field],
    values: &'a mut Vec<Value>,
    fault: &'a mut Option<String>,
}

impl NewRow<'_> {
    /// Sets a column. A column that the query does not need is passed over; a value that the column's type cannot hold
    /// refuses the record.
    pub fn set(&mut self, column: &str, value: impl Into<Cell>) -> &mut Self {
        self.put(column, |ty| fit(value.into(), ty))
    }

    /// As [`Self::set`], from the text of a value in SQL's spelling: `-7`, `1.50`, `true`, `2020-02-29 23:59:59.5`.
    pub fn parse(&mut self, column: &str, text: &str) -> &mut Self {
        self.put(column, |ty| parse(text, ty))
    }

    fn put(&mut self, column: &str, value: impl FnOnce(&Type) -> Result<Value, String>) -> &mut Self {
        if let Some(index) = self.fields.iter().position(|f| f.name == column) {
            let ty = &self.fields[index].ty;
            match value(ty) {
                Ok(value) => self.values[index] = value,
                Err(message) => {
                    self.fault.get_or_insert_with(|| format!("column {column} ({ty}): {message}"));
                }
            }
        }
        self
    }
}

/// What a decoder may take for the record.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the record of a decoder",
    note = "&[u8] and &str can, and Option of these (None: the record has no value)"
)]
pub trait RecordArg<'a>: Sized {
    fn from_record(record: Option<&'a [u8]>) -> Result<Self, String>;
}

impl<'a> RecordArg<'a> for &'a [u8] {
    fn from_record(record: Option<&'a [u8]>) -> Result<Self, String> {
        record.ok_or_else(|| "the record has no value".to_string())
    }
}

impl<'a> RecordArg<'a> for &'a str {
    fn from_record(record: Option<&'a [u8]>) -> Result<Self, String> {
        let bytes = <&[u8]>::from_record(record)?;
        std::str::from_utf8(bytes).map_err(|_| "the record is not valid UTF-8".to_string())
    }
}

impl<'a, T: RecordArg<'a>> RecordArg<'a> for Option<T> {
    fn from_record(record: Option<&'a [u8]>) -> Result<Self, String> {
        record.map(|r| T::from_record(Some(r))).transpose()
    }
}

/// What a decoder may return.
#[diagnostic::on_unimplemented(message = "a decoder returns () or Result<(), E>")]
pub trait DecodeOutcome {
    fn outcome(self) -> Result<(), String>;
}

impl DecodeOutcome for () {
    fn outcome(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> DecodeOutcome for Result<(), E> {
    fn outcome(self) -> Result<(), String> {
        self.map_err(|e| e.to_string())
    }
}

/// The rows of a call's records.
pub struct Decoding<'a> {
    input: &'a Input<'a>,
    rows: Vec<Vec<Value>>,
    sources: Vec<u32>,
    errors: Vec<(u32, String)>,
}

impl<'a> Decoding<'a> {
    pub fn new(input: &'a Input<'a>) -> Self {
        Self { input, rows: Vec::new(), sources: Vec::new(), errors: Vec::new() }
    }

    /// One record after the other. What a refused record has added is taken back.
    pub fn record(
        &mut self,
        index: usize,
        decode: impl FnOnce(Option<&'a [u8]>, &mut Rows, &'a Config) -> Result<(), String>,
    ) {
        let known = self.rows.len();
        let mut fault = None;
        let mut rows = Rows { fields: self.input.output.fields(), rows: &mut self.rows, fault: &mut fault };
        let outcome = decode(self.input.record(index), &mut rows, self.input.config);
        if let Some(message) = outcome.err().or(fault) {
            self.rows.truncate(known);
            self.errors.push((index as u32, message));
        }
        self.sources.resize(self.rows.len(), index as u32);
    }

    pub(crate) fn frame(&self) -> Result<Vec<u8>, FrameError> {
        encode_answer(self.input.output, &self.rows, &self.sources, &self.errors)
    }
}
