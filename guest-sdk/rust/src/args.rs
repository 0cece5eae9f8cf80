//! Values of a row as Rust types.
//!
//! A parameter's column becomes a reader once a call; the loop over rows then reads without looking at layouts again.

use crate::{Date, Decimal, Time, Timestamp, TimestampLtz};
use wasmill_abi::Column;

/// A type that a parameter of a plugin function can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a plugin function",
    note = "bool, i8 to i64, f32, f64, &str, String, &[u8], Vec<u8>, Decimal, Date, Time, Timestamp, TimestampLtz, and Option of these can"
)]
pub trait Arg<'a>: Sized {
    type Reader;
    /// A NULL has no place in the type: the function is not called for such a row.
    const REQUIRED: bool = true;
    fn sql() -> String;
    /// The column has at least `rows` values of this type's layout, or this panics.
    fn reader(column: &Column<'a>, rows: usize) -> Self::Reader;
    /// A value; for a NULL, if the type is required, anything.
    fn read(reader: &Self::Reader, row: usize) -> Self;
}

/// Which rows have a NULL in a required argument.
pub struct Skipped(Option<Vec<u8>>);

impl Skipped {
    /// `required` says for each column whether its NULLs count.
    pub fn of(columns: &[Column], required: &[bool]) -> Skipped {
        let mut valid: Option<Vec<u8>> = None;
        for (column, _) in columns.iter().zip(required).filter(|(_, r)| **r) {
            match (&mut valid, column.validity) {
                (_, None) => {}
                (Some(bits), Some(more)) => bits.iter_mut().zip(more).for_each(|(a, b)| *a &= b),
                (none, Some(bits)) => *none = Some(bits.to_vec()),
            }
        }
        Skipped(valid)
    }

    #[inline]
    pub fn contains(&self, row: usize) -> bool {
        match &self.0 {
            None => false,
            Some(bits) => bits.get(row / 8).is_some_and(|b| b >> (row % 8) & 1 == 0),
        }
    }
}

/// Values of N bytes.
fn chunks<const N: usize>(bytes: &[u8], count: usize) -> &[[u8; N]] {
    &bytes.as_chunks().0[..count]
}

macro_rules! fixed {
    ($($ty:ty, $native:ty, $sql:expr, $make:expr;)*) => {$(
        impl<'a> Arg<'a> for $ty {
            type Reader = &'a [[u8; size_of::<$native>()]];
            fn sql() -> String {
                $sql.to_string()
            }
            fn reader(column: &Column<'a>, rows: usize) -> Self::Reader {
                chunks(column.data, rows)
            }
            #[inline]
            fn read(reader: &Self::Reader, row: usize) -> Self {
                $make(<$native>::from_le_bytes(reader[row]))
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
    type Reader = &'a [[u8; 16]];
    fn sql() -> String {
        format!("DECIMAL({P}, {S})")
    }
    fn reader(column: &Column<'a>, rows: usize) -> Self::Reader {
        chunks(column.data, rows)
    }
    #[inline]
    fn read(reader: &Self::Reader, row: usize) -> Self {
        Decimal(i128::from_le_bytes(reader[row]))
    }
}

impl<'a> Arg<'a> for bool {
    type Reader = &'a [u8];
    fn sql() -> String {
        "BOOLEAN".into()
    }
    fn reader(column: &Column<'a>, _: usize) -> Self::Reader {
        column.data
    }
    #[inline]
    fn read(reader: &Self::Reader, row: usize) -> Self {
        reader[row / 8] >> (row % 8) & 1 == 1
    }
}

/// Offsets and bytes.
pub struct BytesReader<'a> {
    starts: &'a [[u8; 4]],
    ends: &'a [[u8; 4]],
    data: &'a [u8],
}

impl<'a> BytesReader<'a> {
    fn new(column: &Column<'a>, rows: usize) -> Self {
        let offsets = chunks(column.offsets, rows + 1);
        BytesReader { starts: &offsets[..rows], ends: &offsets[1..], data: column.data }
    }

    #[inline]
    fn get(&self, row: usize) -> &'a [u8] {
        let (start, end) = (u32::from_le_bytes(self.starts[row]), u32::from_le_bytes(self.ends[row]));
        &self.data[start as usize..end as usize]
    }
}

macro_rules! bytes {
    ($($ty:ty, $sql:expr, $make:expr;)*) => {$(
        impl<'a> Arg<'a> for $ty {
            type Reader = BytesReader<'a>;
            fn sql() -> String {
                $sql.to_string()
            }
            fn reader(column: &Column<'a>, rows: usize) -> Self::Reader {
                BytesReader::new(column, rows)
            }
            #[inline]
            fn read(reader: &Self::Reader, row: usize) -> Self {
                let make: fn(&'a [u8]) -> $ty = $make;
                make(reader.get(row))
            }
        }
    )*};
}

/// Text that the host sent.
#[inline]
fn text(bytes: &[u8]) -> &str {
    // SAFETY: text that the host sends is UTF-8 with offsets between characters (ABI.md, "Who checks what").
    unsafe { std::str::from_utf8_unchecked(bytes) }
}

bytes! {
    &'a [u8], "BYTES", |b| b;
    Vec<u8>, "BYTES", |b| b.to_vec();
    &'a str, "STRING", text;
    String, "STRING", |b| text(b).to_string();
}

impl<'a, T: Arg<'a>> Arg<'a> for Option<T> {
    type Reader = (Option<&'a [u8]>, T::Reader);
    const REQUIRED: bool = false;
    fn sql() -> String {
        T::sql()
    }
    fn reader(column: &Column<'a>, rows: usize) -> Self::Reader {
        (column.validity, T::reader(column, rows))
    }
    #[inline]
    fn read((validity, values): &Self::Reader, row: usize) -> Self {
        let valid = validity.is_none_or(|bits| bits.get(row / 8).is_some_and(|b| b >> (row % 8) & 1 == 1));
        valid.then(|| T::read(values, row))
    }
}
