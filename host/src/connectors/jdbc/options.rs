//! Options of `jdbc`: flinkStreamSQL's `mysql` and `postgresql` sinks and side tables, Flink's and legacy `jdbc`.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};
use std::time::Duration;

const MS: OptionType = OptionType::Duration { bare: Duration::from_millis(1) };
const COUNT: OptionType = OptionType::Int { min: 0, max: i64::MAX };
const ANY: OptionType = OptionType::Int { min: i64::MIN, max: i64::MAX };

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "url",
        OptionType::Text,
        &[(DtStack, "url"), (Legacy, "connector.url"), (Flink, "url")],
        "The database: jdbc:mysql://host:3306/database, jdbc:mariadb:.. or jdbc:postgresql:..",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "table",
        OptionType::Text,
        &[(DtStack, "tableName"), (Legacy, "connector.table"), (Flink, "table-name")],
        "The table in the database.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "username",
        OptionType::Text,
        &[(DtStack, "userName"), (Legacy, "connector.username"), (Flink, "username")],
        "Who to log in as.",
    )
    .required(&[DtStack]),
    OptionSpec::new(
        "password",
        OptionType::Text,
        &[(DtStack, "password"), (Legacy, "connector.password"), (Flink, "password")],
        "The user's password.",
    )
    .required(&[DtStack])
    .sensitive(),
    OptionSpec::new(
        "schema",
        OptionType::Text,
        &[(DtStack, "schema")],
        "The database (MySQL) or schema (PostgreSQL) that the table is in, if not that of the URL.",
    ),
    OptionSpec::new(
        "driver",
        OptionType::Ignored("no JDBC driver is needed"),
        &[(Legacy, "connector.driver"), (Flink, "driver")],
        "No JDBC driver is needed.",
    ),
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        OptionType::Int { min: 0, max: 10_000 },
        &[(DtStack, "batchSize")],
        "Sink: rows in one write.",
    )
    .default(&[(DtStack, "100")]),
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        OptionType::Int { min: 0, max: 1_000_000 },
        &[(Legacy, "connector.write.flush.max-rows"), (Flink, "sink.buffer-flush.max-rows")],
        "Sink: rows in one write.",
    )
    .default(&[(Legacy, "5000"), (Flink, "100")]),
    OptionSpec::new(
        "sink.buffer-flush.interval",
        MS,
        &[
            (DtStack, "batchWaitInterval"),
            (Legacy, "connector.write.flush.interval"),
            (Flink, "sink.buffer-flush.interval"),
        ],
        "Sink: the longest time that a row waits for its write; 0 is for ever.",
    )
    .default(&[(DtStack, "1000"), (Legacy, "0"), (Flink, "1 s")]),
    OptionSpec::new(
        "sink.max-retries",
        COUNT,
        &[(Legacy, "connector.write.max-retries"), (Flink, "sink.max-retries")],
        "Sink: retries of a failed write.",
    )
    .default(&[(Legacy, "3"), (Flink, "3")]),
    OptionSpec::new(
        "replace-all",
        OptionType::Bool,
        &[(DtStack, "allReplace")],
        "Sink with a key: true writes NULLs over old values, false leaves the old value where the new one is NULL.",
    )
    .default(&[(DtStack, "false")]),
    OptionSpec::new(
        "sink.null-policy",
        OptionType::Enum(&["keep", "overwrite"]),
        &[(DtStack, "nullPolicy"), (Legacy, "connector.write.null-policy"), (Flink, "sink.null-policy")],
        "Sink with a key: what a NULL does to the value of the row that is there. Without it: as allReplace says in \
         flinkStreamSQL, overwrite elsewhere.",
    ),
    OptionSpec::new(
        "update-mode",
        OptionType::Enum(&["append", "upsert", "retract"]),
        &[(DtStack, "updateMode"), (Legacy, "update-mode")],
        "Sink: append inserts only; upsert deletes and updates by the PRIMARY KEY. With a key: upsert.",
    ),
    OptionSpec::new(
        "fast-check",
        OptionType::Ignored("a job looks at its tables before its first row, always"),
        &[(DtStack, "fastCheck")],
        "Look at the table at submit.",
    ),
    OptionSpec::new(
        "connection.max-retry-timeout",
        MS,
        &[(Flink, "connection.max-retry-timeout")],
        "Time limit of connecting.",
    )
    .default(&[(Flink, "60 s")]),
    OptionSpec::new(
        "scan.partition.column",
        OptionType::Text,
        &[(Flink, "scan.partition.column"), (Legacy, "connector.read.partition.column")],
        "Source: the column that the table is split by.",
    ),
    OptionSpec::new(
        "scan.partition.num",
        OptionType::Int { min: 1, max: 10_000 },
        &[(Flink, "scan.partition.num"), (Legacy, "connector.read.partition.num")],
        "Source: the number of splits.",
    ),
    OptionSpec::new(
        "scan.partition.lower-bound",
        ANY,
        &[(Flink, "scan.partition.lower-bound"), (Legacy, "connector.read.partition.lower-bound")],
        "Source: the smallest value of the first split.",
    ),
    OptionSpec::new(
        "scan.partition.upper-bound",
        ANY,
        &[(Flink, "scan.partition.upper-bound"), (Legacy, "connector.read.partition.upper-bound")],
        "Source: the largest value of the last split.",
    ),
    OptionSpec::new(
        "scan.fetch-size",
        COUNT,
        &[(Flink, "scan.fetch-size"), (Legacy, "connector.read.fetch-size")],
        "Source: rows in one batch at most.",
    ),
    OptionSpec::new(
        "filter.handling.policy",
        OptionType::Enum(&["always", "never"]),
        &[(Flink, "filter.handling.policy")],
        "Source and side table: whether conditions of the query are sent to the database where they mean the same there.",
    )
    .default(&[(Flink, "always")]),
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "connector.property-version")],
        "1",
    ),
];
