//! Wasmill: a stream processor in one binary. See ARCHITECTURE.md for the map.

pub mod catalog;
pub mod cli;
pub mod connectors;
pub mod data;
pub mod diagnostic;
pub mod error;
pub mod expr;
pub mod files;
pub mod formats;
pub mod metrics;
pub mod operators;
pub mod plan;
pub mod runtime;
pub mod session;
pub mod sql;
pub mod wasm;
