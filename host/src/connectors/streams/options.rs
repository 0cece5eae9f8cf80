//! Options of `stdin` and `socket`.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

pub static STDIN: &[OptionSpec] = &[OptionSpec::new(
    "format",
    OptionType::Text,
    &[(DtStack, "format"), (Legacy, "format.type"), (Flink, "format")],
    "The format of a line.",
)
.required(&[Legacy, Flink])
.default(&[(DtStack, "json")])];

pub static SOCKET: &[OptionSpec] = &[
    OptionSpec::new(
        "hostname",
        OptionType::Text,
        &[(DtStack, "host"), (Legacy, "connector.hostname"), (Flink, "hostname")],
        "The server to connect to.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "port",
        OptionType::Int { min: 1, max: 65_535 },
        &[(DtStack, "port"), (Legacy, "connector.port"), (Flink, "port")],
        "The server's port.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "delimiter",
        OptionType::Text,
        &[(DtStack, "delimiter"), (Legacy, "connector.delimiter"), (Flink, "delimiter")],
        "What ends a record: a text, in which \\n and \\t stand for newline and tabulator.",
    )
    .default(&[(DtStack, "\\n"), (Legacy, "\\n"), (Flink, "\\n")]),
    OptionSpec::new(
        "max-retries",
        OptionType::Int { min: -1, max: i64::MAX },
        &[(DtStack, "maxNumRetries"), (Legacy, "connector.max-retries"), (Flink, "max-retries")],
        "How often to connect again, a second apart, when there is no server or the connection ends; -1 is for ever. \
         Then the source is at its end.",
    )
    .default(&[(DtStack, "0"), (Legacy, "0"), (Flink, "0")]),
    OptionSpec::new(
        "format",
        OptionType::Text,
        &[(DtStack, "format"), (Legacy, "format.type"), (Flink, "format")],
        "The format of a record.",
    )
    .required(&[Legacy, Flink])
    .default(&[(DtStack, "json")]),
];
