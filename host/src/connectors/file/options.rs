//! Options of `filesystem` (Flink) and `file` (flinkStreamSQL).

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType, ResolvedOptions};
use std::time::Duration;

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
    OptionSpec::new(
        "monitor-interval",
        OptionType::Duration { bare: Duration::from_millis(1) },
        &[(Flink, "source.monitor-interval")],
        "Source: look for new files this often, for ever; without it the source ends after the files that it found.",
    ),
    OptionSpec::new(
        "follow",
        OptionType::Bool,
        &[(DtStack, "follow"), (Legacy, "connector.follow"), (Flink, "source.follow")],
        "Source: go on at the end of a file when it grows, also over its rotation.",
    ),
    OptionSpec::new(
        "rolling.file-size",
        OptionType::Size,
        &[(Flink, "sink.rolling-policy.file-size")],
        "Sink: a part of this size is followed by the next one.",
    ),
    OptionSpec::new(
        "rolling.interval",
        OptionType::Duration { bare: Duration::from_millis(1) },
        &[(Flink, "sink.rolling-policy.rollover-interval")],
        "Sink: a part that was begun so long ago is followed by the next one.",
    ),
    OptionSpec::new(
        "rolling.check-interval",
        OptionType::Ignored("parts are looked at as rows come, and when they are due"),
        &[(Flink, "sink.rolling-policy.check-interval")],
        "How often Flink looks for parts that are due.",
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
