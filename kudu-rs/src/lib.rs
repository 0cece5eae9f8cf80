#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! [`Client`] (from [`Client::builder`]) knows a cluster; [`Table`] comes from [`Client::open_table`]. Writes go through a
//! [`Session`], reads through [`Table::scan`] and [`Table::lookup`], changes of tables through [`Client::create_table`] and
//! [`Client::alter_table`]. [`Error`] tells what a caller can do about it. Spans and events are those of `tracing`, at the level
//! debug; nothing secret is in them.

mod client;
mod clock;
mod ddl;
mod encode;
mod error;
#[cfg(test)]
mod golden_tests;
mod master;
mod partition;
// Messages that only servers send each other are among them.
#[allow(dead_code, clippy::all)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/kudu_pb.rs"));
}
mod predicate;
mod prune;
mod retry;
mod row;
mod rpc;
pub mod scan;
mod schema;
mod security;
mod table;
mod tablets;
mod tracker;
mod value;
pub mod write;

pub use client::{Client, ClientBuilder, DEFAULT_MASTER_PORT, TableInfo, TableStatistics};
pub use ddl::{Bound, ColumnChange, HashBuckets, RangePartition, TableAlterer, TableCreator};
pub use error::{Error, Result, RpcCode};
pub use partition::{HashDimension, PartitionSchema};
pub use pb::kudu::app_status_pb::ErrorCode as StatusCode;
pub use pb::kudu::master::master_error_pb::Code as MasterCode;
pub use pb::kudu::tserver::tablet_server_error_pb::Code as TabletCode;
pub use predicate::{Compare, Predicate};
pub use row::{ColumnRef, OpKind, Row};
pub use scan::{Lookup, LookupBuilder, ReadMode, ReplicaSelection, RowLayout, Scan, ScanBuilder, ScanToken};
pub use schema::{ColumnSchema, Compression, DataType, Encoding, Schema};
pub use security::{Credentials, EncryptionPolicy, Kerberos};
pub use table::Table;
pub use value::{MAX_CELL, Value};
pub use write::{FlushMode, Flushed, Operation, RowError, Session, SessionBuilder};
