//! Connectors: one folder and one line in [`CONNECTORS`] each.
pub mod absent;
pub mod api;
pub mod blackhole;
pub mod console;
pub mod datagen;
#[cfg(test)]
mod docs_tests;
pub mod file;
pub mod jdbc;
pub mod kafka;
pub mod kudu;
pub mod local;
pub mod lookup_options;
pub mod native_format;
pub mod predicate;
pub mod row_batch;
pub mod sqlite;
pub mod stand_in;
pub mod streams;
#[cfg(test)]
mod testing;
pub mod values;

use api::ConnectorFactory;

/// Every connector that the binary has.
pub static CONNECTORS: &[&dyn ConnectorFactory] = &[
    &blackhole::Blackhole,
    &console::ConsoleFactory,
    &datagen::Datagen,
    &file::FileFactory,
    &jdbc::JdbcFactory,
    &kafka::Kafka,
    &kafka::UpsertKafka,
    &kudu::Kudu,
    &sqlite::SqliteFactory,
    &streams::Stdin,
    &streams::Socket,
];
