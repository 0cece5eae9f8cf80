//! Options of `console` (flinkStreamSQL) and `print` (Flink).

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "format",
        OptionType::Text,
        &[(DtStack, "format"), (Legacy, "format.type"), (Flink, "format")],
        "How a row is written; JSON lines without it. 'wasm' is a plugin formatter.",
    ),
    OptionSpec::new(
        "print-identifier",
        OptionType::Text,
        &[(Flink, "print-identifier")],
        "A text in front of every line.",
    ),
    OptionSpec::new("standard-error", OptionType::Bool, &[(Flink, "standard-error")], "Print to stderr.")
        .default(&[(Flink, "false")]),
];
