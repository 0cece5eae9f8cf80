//! Connectors: one folder and one line in [`CONNECTORS`] each.
pub mod api;

use api::ConnectorFactory;

/// Every connector that the binary has.
pub static CONNECTORS: &[&dyn ConnectorFactory] = &[];
