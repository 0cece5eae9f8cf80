//! The option tables of the formats. Spellings stand behind a prefix that the dialect gives: Flink `json.` (also
//! `value.json.`), legacy `format.`; flinkStreamSQL's keys have none.

use crate::sql::options::Dialect::{self, DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

/// A format as the catalog knows it. The codec behind it is looked up by the same identifier at run time.
pub struct FormatOptions {
    pub identifier: &'static str,
    /// What `'format'`, `'format.type'` or `sourcedatatype` may say.
    pub names: &'static [(Dialect, &'static str)],
    pub options: &'static [OptionSpec],
    /// False: known, but records of it cannot be read or written yet.
    pub supported: bool,
    /// The options' prefix is the same in every dialect (`wasm.`).
    pub own_prefix: bool,
}

impl FormatOptions {
    /// What stands in front of an option's spelling.
    pub fn prefixes(&self, dialect: Dialect) -> Vec<String> {
        let own = format!("{}.", self.identifier);
        match dialect {
            _ if self.own_prefix => vec![own.clone(), format!("value.{own}"), format!("format.{own}")],
            Dialect::DtStack => vec![String::new()],
            Dialect::Legacy => vec!["format.".to_string()],
            Dialect::Flink => vec![own.clone(), format!("value.{own}")],
        }
    }
}

/// The format of this name in this dialect.
pub fn find(dialect: Dialect, name: &str) -> Option<&'static FormatOptions> {
    FORMAT_OPTIONS.iter().find(|f| f.names.iter().any(|(d, n)| *d == dialect && n.eq_ignore_ascii_case(name)))
}

/// Every format name of a dialect.
pub fn names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    FORMAT_OPTIONS.iter().flat_map(|f| f.names.iter()).filter(move |(d, _)| *d == dialect).map(|(_, n)| *n)
}

pub static FORMAT_OPTIONS: &[FormatOptions] = &[
    FormatOptions {
        identifier: "json",
        names: &[(DtStack, "json"), (Legacy, "json"), (Flink, "json")],
        options: JSON,
        supported: true,
        own_prefix: false,
    },
    FormatOptions {
        identifier: "dt_nest",
        names: &[(DtStack, "dt_nest")],
        options: JSON,
        supported: true,
        own_prefix: false,
    },
    FormatOptions {
        identifier: "csv",
        names: &[(DtStack, "csv"), (Legacy, "csv"), (Flink, "csv")],
        options: CSV,
        supported: true,
        own_prefix: false,
    },
    FormatOptions { identifier: "raw", names: &[(Flink, "raw")], options: RAW, supported: true, own_prefix: false },
    FormatOptions {
        identifier: "wasm",
        names: &[(DtStack, "wasm"), (Legacy, "wasm"), (Flink, "wasm")],
        options: WASM,
        supported: true,
        own_prefix: true,
    },
    FormatOptions {
        identifier: "avro",
        names: &[(DtStack, "avro"), (Legacy, "avro"), (Flink, "avro")],
        options: AVRO,
        supported: true,
        own_prefix: false,
    },
    FormatOptions {
        identifier: "avro-confluent",
        names: &[(Flink, "avro-confluent")],
        options: AVRO_CONFLUENT,
        supported: true,
        own_prefix: false,
    },
    FormatOptions {
        identifier: "debezium-json",
        names: &[(Flink, "debezium-json")],
        options: DEBEZIUM_JSON,
        supported: true,
        own_prefix: false,
    },
    FormatOptions {
        identifier: "canal-json",
        names: &[(Flink, "canal-json")],
        options: CANAL_JSON,
        supported: true,
        own_prefix: false,
    },
    later("maxwell-json", &[(Flink, "maxwell-json")]),
    later("ogg-json", &[(Flink, "ogg-json")]),
    later("debezium-avro-confluent", &[(Flink, "debezium-avro-confluent")]),
    later("protobuf", &[(Flink, "protobuf")]),
    later("parquet", &[(Flink, "parquet")]),
    later("orc", &[(Flink, "orc")]),
];

/// Formats of Flink that are known, so that a job which uses one is told so and not that it made a mistake.
const fn later(identifier: &'static str, names: &'static [(Dialect, &'static str)]) -> FormatOptions {
    FormatOptions { identifier, names, options: ANY, supported: false, own_prefix: false }
}

const ANY: &[OptionSpec] = &[OptionSpec::new(
    "any",
    OptionType::Prefix,
    &[(Flink, ""), (Legacy, "")],
    "Options of a format that is not here yet.",
)];

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

/// Flink's csv format and our `header`.
pub static CSV: &[OptionSpec] = &[
    OptionSpec::new(
        "field-delimiter",
        OptionType::Char,
        &[(Flink, "field-delimiter"), (Legacy, "field-delimiter"), (DtStack, "fieldDelimiter")],
        "The character between fields.",
    )
    .default(&[(Flink, ","), (Legacy, ","), (DtStack, ",")]),
    OptionSpec::new(
        "header",
        OptionType::Bool,
        &[(Flink, "header"), (Legacy, "header"), (DtStack, "csv.header")],
        "Files begin with a line of column names; columns are found by name. Without it by position.",
    )
    .default(&[(Flink, "false"), (Legacy, "false"), (DtStack, "false")]),
    OptionSpec::new(
        "quote-character",
        OptionType::Char,
        &[(Flink, "quote-character"), (Legacy, "quote-character"), (DtStack, "quoteCharacter")],
        "The character around fields that contain delimiters.",
    ),
    OptionSpec::new(
        "disable-quote-character",
        OptionType::Bool,
        &[(Flink, "disable-quote-character"), (Legacy, "disable-quote-character")],
        "Quotes are ordinary characters.",
    )
    .default(&[(Flink, "false"), (Legacy, "false")]),
    OptionSpec::new(
        "allow-comments",
        OptionType::Bool,
        &[(Flink, "allow-comments"), (Legacy, "allow-comments"), (DtStack, "allowComments"), (DtStack, "allowComment")],
        "Lines that begin with # are no records.",
    )
    .default(&[(Flink, "false"), (Legacy, "false"), (DtStack, "true")]),
    OptionSpec::new(
        "ignore-parse-errors",
        OptionType::Bool,
        &[(Flink, "ignore-parse-errors"), (Legacy, "ignore-parse-errors"), (DtStack, "ignoreParseErrors")],
        "Values that cannot be decoded are NULL, records of the wrong shape are skipped.",
    ),
    OptionSpec::new(
        "array-element-delimiter",
        OptionType::Text,
        &[(Flink, "array-element-delimiter"), (Legacy, "array-element-delimiter"), (DtStack, "arrayElementDelimiter")],
        "The text between the elements of an array.",
    ),
    OptionSpec::new(
        "escape-character",
        OptionType::Char,
        &[(Flink, "escape-character"), (Legacy, "escape-character"), (DtStack, "escapeCharacter")],
        "The character that takes the meaning from the next one.",
    ),
    OptionSpec::new(
        "null-literal",
        OptionType::Text,
        &[(Flink, "null-literal"), (Legacy, "null-literal"), (DtStack, "nullLiteral")],
        "The field text that means NULL.",
    ),
    OptionSpec::new(
        "line-delimiter",
        OptionType::Ignored("records are lines"),
        &[(Legacy, "line-delimiter")],
        "Records are lines.",
    ),
    OptionSpec::new(
        "schema",
        OptionType::Ignored("the columns are the schema"),
        &[(Legacy, "schema"), (Legacy, "derive-schema"), (DtStack, "schemaInfo")],
        "The columns are the schema.",
    ),
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "property-version")],
        "1",
    ),
];

pub static RAW: &[OptionSpec] = &[
    OptionSpec::new("charset", OptionType::Text, &[(Flink, "charset")], "The encoding of text.")
        .default(&[(Flink, "UTF-8")]),
    OptionSpec::new(
        "endianness",
        OptionType::Enum(&["big-endian", "little-endian"]),
        &[(Flink, "endianness")],
        "The byte order of numbers.",
    )
    .default(&[(Flink, "big-endian")]),
];

/// A plugin decodes or encodes; everything else under `wasm.` is handed to it.
pub static WASM: &[OptionSpec] = &[
    OptionSpec::new(
        "module",
        OptionType::Text,
        &[(DtStack, "module"), (Legacy, "module"), (Flink, "module")],
        "The plugin's .wasm file, relative to the job file.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "function",
        OptionType::Text,
        &[(DtStack, "function"), (Legacy, "function"), (Flink, "function")],
        "The formatter or decoder in the module, if it has several.",
    ),
    OptionSpec::new(
        "config",
        OptionType::Prefix,
        &[(DtStack, ""), (Legacy, ""), (Flink, "")],
        "Every other option under wasm. is the plugin's configuration.",
    ),
];

pub static AVRO: &[OptionSpec] = &[
    AVRO_SCHEMA.required(&[DtStack]),
    OptionSpec::new(
        "record-class",
        OptionType::Text,
        &[(Legacy, "record-class")],
        "Refused: a Java class cannot be had; format.avro-schema holds its schema.",
    ),
    OptionSpec::new(
        "encoding",
        OptionType::Enum(&["binary", "json"]),
        &[(Flink, "encoding")],
        "Avro's binary or its JSON encoding.",
    )
    .default(&[(Flink, "binary")]),
    TIMESTAMP_MAPPING,
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "property-version")],
        "1",
    ),
];

const AVRO_SCHEMA: OptionSpec = OptionSpec::new(
    "schema",
    OptionType::Text,
    &[(DtStack, "schemaInfo"), (Legacy, "avro-schema"), (Flink, "schema")],
    "The Avro schema as JSON; without it the columns make it.",
);

const TIMESTAMP_MAPPING: OptionSpec = OptionSpec::new(
    "timestamp_mapping.legacy",
    OptionType::Bool,
    &[(Flink, "timestamp_mapping.legacy")],
    "In schemas made of columns TIMESTAMP is timestamp-millis; else local-timestamp, and TIMESTAMP_LTZ is timestamp.",
)
.default(&[(Flink, "true")]);

pub static AVRO_CONFLUENT: &[OptionSpec] = &[
    OptionSpec::new(
        "url",
        OptionType::List,
        &[(Flink, "url"), (Flink, "schema-registry.url")],
        "The schema registry; several are tried in turn.",
    )
    .required(&[Flink]),
    OptionSpec::new(
        "subject",
        OptionType::Text,
        &[(Flink, "subject"), (Flink, "schema-registry.subject")],
        "Sink: the name that the schema is registered under; in Kafka tables the topic and -value (-key for keys).",
    ),
    AVRO_SCHEMA,
    TIMESTAMP_MAPPING,
    OptionSpec::new(
        "basic-auth.credentials-source",
        OptionType::Enum(&["USER_INFO"]),
        &[(Flink, "basic-auth.credentials-source")],
        "USER_INFO: user and password are in basic-auth.user-info.",
    ),
    OptionSpec::new(
        "basic-auth.user-info",
        OptionType::Text,
        &[(Flink, "basic-auth.user-info")],
        "user:password of the registry.",
    )
    .sensitive(),
    OptionSpec::new(
        "bearer-auth.credentials-source",
        OptionType::Enum(&["STATIC_TOKEN"]),
        &[(Flink, "bearer-auth.credentials-source")],
        "STATIC_TOKEN: the token is in bearer-auth.token.",
    ),
    OptionSpec::new("bearer-auth.token", OptionType::Text, &[(Flink, "bearer-auth.token")], "A token of the registry.")
        .sensitive(),
    OptionSpec::new(
        "ssl.ca.location",
        OptionType::Text,
        &[(Flink, "ssl.ca.location")],
        "A PEM file of the authorities that an https registry is trusted by (in place of Flink's Java trust stores).",
    ),
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_can_be_read_and_every_option_is_explained() {
        for f in FORMAT_OPTIONS {
            for o in f.options {
                assert!(!o.doc.is_empty(), "{}.{}", f.identifier, o.name);
                for (_, d) in o.default {
                    assert!(crate::sql::options::parse_value(o.kind, d).is_ok(), "{}.{}", f.identifier, o.name);
                }
            }
        }
    }

    #[test]
    fn names_belong_to_dialects() {
        assert_eq!(find(DtStack, "dt_nest").map(|f| f.identifier), Some("dt_nest"));
        assert!(find(Flink, "dt_nest").is_none());
    }
}
