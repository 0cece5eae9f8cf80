mod encode;
mod error;
#[cfg(test)]
mod golden_tests;
mod partition;
pub mod pb { include!(concat!(env!("OUT_DIR"), "/kudu_pb.rs")); }
mod predicate;
mod prune;
mod row;
mod rpc;
mod schema;
mod security;
mod value;
pub use pb::kudu::app_status_pb::ErrorCode as StatusCode;
pub use error::{Error, Result};
pub use schema::Schema;
