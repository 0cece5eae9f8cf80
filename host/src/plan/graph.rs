//! A job as operators and edges, ready to run. `plan` builds it from SQL; nothing here knows SQL.

use crate::connectors::api::{ConnectorFactory, LookupSettings, LookupSource, Sink, Source, TableContext};
use crate::connectors::predicate::{Predicate, Pushdown};
use crate::data::{FailurePolicy, TableSchema};
use crate::error::Result;
use crate::expr::program::ProgramPlan;
use arrow::datatypes::SchemaRef;
use std::sync::Arc;
use std::time::Duration;

/// Index of an operator in its graph.
pub type OperatorId = usize;

/// How rows go from one operator to the next.
#[derive(Clone)]
pub enum Partitioning {
    /// Subtask i to subtask i; such operators share a task where they can.
    Forward,
    /// Batches in turn to all subtasks.
    Rebalance,
    /// Rows with the same key to the same subtask. The program projects the key's columns.
    Hash(ProgramPlan),
}

impl Partitioning {
    pub fn is_forward(&self) -> bool {
        matches!(self, Partitioning::Forward)
    }
}

/// Where an operator's rows come from.
#[derive(Clone)]
pub struct Edge {
    pub from: OperatorId,
    pub partitioning: Partitioning,
}

impl Edge {
    pub fn forward(from: OperatorId) -> Self {
        Self { from, partitioning: Partitioning::Forward }
    }
}

/// Operators, each after those that feed it. What an operator emits goes to all that read it.
#[derive(Clone)]
pub struct JobGraph {
    pub name: String,
    pub operators: Vec<OperatorNode>,
}

#[derive(Clone)]
pub struct OperatorNode {
    /// Unique in the job: `Source: flights`, `Calc[1]`.
    pub name: String,
    pub parallelism: usize,
    /// None for sources, several for a union.
    pub inputs: Vec<Edge>,
    pub kind: OperatorKind,
    /// Whose failure policy applies to rows that fail here.
    pub stage: StageSpec,
    /// One line a fact, for EXPLAIN.
    pub details: Vec<String>,
}

impl OperatorNode {
    /// Its rows come in this way, from whichever operator.
    #[cfg(test)]
    pub fn repartition(&mut self, partitioning: Partitioning) {
        self.inputs.iter_mut().for_each(|e| e.partitioning = partitioning.clone());
    }
}

/// The failure policy of a table. Stages with the same table share its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageSpec {
    pub table: Arc<str>,
    pub policy: FailurePolicy,
    pub limit: Option<u64>,
}

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a job has few operators")]
pub enum OperatorKind {
    Source(TableBinding),
    Calc(ProgramPlan),
    /// The rows of all its inputs.
    Union,
    Correlate(CorrelateNode),
    LookupJoin(LookupJoinNode),
    Sink(SinkNode),
}

/// Rows unfolded by a collection.
#[derive(Clone)]
pub struct CorrelateNode {
    /// Projects the collection.
    pub collection: ProgramPlan,
    /// A last column numbers the elements from 1.
    pub ordinality: bool,
    /// Rows without elements go on with NULLs.
    pub left_outer: bool,
    /// Columns of the row, then those of the element.
    pub output: SchemaRef,
}

#[derive(Clone)]
pub struct LookupJoinNode {
    /// Joins with the same one use one side table, its cache and its rows.
    pub side_identity: String,
    pub side: TableBinding,
    pub side_stage: StageSpec,
    pub side_schema: SchemaRef,
    /// Names of the side table's columns that are compared, in the order of the keys.
    pub side_key_columns: Vec<String>,
    pub side_keys: ProgramPlan,
    pub side_bytes_max: usize,
    pub asking: Asking,
    pub keys: ProgramPlan,
    pub residual: Option<ProgramPlan>,
    pub left_outer: bool,
    pub output: SchemaRef,
}

/// How the job wants side tables to be asked, where the table does not say it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asking {
    pub capacity: Option<usize>,
    pub timeout: Option<Duration>,
    pub unordered: bool,
    /// Changes of a row come in order, whatever the table or the job says.
    pub changes: bool,
}

impl Asking {
    pub fn over(&self, table: LookupSettings) -> LookupSettings {
        LookupSettings {
            capacity: self.capacity.unwrap_or(table.capacity),
            timeout: self.timeout.or(table.timeout),
            ordered: self.changes || (table.ordered && !self.unordered),
            ..table
        }
    }
}

#[derive(Clone)]
pub struct SinkNode {
    pub table: TableBinding,
    pub not_null: Vec<(usize, String)>,
}

/// A table with what reads or writes it: its connector, or a local file that stands in for it.
#[derive(Clone)]
pub struct TableBinding {
    pub context: TableContext,
    pub access: Arc<dyn TableAccess>,
}

/// Opens a table. Implemented for connectors and for stand-ins.
pub trait TableAccess: Send + Sync {
    /// `kafka`, `stand-in flights.jsonl`; for EXPLAIN.
    fn describe(&self) -> String;
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>>;
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>>;
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>>;
    /// The connector is known by name only. Such a table is refused, and planned as far as that goes without it.
    fn is_absent(&self) -> bool {
        false
    }
    /// What becomes of a condition on the rows that are read.
    fn pushdown(&self, _cx: &TableContext, _predicate: &Predicate) -> Pushdown {
        Pushdown::No
    }
}

/// The table's own connector.
pub struct ConnectorAccess(pub &'static dyn ConnectorFactory);

impl TableAccess for ConnectorAccess {
    fn describe(&self) -> String {
        self.0.identifier().to_string()
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        self.0.source(cx)
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        self.0.sink(cx)
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        self.0.lookup(cx)
    }
    fn is_absent(&self) -> bool {
        self.0.is_absent()
    }
    fn pushdown(&self, cx: &TableContext, predicate: &Predicate) -> Pushdown {
        self.0.pushdown(cx, predicate)
    }
}

impl TableBinding {
    pub fn schema(&self) -> &TableSchema {
        &self.context.schema
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
