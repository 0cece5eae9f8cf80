//! Expressions over batches with Flink's meaning. Only this module and `plan` name a DataFusion crate.
pub mod function;
