//! What a user's scalar function is to the planner and to the evaluator. `wasm` implements it; nothing here knows wasm.

use crate::data::{FailurePolicy, RowError};
use crate::error::Result;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::fmt::Debug;

/// The types of one call of a function, decided at plan time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BoundCall {
    /// The planner casts the arguments to these.
    pub args: Vec<DataType>,
    pub returns: DataType,
}

/// A function declared with CREATE FUNCTION. One per job and SQL name; shared by all subtasks.
pub trait ScalarFunction: Debug + Send + Sync {
    /// The SQL name, as declared.
    fn name(&self) -> &str;
    /// Decides the types for these argument types, or says what fits instead.
    fn bind(&self, args: &[DataType]) -> std::result::Result<BoundCall, String>;
    /// Same arguments, same result: the planner may fold and share calls.
    fn deterministic(&self) -> bool;
    /// What to do with rows that the function refuses; None: as the job does with other failed rows.
    fn on_error(&self) -> Option<FailurePolicy>;
    /// An instance for one task. Called on the task's thread.
    fn instantiate(&self, call: &BoundCall) -> Result<Box<dyn ScalarInstance>>;
}

/// A running instance; used by one task only.
pub trait ScalarInstance: Send {
    /// Evaluates `rows` rows. A refused row has a NULL in the result and an entry in `errors`
    /// (`RowError::row` counts in this call). An `Err` ends the job.
    fn call(&mut self, args: &[ArrayRef], rows: usize, errors: &mut Vec<RowError>) -> Result<ArrayRef>;
}
