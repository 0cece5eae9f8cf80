//! The connection level: messages, negotiation, calls. Knows no table.

pub mod connection;
pub mod frame;
#[cfg(feature = "kerberos")]
mod kerberos;
mod negotiate;
#[cfg(test)]
mod negotiate_tests;
pub mod pool;
#[cfg(feature = "kerberos")]
mod ticket;
#[cfg_attr(not(feature = "kerberos"), allow(dead_code))]
mod tls;
mod transport;

pub use connection::{Call, Connection, MASTER, TABLET_SERVER};
pub use pool::{Policy, Pool, Settings};
