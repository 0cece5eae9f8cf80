//! Connectors: one folder and one line in [`CONNECTORS`] each.
pub mod api;
pub mod console;
pub mod file;
pub mod kafka;
pub mod kudu;
pub mod mysql;
pub mod sqlite;

use api::ConnectorFactory;

/// Every connector that the binary has.
pub static CONNECTORS: &[&dyn ConnectorFactory] = &[&kafka::Kafka, &kafka::UpsertKafka, &kudu::Kudu, &mysql::MySql];
