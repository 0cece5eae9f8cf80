//! Statements to a job graph.
pub mod ast_passes;
