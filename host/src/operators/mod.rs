//! Operators: what a task does to batches and control elements. A chain of operators runs in one task by direct calls.

mod calc;
mod chain;
mod correlate;
mod failures;
mod in_flight;
mod lookup_join;
mod side_table;
mod sink;
mod source;
mod splits;
mod union;

pub use calc::CalcOperator;
pub use chain::{Chain, Collector, Node, Operator, OperatorSnapshot, Tail};
pub use correlate::{CorrelateOperator, CorrelateSpec};
pub use failures::{DeadLetters, FailureHandler, StagePolicy, Verdict};
pub use lookup_join::{LookupJoinOperator, LookupJoinSpec};
pub use side_table::{SideTable, converter, encode};
pub use sink::SinkOperator;
pub use source::{SourceEvent, SourceOperator};
pub use splits::{SplitAssigner, SplitPool};
pub use union::UnionOperator;
