//! Options of the JSON formats.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

/// Flink's json format; flinkStreamSQL's `json` and `dt_nest` have hardly any options.
pub static JSON: &[OptionSpec] = &[
    OptionSpec::new(
        "fail-on-missing-field",
        OptionType::Bool,
        &[(Flink, "fail-on-missing-field"), (Legacy, "fail-on-missing-field")],
        "A record without one of the columns cannot be decoded (else: NULL).",
    )
    .default(&[(Flink, "false"), (Legacy, "false")]),
    OptionSpec::new(
        "ignore-parse-errors",
        OptionType::Bool,
        &[(Flink, "ignore-parse-errors"), (Legacy, "ignore-parse-errors")],
        "Values that cannot be decoded are NULL, records that are no JSON are skipped.",
    )
    .default(&[(Flink, "false"), (Legacy, "false")]),
    TIMESTAMP_STANDARD,
    NULL_KEY_MODE,
    NULL_KEY_LITERAL,
    PLAIN_DECIMALS,
    IGNORE_NULLS,
    OptionSpec::new(
        "derive-schema",
        OptionType::Ignored("the columns are the schema"),
        &[(Legacy, "derive-schema")],
        "Always on.",
    ),
    OptionSpec::new(
        "schema",
        OptionType::Ignored("the columns are the schema"),
        &[(Legacy, "json-schema"), (Legacy, "schema"), (DtStack, "schemaInfo")],
        "The columns are the schema.",
    ),
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "property-version")],
        "1",
    ),
];

const TIMESTAMP_STANDARD: OptionSpec = OptionSpec::new(
    "timestamp-format.standard",
    OptionType::Enum(&["SQL", "ISO-8601", "ISO-8601-WITH-OFFSET"]),
    &[(Flink, "timestamp-format.standard"), (Legacy, "timestamp-format.standard")],
    "Timestamps are written yyyy-MM-dd HH:mm:ss.f (SQL) or with a T (ISO-8601); WITH-OFFSET: TIMESTAMP_LTZ with the job's offset.",
);

const NULL_KEY_MODE: OptionSpec = OptionSpec::new(
    "map-null-key.mode",
    OptionType::Enum(&["FAIL", "DROP", "LITERAL"]),
    &[(Flink, "map-null-key.mode")],
    "A NULL key of a map, written: an error, left out, or map-null-key.literal.",
)
.default(&[(Flink, "FAIL")]);

const NULL_KEY_LITERAL: OptionSpec = OptionSpec::new(
    "map-null-key.literal",
    OptionType::Text,
    &[(Flink, "map-null-key.literal")],
    "The name written for a NULL key.",
)
.default(&[(Flink, "null")]);

const PLAIN_DECIMALS: OptionSpec = OptionSpec::new(
    "encode.decimal-as-plain-number",
    OptionType::Bool,
    &[(Flink, "encode.decimal-as-plain-number")],
    "Decimals are written without an exponent.",
)
.default(&[(Flink, "false")]);

const IGNORE_NULLS: OptionSpec = OptionSpec::new(
    "encode.ignore-null-fields",
    OptionType::Bool,
    &[(Flink, "encode.ignore-null-fields")],
    "NULL columns are left out.",
)
.default(&[(Flink, "false")]);

pub static DEBEZIUM_JSON: &[OptionSpec] = &[
    OptionSpec::new(
        "schema-include",
        OptionType::Bool,
        &[(Flink, "schema-include")],
        "Source: the change lies in the member payload, beside its schema.",
    )
    .default(&[(Flink, "false")]),
    IGNORE_BAD_CHANGES,
    TIMESTAMP_STANDARD,
    NULL_KEY_MODE,
    NULL_KEY_LITERAL,
    PLAIN_DECIMALS,
    IGNORE_NULLS,
];

pub static CANAL_JSON: &[OptionSpec] = &[
    OptionSpec::new(
        "database.include",
        OptionType::Text,
        &[(Flink, "database.include")],
        "Source: a regular expression; changes of other databases are passed over.",
    ),
    OptionSpec::new(
        "table.include",
        OptionType::Text,
        &[(Flink, "table.include")],
        "Source: a regular expression; changes of other tables are passed over.",
    ),
    IGNORE_BAD_CHANGES,
    TIMESTAMP_STANDARD,
    NULL_KEY_MODE,
    NULL_KEY_LITERAL,
    PLAIN_DECIMALS,
    IGNORE_NULLS,
];

const IGNORE_BAD_CHANGES: OptionSpec = OptionSpec::new(
    "ignore-parse-errors",
    OptionType::Bool,
    &[(Flink, "ignore-parse-errors")],
    "Values that cannot be decoded are NULL, records that are no changes are skipped.",
)
.default(&[(Flink, "false")]);
