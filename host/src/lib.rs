//! Wasmill: a stream processor in one binary. See ARCHITECTURE.md for the map.

pub mod catalog;
pub mod connectors;
pub mod data;
pub mod diagnostic;
pub mod error;
pub mod expr;
pub mod formats;
pub mod operators;
pub mod plan;
pub mod runtime;
pub mod sql;
pub mod wasm;
