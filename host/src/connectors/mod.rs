//! Connectors: one folder and one line in [`CONNECTORS`] each.
pub mod api;
pub mod console;
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
#[cfg(test)]
mod testing;

use api::ConnectorFactory;

/// Every connector that the binary has.
pub static CONNECTORS: &[&dyn ConnectorFactory] = &[
    &console::ConsoleFactory,
    &file::FileFactory,
    &jdbc::JdbcFactory,
    &kafka::Kafka,
    &kafka::UpsertKafka,
    &kudu::Kudu,
    &sqlite::SqliteFactory,
];
