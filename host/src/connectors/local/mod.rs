//! Records in local files and on the standard streams: what the file connector, the console and the stand-ins share.

pub mod follow;
pub mod load;
pub mod reader;
pub mod records;
pub mod sink;

use super::api::TableContext;
use crate::error::{Error, Result};
use crate::formats::Framing;
use std::path::Path;

/// An I/O failure of a path, with what the user can do about it.
pub fn io_error(table: &str, doing: &str, path: &Path, e: &std::io::Error) -> Error {
    let error = Error::external(format!("table {table}: cannot {doing} {}: {e}", path.display()));
    match e.kind() {
        std::io::ErrorKind::NotFound => error.with_hint("paths in SQL start at the folder of the job file"),
        std::io::ErrorKind::PermissionDenied => error.with_hint("the user who runs the job needs access to it"),
        _ => error,
    }
}

/// A file or a standard stream holds one record after the other, so their bytes must say where each ends.
pub fn check_framing(cx: &TableContext) -> Result<()> {
    match &cx.format {
        Some(format) if format.framing() == Framing::Messages => Err(Error::user(format!(
            "table {}: records of the format {} cannot be told apart in a file",
            cx.table,
            format.identifier()
        ))
        .with_hint(
            "message systems keep them apart; a file holds lines of json or csv, or avro with 'avro.encoding' = 'json'",
        )),
        _ => Ok(()),
    }
}
