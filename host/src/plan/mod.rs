//! Statements to a job graph: names and types resolved by DataFusion's SQL planner, lookup joins made explicit, rules
//! applied from a list of our own, and the result cut into operators.

pub mod ast_passes;
mod build;
mod cast_target;
mod changelog;
mod context;
mod correlate;
mod errors;
mod explain;
mod filter_below_lookup;
pub mod graph;
mod insert;
mod lookup_join;
mod names;
mod pushdown;
pub mod recovery;
mod relations;
mod rules;
pub mod settings;
mod side_query;

pub use build::{PlanInput, TableBinder, TableRole, plan, plan_query};
pub use explain::explain;
