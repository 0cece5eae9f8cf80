//! Options of the Avro formats.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

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
