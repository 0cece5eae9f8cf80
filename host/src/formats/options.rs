//! The option tables of the formats. Spellings stand behind a prefix that the dialect gives: Flink `json.` (also
//! `value.json.`), legacy `format.`; flinkStreamSQL's keys have none.

mod avro;
mod json;
mod plain;

pub use avro::{AVRO, AVRO_CONFLUENT};
pub use json::{CANAL_JSON, DEBEZIUM_JSON, JSON};
pub use plain::{CSV, RAW, WASM};

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
