//! Kafka: `kafka` in every dialect, and Flink's `upsert-kafka`. librdkafka does the talking (`native`).

mod check;
mod connection;
mod dead_letters;
mod decode;
mod delivery;
mod encode;
mod keystore;
mod last_changes;
mod metadata;
mod native;
pub mod options;
mod partition;
mod positions;
mod properties;
mod reader;
mod sink;
mod source;
mod start;
mod topics;
mod writer;

#[cfg(test)]
mod mock_tests;

pub use dead_letters::dead_letters;

use super::api::{
    Capabilities, ConnectorFactory, KeyLayout, MetadataKey, OptionProblem, Sink, Source, TableContext, TableUse,
};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};

pub struct Kafka;

impl ConnectorFactory for Kafka {
    fn identifier(&self) -> &'static str {
        "kafka"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["kafka", "kafka09", "kafka10", "kafka11"],
            Dialect::Legacy | Dialect::Flink => &["kafka"],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::KAFKA
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn default_format(&self, dialect: Dialect, as_sink: bool) -> Option<&'static str> {
        match (dialect, as_sink) {
            (Dialect::DtStack, false) => Some("dt_nest"),
            (Dialect::DtStack, true) => Some("json"),
            _ => None,
        }
    }
    /// flinkStreamSQL's source splits csv at `|`, its sink writes `,`.
    fn format_defaults(&self, dialect: Dialect, as_sink: bool) -> &'static [(&'static str, &'static str)] {
        match (dialect, as_sink) {
            (Dialect::DtStack, false) => &[("field-delimiter", "|")],
            _ => &[],
        }
    }
    fn metadata(&self, dialect: Dialect) -> &'static [MetadataKey] {
        if dialect == Dialect::Flink { metadata::KEYS } else { &[] }
    }
    fn key_layout(&self, table: &TableUse, options: &ResolvedOptions, _primary_key: &[String]) -> Option<KeyLayout> {
        let (columns, format) = match table.dialect {
            // flinkStreamSQL makes keys of its JSON sinks only.
            Dialect::DtStack if table.is_sink && options.text("format").unwrap_or("json") == "json" => {
                (options.list("partition-keys")?, "json")
            }
            Dialect::Flink => (options.list("key.fields")?, options.text("key.format")?),
            _ => return None,
        };
        Some(KeyLayout {
            format: format.to_string(),
            columns: columns.to_vec(),
            prefix: options.text("key.fields-prefix").unwrap_or_default().to_string(),
            in_value: options.text("value.fields-include") != Some("EXCEPT_KEY"),
        })
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        check::check_kafka(table, options)
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(source::KafkaSource::new(cx, false)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(sink::KafkaSink::new(cx, false)?))
    }
}

pub struct UpsertKafka;

impl ConnectorFactory for UpsertKafka {
    fn identifier(&self) -> &'static str {
        "upsert-kafka"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Flink => &["upsert-kafka"],
            _ => &[],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::UPSERT_KAFKA
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn metadata(&self, _dialect: Dialect) -> &'static [MetadataKey] {
        metadata::KEYS
    }
    fn key_layout(&self, _table: &TableUse, options: &ResolvedOptions, primary_key: &[String]) -> Option<KeyLayout> {
        Some(KeyLayout {
            format: options.text("key.format")?.to_string(),
            columns: primary_key.to_vec(),
            prefix: options.text("key.fields-prefix").unwrap_or_default().to_string(),
            in_value: options.text("value.fields-include") != Some("EXCEPT_KEY"),
        })
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        check::check_upsert(table, options)
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(source::KafkaSource::new(cx, true)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(sink::KafkaSink::new(cx, true)?))
    }
}
