//! Options of `filesystem` (Flink) and `file` (flinkStreamSQL).

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType, ResolvedOptions};

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "path",
        OptionType::Text,
        &[(DtStack, "path"), (Legacy, "connector.path"), (Flink, "path")],
        "A file, folder or glob to read; a folder to write. Relative to the job file.",
    )
    .required(&[Legacy, Flink]),
    OptionSpec::new(
        "format",
        OptionType::Text,
        &[(DtStack, "format"), (Legacy, "format.type"), (Flink, "format")],
        "The format of a record.",
    )
    .required(&[Legacy, Flink])
    .default(&[(DtStack, "csv")]),
    OptionSpec::new(
        "regex-pattern",
        OptionType::Text,
        &[(Flink, "source.path.regex-pattern")],
        "Of a folder, only files whose whole path matches are read.",
    ),
    OptionSpec::new("file-name", OptionType::Text, &[(DtStack, "fileName")], "The file to read."),
    OptionSpec::new("file-path", OptionType::Text, &[(DtStack, "filePath")], "The folder of fileName.")
        .default(&[(DtStack, ".")]),
    OptionSpec::new(
        "location",
        OptionType::Enum(&["local", "hdfs"]),
        &[(DtStack, "location")],
        "Where the file lies; hdfs is not supported yet.",
    )
    .default(&[(DtStack, "local")]),
    OptionSpec::new("charset", OptionType::Enum(&["UTF-8"]), &[(DtStack, "charsetName")], "The encoding of text.")
        .default(&[(DtStack, "UTF-8")]),
    OptionSpec::new(
        "from-line",
        OptionType::Int { min: 1, max: i64::MAX },
        &[(DtStack, "fromLine")],
        "The first line to read, counted from 1.",
    )
    .default(&[(DtStack, "1")]),
];

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
