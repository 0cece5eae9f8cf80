//! Options of `sqlite`.

use crate::sql::options::Dialect::{DtStack, Flink};
use crate::sql::options::{OptionSpec, OptionType};
use std::time::Duration;

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "path",
        OptionType::Text,
        &[(DtStack, "path"), (Flink, "path")],
        "The database file, relative to the job file; made on first use.",
    )
    .required(&[DtStack, Flink]),
    OptionSpec::new(
        "table",
        OptionType::Text,
        &[(DtStack, "table"), (DtStack, "tableName"), (Flink, "table"), (Flink, "table-name")],
        "The table in the database; made on first use.",
    )
    .required(&[DtStack, Flink]),
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        OptionType::Int { min: 0, max: 1_000_000 },
        &[(DtStack, "batchSize"), (Flink, "sink.buffer-flush.max-rows")],
        "Rows in one transaction.",
    ),
    OptionSpec::new(
        "sink.buffer-flush.interval",
        OptionType::Duration { bare: Duration::from_millis(1) },
        &[(DtStack, "batchWaitInterval"), (Flink, "sink.buffer-flush.interval")],
        "The longest time that a row waits for its transaction.",
    ),
];
