//! Rust types as results.

use crate::columns::{BoolColumn, BytesColumn, FixedColumn, OutColumn, Outcome, RowColumn, RowErrors, TextColumn};
use crate::{Date, Decimal, Time, Timestamp, TimestampLtz};
use std::borrow::Cow;
use std::fmt::Display;

/// A type that a plugin function can return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a plugin function",
    note = "the types of parameters can, tuples of two to four of them, and Option and Result of these"
)]
pub trait Ret {
    type Column: OutColumn;
    fn sql() -> String;
    /// Sets the value of a row.
    fn put(self, column: &mut Self::Column, row: usize, errors: &mut RowErrors);
}

macro_rules! fixed {
    ($($ty:ty, $native:ty, $code:expr, $sql:expr, $value:expr;)*) => {$(
        impl Ret for $ty {
            type Column = FixedColumn<$native, $code>;
            fn sql() -> String {
                $sql.to_string()
            }
            #[inline]
            fn put(self, column: &mut Self::Column, row: usize, _: &mut RowErrors) {
                let value: fn($ty) -> $native = $value;
                column.set(row, value(self));
            }
        }
    )*};
}

fixed! {
    i8, i8, 2, "TINYINT", |v| v;
    i16, i16, 3, "SMALLINT", |v| v;
    i32, i32, 4, "INT", |v| v;
    i64, i64, 5, "BIGINT", |v| v;
    f32, f32, 6, "FLOAT", |v| v;
    f64, f64, 7, "DOUBLE", |v| v;
    Date, i32, 13, "DATE", |v| v.0;
    Time, i64, 14, "TIME(6)", |v| v.0;
    Timestamp, i64, 15, "TIMESTAMP(6)", |v| v.0;
    TimestampLtz, i64, 16, "TIMESTAMP_LTZ(6)", |v| v.0;
}

impl<const P: u8, const S: u8> Ret for Decimal<P, S> {
    type Column = FixedColumn<i128, 8>;
    fn sql() -> String {
        format!("DECIMAL({P}, {S})")
    }
    #[inline]
    fn put(self, column: &mut Self::Column, row: usize, _: &mut RowErrors) {
        column.set(row, self.0);
    }
}

impl Ret for bool {
    type Column = BoolColumn;
    fn sql() -> String {
        "BOOLEAN".into()
    }
    #[inline]
    fn put(self, column: &mut Self::Column, row: usize, _: &mut RowErrors) {
        column.set(row, self);
    }
}

macro_rules! var {
    ($($ty:ty, $column:ty, $sql:expr, $bytes:ident;)*) => {$(
        impl Ret for $ty {
            type Column = $column;
            fn sql() -> String {
                $sql.to_string()
            }
            #[inline]
            fn put(self, column: &mut Self::Column, row: usize, _: &mut RowErrors) {
                column.set(row, self.$bytes());
            }
        }
    )*};
}

var! {
    String, TextColumn, "STRING", as_bytes;
    &str, TextColumn, "STRING", as_bytes;
    Cow<'_, str>, TextColumn, "STRING", as_bytes;
    Vec<u8>, BytesColumn, "BYTES", as_slice;
    &[u8], BytesColumn, "BYTES", as_ref;
}

impl<T: Ret> Ret for Option<T> {
    type Column = T::Column;
    fn sql() -> String {
        T::sql()
    }
    #[inline]
    fn put(self, column: &mut Self::Column, row: usize, errors: &mut RowErrors) {
        match self {
            Some(value) => value.put(column, row, errors),
            None => column.set_null(row),
        }
    }
}

impl<T: Ret, E: Display> Ret for Result<T, E> {
    type Column = T::Column;
    fn sql() -> String {
        T::sql()
    }
    #[inline]
    fn put(self, column: &mut Self::Column, row: usize, errors: &mut RowErrors) {
        match self {
            Ok(value) => value.put(column, row, errors),
            Err(e) => {
                column.set_null(row);
                errors.push(row, e.to_string());
            }
        }
    }
}

macro_rules! tuple {
    ($($ty:ident $index:tt),*) => {
        impl<$($ty: Ret),*> Ret for ($($ty,)*) {
            type Column = RowColumn<($($ty::Column,)*)>;
            fn sql() -> String {
                let members = [$(format!("`f{}` {}", $index, $ty::sql())),*];
                format!("ROW<{}>", members.join(", "))
            }
            #[inline]
            fn put(self, column: &mut Self::Column, row: usize, errors: &mut RowErrors) {
                $(self.$index.put(&mut column.members.$index, row, errors);)*
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);

/// What a function with `&mut Text` may return.
#[diagnostic::on_unimplemented(message = "a function that writes to `Text` returns (), Option<()> or Result<(), E>")]
pub trait Written {
    fn outcome(self) -> Outcome;
}

impl Written for () {
    #[inline]
    fn outcome(self) -> Outcome {
        Outcome::Value
    }
}

impl<W: Written> Written for Option<W> {
    #[inline]
    fn outcome(self) -> Outcome {
        self.map_or(Outcome::Null, W::outcome)
    }
}

impl<W: Written, E: Display> Written for Result<W, E> {
    #[inline]
    fn outcome(self) -> Outcome {
        match self {
            Ok(written) => written.outcome(),
            Err(e) => Outcome::Refused(e.to_string()),
        }
    }
}

/// What a formatter may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a formatter",
    note = "String and Vec<u8> can, and Option (None: no record) and Result of these"
)]
pub trait Record {
    fn put(self, column: &mut BytesColumn, row: usize, errors: &mut RowErrors);
}

impl Record for String {
    fn put(self, column: &mut BytesColumn, row: usize, _: &mut RowErrors) {
        column.set(row, self.as_bytes());
    }
}

impl Record for Vec<u8> {
    fn put(self, column: &mut BytesColumn, row: usize, _: &mut RowErrors) {
        column.set(row, &self);
    }
}

impl<R: Record> Record for Option<R> {
    fn put(self, column: &mut BytesColumn, row: usize, errors: &mut RowErrors) {
        match self {
            Some(record) => record.put(column, row, errors),
            None => column.set_null(row),
        }
    }
}

impl<R: Record, E: Display> Record for Result<R, E> {
    fn put(self, column: &mut BytesColumn, row: usize, errors: &mut RowErrors) {
        match self {
            Ok(record) => record.put(column, row, errors),
            Err(e) => {
                column.set_null(row);
                errors.push(row, e.to_string());
            }
        }
    }
}
