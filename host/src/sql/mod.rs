//! Job text to statements. No I/O here; everything has a place in the text.
pub mod ast;
pub mod codes;
mod create_function;
mod create_table;
mod cursor;
pub mod databases;
mod declared_view;
pub mod dialect;
pub mod interval;
pub mod like;
mod option_value;
pub mod options;
pub mod parser;
mod resolve;
mod sequence;
pub mod special_forms;
mod statements;
pub mod suggest;
mod table_like;
mod text;
mod time_attributes;
pub mod types;
mod unnest;
pub mod unsupported;
mod unsupported_expr;
mod with_options;

pub use parser::parse_script;
