//! Options of `filesystem` (Flink) and `file` (flinkStreamSQL).

use crate::sql::options::{OptionSpec, ResolvedOptions};

pub static OPTIONS: &[OptionSpec] = &[];

/// The path of a table: `path`, or flinkStreamSQL's filePath and fileName together.
pub fn path(options: &ResolvedOptions) -> Option<String> {
    if let Some(p) = options.text("path") {
        return Some(p.to_string());
    }
    let name = options.text("file-name")?;
    match options.text("file-path") {
        None | Some("" | ".") => Some(name.to_string()),
        Some(folder) => Some(format!("{}/{name}", folder.trim_end_matches('/'))),
    }
}
