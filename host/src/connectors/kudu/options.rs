//! Options of Kudu: flinkStreamSQL's sink and side table, Bahir's legacy and dynamic tables.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};
use std::time::Duration;

const MS: OptionType = OptionType::Duration { bare: Duration::from_millis(1) };
const COUNT: OptionType = OptionType::Int { min: 0, max: i64::MAX };
const POSITIVE: OptionType = OptionType::Int { min: 1, max: i32::MAX as i64 };

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "masters",
        OptionType::List,
        &[(DtStack, "kuduMasters"), (Legacy, "kudu.masters"), (Flink, "kudu.masters")],
        "The Kudu masters: host or host:port, separated by commas.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "table",
        OptionType::Text,
        &[(DtStack, "tableName"), (Legacy, "kudu.table"), (Flink, "kudu.table")],
        "The table in Kudu.",
    )
    .required(&[DtStack, Flink]),
    OptionSpec::new(
        "write-mode",
        OptionType::Enum(&["insert", "update", "upsert"]),
        &[(DtStack, "writeMode")],
        "Sink: insert, update or upsert rows.",
    )
    .default(&[(DtStack, "upsert")]),
    OptionSpec::new(
        "worker-count",
        OptionType::Ignored("the engine has its own threads"),
        &[(DtStack, "workerCount")],
        "Threads of the client.",
    ),
    OptionSpec::new(
        "operation-timeout",
        MS,
        &[
            (DtStack, "defaultOperationTimeoutMs"),
            (Legacy, "kudu.operation-timeout"),
            (Flink, "kudu.operation-timeout"),
        ],
        "Time limit of one operation.",
    ),
    OptionSpec::new(
        "socket-read-timeout",
        OptionType::Ignored("the time limit of operations holds"),
        &[(DtStack, "defaultSocketReadTimeoutMs")],
        "Kudu's own clients ignore it, too.",
    ),
    OptionSpec::new(
        "batch-size",
        POSITIVE,
        &[(DtStack, "batchSize"), (Legacy, "kudu.max-buffer-size"), (Flink, "kudu.max-buffer-size")],
        "Sink: rows in one write.",
    )
    .default(&[(DtStack, "1000"), (Legacy, "1000"), (Flink, "1000")]),
    OptionSpec::new(
        "batch-interval",
        MS,
        &[(DtStack, "batchWaitInterval"), (Legacy, "kudu.flush-interval"), (Flink, "kudu.flush-interval")],
        "Sink: the longest time that a row waits for its write.",
    )
    .default(&[(DtStack, "60000"), (Legacy, "1000"), (Flink, "1000")]),
    OptionSpec::new(
        "mutation-buffer-max-ops",
        POSITIVE,
        &[(DtStack, "mutationBufferMaxOps")],
        "Sink: rows that the client holds at most.",
    ),
    OptionSpec::new(
        "flush-mode",
        OptionType::Enum(&["MANUAL_FLUSH", "AUTO_FLUSH_SYNC", "AUTO_FLUSH_BACKGROUND"]),
        &[(DtStack, "flushMode")],
        "Sink: when the client writes.",
    ),
    OptionSpec::new(
        "ignore-not-found",
        OptionType::Bool,
        &[(Legacy, "kudu.ignore-not-found"), (Flink, "kudu.ignore-not-found")],
        "Sink: an update or delete of a missing row is no error.",
    ),
    OptionSpec::new(
        "ignore-duplicate",
        OptionType::Bool,
        &[(Legacy, "kudu.ignore-duplicate"), (Flink, "kudu.ignore-duplicate")],
        "Sink: an insert of an existing row is no error.",
    ),
    OptionSpec::new(
        "primary-key-columns",
        OptionType::List,
        &[(Legacy, "kudu.primary-key-columns"), (Flink, "kudu.primary-key-columns")],
        "The key columns of a table that is made on first use.",
    ),
    OptionSpec::new(
        "hash-columns",
        OptionType::List,
        &[(Legacy, "kudu.hash-columns"), (Flink, "kudu.hash-columns")],
        "The key columns that decide the partition of a table that is made; all key columns without it.",
    ),
    OptionSpec::new(
        "hash-partitions",
        OptionType::Int { min: 2, max: 10_000 },
        &[(Legacy, "kudu.hash-partition-nums"), (Flink, "kudu.hash-partition-nums")],
        "The number of partitions of a table that is made.",
    )
    .default(&[(Legacy, "3"), (Flink, "3")]),
    OptionSpec::new(
        "replicas",
        OptionType::Int { min: 1, max: 7 },
        &[(Legacy, "kudu.replicas"), (Flink, "kudu.replicas")],
        "The number of copies of a table that is made.",
    )
    .default(&[(Legacy, "1"), (Flink, "1")]),
    OptionSpec::new(
        "scan.batch-size",
        OptionType::Size,
        &[(DtStack, "batchSizeBytes"), (Flink, "kudu.scan.row-size")],
        "Bytes that a scan asks for at a time.",
    ),
    OptionSpec::new(
        "limit",
        OptionType::Int { min: -1, max: i64::MAX },
        &[(DtStack, "limitNum")],
        "Side table: rows to read at most; without it all of them.",
    ),
    OptionSpec::new(
        "fault-tolerant",
        OptionType::Bool,
        &[(DtStack, "isFaultTolerant")],
        "Side table: go on with another replica when one fails in a scan.",
    )
    .default(&[(DtStack, "false")]),
    OptionSpec::new(
        "scan.key-columns",
        OptionType::List,
        &[(DtStack, "primaryKey")],
        "Side table with cache ALL: the key columns that lowerBoundPrimaryKey and upperBoundPrimaryKey bound.",
    ),
    OptionSpec::new(
        "scan.lower-bound",
        OptionType::List,
        &[(DtStack, "lowerBoundPrimaryKey")],
        "Side table with cache ALL: the first key to read.",
    ),
    OptionSpec::new(
        "scan.upper-bound",
        OptionType::List,
        &[(DtStack, "upperBoundPrimaryKey")],
        "Side table with cache ALL: the key to end before.",
    ),
    OptionSpec::new(
        "lookup.cache.max-rows",
        OptionType::Int { min: -1, max: i64::MAX },
        &[(Flink, "kudu.lookup.cache.max-rows")],
        "Side table: keys that are cached; -1 is none.",
    ),
    // A bare number may be -1 (no cache), which is no duration.
    OptionSpec::new(
        "lookup.cache.ttl-millis",
        OptionType::Int { min: -1, max: i64::MAX },
        &[(Flink, "kudu.lookup.cache.ttl")],
        "Side table: milliseconds that a cached row is good; -1 is no cache.",
    ),
    OptionSpec::new(
        "lookup.max-retries",
        COUNT,
        &[(Flink, "kudu.lookup.max-retries")],
        "Side table: retries of a failed look-up.",
    ),
    OptionSpec::new(
        "principal",
        OptionType::Text,
        &[
            (DtStack, "principal"),
            (Legacy, "principal"),
            (Legacy, "kudu.principal"),
            (Flink, "principal"),
            (Flink, "kudu.principal"),
        ],
        "Kerberos: who to log in as.",
    ),
    OptionSpec::new(
        "keytab",
        OptionType::Text,
        &[(DtStack, "keytab"), (Legacy, "keytab"), (Legacy, "kudu.keytab"), (Flink, "keytab"), (Flink, "kudu.keytab")],
        "Kerberos: the file with the principal's key.",
    ),
    OptionSpec::new(
        "krb5conf",
        OptionType::Text,
        &[
            (DtStack, "krb5conf"),
            (Legacy, "krb5conf"),
            (Legacy, "kudu.krb5conf"),
            (Flink, "krb5conf"),
            (Flink, "kudu.krb5conf"),
        ],
        "Kerberos: the configuration file.",
    ),
];
