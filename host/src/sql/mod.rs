//! Job text to statements. No I/O here; everything has a place in the text.
pub mod ast;
pub mod options;
