//! Options that every table has, whatever its connector: parallelism, failure policy, lookup caches.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};
use std::time::Duration;

const MS: OptionType = OptionType::Duration { bare: Duration::from_millis(1) };
const COUNT: OptionType = OptionType::Int { min: 0, max: i64::MAX };
const POSITIVE: OptionType = OptionType::Int { min: 1, max: 32_768 };

/// Names are Flink's where Flink has the option. Caches: `LRU` and `PARTIAL` mean the same, so do `ALL` and `FULL`.
pub static COMMON: &[OptionSpec] = &[
    OptionSpec::new(
        "parallelism",
        POSITIVE,
        &[
            (DtStack, "parallelism"),
            (Legacy, "parallelism"),
            (Flink, "parallelism"),
            (Flink, "scan.parallelism"),
            (Flink, "sink.parallelism"),
        ],
        "Number of subtasks that read or write the table; the job's parallelism if absent.",
    ),
    OptionSpec::new(
        "on-error",
        OptionType::Enum(&["fail", "dead-letter", "null", "skip"]),
        &[(DtStack, "on-error"), (DtStack, "onError"), (Legacy, "on-error"), (Flink, "on-error")],
        "What to do with a record or row that cannot be processed: fail the job, write it to the dead letters, make \
         the value NULL, or skip it. Without it: dead-letter in flinkStreamSQL and legacy tables, fail in Flink's.",
    ),
    OptionSpec::new(
        "on-error.limit",
        OptionType::Int { min: -1, max: i64::MAX },
        &[(DtStack, "on-error.limit"), (DtStack, "errorLimit"), (Legacy, "on-error.limit"), (Flink, "on-error.limit")],
        "More failed rows than this fail the job; -1 is no limit.",
    ),
    OptionSpec::new(
        "max-record-size",
        OptionType::Size,
        &[(DtStack, "max-record-size"), (Legacy, "max-record-size"), (Flink, "max-record-size")],
        "Records longer than this are refused one by one.",
    )
    .default(&[(DtStack, "16 mb"), (Legacy, "16 mb"), (Flink, "16 mb")]),
    OptionSpec::new(
        "lookup.cache",
        OptionType::Enum(&["NONE", "LRU", "ALL", "PARTIAL", "FULL"]),
        &[(DtStack, "cache"), (Flink, "lookup.cache")],
        "Side table: no cache, the rows of recent keys (LRU, PARTIAL), or the whole table (ALL, FULL).",
    ),
    OptionSpec::new(
        "lookup.cache.max-rows",
        OptionType::Int { min: -1, max: i64::MAX },
        &[
            (DtStack, "cacheSize"),
            (Flink, "lookup.partial-cache.max-rows"),
            (Flink, "lookup.cache.max-rows"),
            (Legacy, "connector.lookup.cache.max-rows"),
        ],
        "Side table with an LRU cache: the number of keys that are kept.",
    )
    .default(&[(DtStack, "10000")]),
    OptionSpec::new(
        "lookup.cache.ttl",
        MS,
        &[
            (DtStack, "cacheTTLMs"),
            (Flink, "lookup.partial-cache.expire-after-write"),
            (Flink, "lookup.cache.ttl"),
            (Legacy, "connector.lookup.cache.ttl"),
        ],
        "Side table: how long a cached row is good after it was read; with cache ALL the time between reloads.",
    )
    .default(&[(DtStack, "60000")]),
    OptionSpec::new(
        "lookup.cache.expire-after-access",
        MS,
        &[(Flink, "lookup.partial-cache.expire-after-access")],
        "Side table with a PARTIAL cache: how long a row is kept after its last use.",
    ),
    OptionSpec::new(
        "lookup.cache.missing-key",
        OptionType::Bool,
        &[
            (DtStack, "cacheMissing"),
            (Flink, "lookup.partial-cache.cache-missing-key"),
            (Flink, "lookup.partial-cache.caching-missing-key"),
            (Flink, "lookup.cache.caching-missing-key"),
        ],
        "Side table: remember keys that have no row.",
    )
    .default(&[(DtStack, "true"), (Flink, "true")]),
    OptionSpec::new(
        "cache.max-bytes",
        OptionType::Size,
        &[(DtStack, "cacheMaxBytes"), (Legacy, "lookup.cache.max-bytes"), (Flink, "lookup.cache.max-bytes")],
        "Side table: a cache that needs more memory than this fails the job.",
    ),
    OptionSpec::new(
        "lookup.reload-interval",
        MS,
        &[(Flink, "lookup.full-cache.periodic-reload.interval")],
        "Side table with a FULL cache: the time between reloads.",
    ),
    OptionSpec::new(
        "lookup.partitioned",
        OptionType::Bool,
        &[(DtStack, "partitionedJoin")],
        "Side table: route rows by key, so that every subtask caches only its keys.",
    )
    .default(&[(DtStack, "false")]),
    OptionSpec::new(
        "lookup.output-mode",
        OptionType::Enum(&["ordered", "unordered"]),
        &[(DtStack, "cacheMode")],
        "Side table: rows leave in input order, or as answers arrive.",
    )
    .default(&[(DtStack, "ordered")]),
    OptionSpec::new(
        "lookup.async",
        OptionType::Bool,
        &[(Flink, "lookup.async")],
        "Side table: look keys up without waiting for each answer.",
    ),
    OptionSpec::new(
        "lookup.async.capacity",
        COUNT,
        &[(DtStack, "asyncCapacity")],
        "Side table: look-ups in flight; more wait.",
    )
    .default(&[(DtStack, "100")]),
    OptionSpec::new("lookup.async.timeout", MS, &[(DtStack, "asyncTimeout")], "Side table: time limit of a look-up.")
        .default(&[(DtStack, "10000")]),
    OptionSpec::new(
        "lookup.async.fail-max",
        COUNT,
        &[(DtStack, "asyncFailMaxNum")],
        "Side table: more failed look-ups than this fail the job.",
    ),
    OptionSpec::new(
        "lookup.max-retries",
        COUNT,
        &[(DtStack, "connectRetryMaxNum"), (Flink, "lookup.max-retries"), (Legacy, "connector.lookup.max-retries")],
        "Side table: retries of a failed look-up.",
    )
    .default(&[(DtStack, "3"), (Flink, "3"), (Legacy, "3")]),
    OptionSpec::new(
        "lookup.async.pool-size",
        OptionType::Int { min: 1, max: 20 },
        &[(DtStack, "asyncPoolSize")],
        "Side table: connections to the database.",
    ),
];
