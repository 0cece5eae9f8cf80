//! The frame: rows as columns, one block of bytes. See ABI.md, section "Frame".

mod read;
mod write;

pub use read::{Check, Column, Frame, RowErrorEntry};
pub use write::{FramePlan, FrameWriter, row_errors_len, write_row_errors};

const MAGIC: &[u8; 4] = b"WMFR";
const HEADER: usize = 32;
const SECTION: usize = 16;
const NODE: usize = 32;
const ROW_ERROR: usize = 16;

#[cfg(test)]
mod tests;
