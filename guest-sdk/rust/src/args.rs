//! Values of a row as Rust types.

use crate::{Date, Decimal, Time, Timestamp, TimestampLtz};
use wasmill_abi::Column;

/// A type that a parameter of a plugin function can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a plugin function",
    note = "bool, i8 to i64, f32, f64, &str, String, &[u8], Vec<u8>, Decimal, Date, Time, Timestamp, TimestampLtz, and Option of these can"
)]
pub trait Arg<'a>: Sized {
    fn sql() -> String;
    /// None: NULL, and the type has no place for it.
    fn get(column: &Column<'a>, row: usize) -> Option<Self>;
}

macro_rules! fixed {
    ($($ty:ty, $native:ty, $sql:expr, $make:expr;)*) => {$(
        impl<'a> Arg<'a> for $ty {
            fn sql() -> String {
                $sql.to_string()
            }
            #[inline]
            fn get(column: &Column<'a>, row: usize) -> Option<Self> {
                const N: usize = size_of::<$native>();
                if !column.is_valid(row) {
                    return None;
                }
                let bytes = column.data.get(row * N..row * N + N)?;
                Some($make(<$native>::from_le_bytes(bytes.try_into().ok()?)))
            }
        }
    )*};
}

fixed! {
    i8, i8, "TINYINT", |v| v;
    i16, i16, "SMALLINT", |v| v;
    i32, i32, "INT", |v| v;
    i64, i64, "BIGINT", |v| v;
    f32, f32, "FLOAT", |v| v;
    f64, f64, "DOUBLE", |v| v;
    Date, i32, "DATE", Date;
    Time, i64, "TIME(6)", Time;
    Timestamp, i64, "TIMESTAMP(6)", Timestamp;
    TimestampLtz, i64, "TIMESTAMP_LTZ(6)", TimestampLtz;
}

impl<'a, const P: u8, const S: u8> Arg<'a> for Decimal<P, S> {
    fn sql() -> String {
        format!("DECIMAL({P}, {S})")
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        let bytes = column.data.get(row * 16..row * 16 + 16).filter(|_| column.is_valid(row))?;
        Some(Decimal(i128::from_le_bytes(bytes.try_into().ok()?)))
    }
}

impl<'a> Arg<'a> for bool {
    fn sql() -> String {
        "BOOLEAN".into()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        column.is_valid(row).then(|| column.data.get(row / 8).is_some_and(|b| b >> (row % 8) & 1 == 1))
    }
}

impl<'a> Arg<'a> for &'a [u8] {
    fn sql() -> String {
        "BYTES".into()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        column.is_valid(row).then(|| column.bytes(row))
    }
}

impl<'a> Arg<'a> for &'a str {
    fn sql() -> String {
        "STRING".into()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        // SAFETY: text that the host sends is UTF-8 with offsets between characters (ABI.md, "Who checks what").
        column.is_valid(row).then(|| unsafe { std::str::from_utf8_unchecked(column.bytes(row)) })
    }
}

impl<'a> Arg<'a> for String {
    fn sql() -> String {
        "STRING".into()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        <&str>::get(column, row).map(str::to_string)
    }
}

impl<'a> Arg<'a> for Vec<u8> {
    fn sql() -> String {
        "BYTES".into()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        <&[u8]>::get(column, row).map(<[u8]>::to_vec)
    }
}

impl<'a, T: Arg<'a>> Arg<'a> for Option<T> {
    fn sql() -> String {
        T::sql()
    }
    #[inline]
    fn get(column: &Column<'a>, row: usize) -> Option<Self> {
        Some(T::get(column, row))
    }
}
