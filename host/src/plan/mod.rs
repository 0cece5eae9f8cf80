//! Statements to a job graph.
