//! Writes Wasmill plugins in Rust.
//!
//! ```
//! #[wasmill_guest::scalar]
//! fn mask(s: &str) -> String {
//!     s.chars().map(|_| '*').collect()
//! }
//! ```
//!
//! `cargo build --release --target wasm32-unknown-unknown` with `crate-type = ["cdylib"]` makes the plugin; SQL
//! declares `CREATE FUNCTION mask AS 'mask' LANGUAGE WASM USING 'plugin.wasm'`.
//!
//! | Rust | SQL |
//! | --- | --- |
//! | `bool`, `i8`, `i16`, `i32`, `i64`, `f32`, `f64` | BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE |
//! | `&str`, `String` | STRING |
//! | `&[u8]`, `Vec<u8>` | BYTES |
//! | [`Decimal<P, S>`](Decimal) | DECIMAL(P, S) |
//! | [`Date`], [`Time`], [`Timestamp`], [`TimestampLtz`] | DATE, TIME(6), TIMESTAMP(6), TIMESTAMP_LTZ(6) |
//! | a tuple, as a result | ROW<f0, f1, ..> |
//! | `Option<T>` | the same type; NULL is None |
//! | `Result<T, E: Display>`, as a result | the same type; an error refuses the row, with its text |
//!
//! A NULL for a parameter that is no `Option` gives NULL without a call. A panic is a trap: the row is refused with
//! the panic's text, and the next row meets a fresh instance.
//!
//! Long results can be written in place: a parameter `out: &mut Text` is not an argument but (a part of) the result;
//! several of them make a ROW with their names. A parameter `config: &Config` gives the options of the SQL statement.
//!
//! A formatter turns a row into a record:
//!
//! ```
//! use wasmill_guest::{Config, Row, formatter};
//!
//! #[formatter]
//! fn tabs(row: &Row, config: &Config) -> String {
//!     let separator = config.get("separator").unwrap_or("\t");
//!     (0..row.len()).map(|i| row.text(i)).collect::<Vec<_>>().join(separator)
//! }
//! ```
//!
//! A decoder turns a record into any number of rows; an error, or a value that does not fit its column, refuses the
//! record with all its rows:
//!
//! ```
//! use wasmill_guest::{Rows, decoder};
//!
//! #[decoder]
//! fn readings(record: &str, rows: &mut Rows) -> Result<(), String> {
//!     let (sensor, values) = record.split_once(':').ok_or("no colon")?;
//!     for value in values.split(',') {
//!         rows.add().set("sensor", sensor).parse("value", value);
//!     }
//!     Ok(())
//! }
//! ```

mod args;
mod columns;
mod config;
mod decode;
#[cfg(target_arch = "wasm32")]
mod exports;
mod fit;
mod plugin;
mod results;
mod row;
mod show;
mod values;

pub use columns::Text;
pub use config::Config;
pub use decode::{NewRow, Rows};
pub use fit::Cell;
pub use row::{Row, RowKind};
pub use values::{Date, Decimal, Time, Timestamp, TimestampLtz};
/// Nested values for [`NewRow::set`].
pub use wasmill_abi::value::Value;
pub use wasmill_guest_macros::{decoder, formatter, scalar};

/// For the code that the attributes write.
#[doc(hidden)]
pub mod __private {
    pub use crate::args::{Arg, Skipped};
    pub use crate::columns::{BytesColumn, OutColumn, RowErrors, TextColumns, text_columns_sql};
    pub use crate::decode::{DecodeOutcome, Decoding, RecordArg};
    pub use crate::plugin::{Answer, Function, Input, Kind, Plugin, register};
    pub use crate::results::{Record, Ret, Written};
}
