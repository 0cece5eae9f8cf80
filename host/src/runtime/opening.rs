//! Opens the tables of a job for one attempt: asks the outside first, then lists what to read and prepares what to write.

use super::checkpoint::Checkpoint;
use super::job::JobContext;
use crate::connectors::api::{Boundedness, LookupSource, Sink, Source, SourceSplit};
use crate::error::{Domain, Error, Result};
use crate::metrics::{OperatorMetrics, OperatorRole};
use crate::operators::{CorrelateSpec, LookupJoinSpec, SideTable, SplitPool, StagePolicy};
use crate::plan::graph::{
    CorrelateNode, LookupJoinNode, OperatorKind, OperatorNode, SinkNode, StageSpec, TableBinding,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What is shared by the subtasks of an operator.
pub enum Prepared {
    Source {
        source: Arc<dyn Source>,
        splits: Arc<SplitPool>,
    },
    Calc(crate::expr::program::ProgramPlan),
    Union,
    Correlate(CorrelateSpec),
    LookupJoin(Box<LookupJoinSpec>),
    /// `first_writer`: the number of its first subtask's writer; INSERTs into the same table share the sink.
    Sink {
        sink: Arc<dyn Sink>,
        first_writer: usize,
        not_null: Vec<(usize, String)>,
    },
}

pub struct PreparedOperator {
    pub name: String,
    pub kind: Prepared,
    pub stage: StagePolicy,
    pub metrics: Arc<OperatorMetrics>,
}

pub struct OpenSource {
    pub name: String,
    pub source: Arc<dyn Source>,
    pub splits: Arc<SplitPool>,
    parallelism: usize,
}

/// The sink of a table, and the operators that write to it: one for each INSERT.
pub struct OpenSink {
    pub operators: Vec<String>,
    pub sink: Arc<dyn Sink>,
    writers: usize,
}

/// The tables of a job, as one attempt uses them.
#[derive(Default)]
pub struct Opened {
    pub operators: Vec<PreparedOperator>,
    pub sources: Vec<OpenSource>,
    pub sinks: Vec<OpenSink>,
    lookups: Vec<(String, Arc<dyn LookupSource>)>,
    /// By identity: a side table is there once, however many joins use it.
    sides: HashMap<String, Arc<SideTable>>,
    stages: Stages,
    sink_of: HashMap<Arc<str>, usize>,
}

/// Opens all tables, where `restored` says or else where their start modes say. Nothing is listed or written before the
/// outside has answered for every table.
pub async fn open(cx: &JobContext, restored: Option<&Checkpoint>, first: bool) -> Result<Opened> {
    let mut opened = Opened::default();
    for node in &cx.graph.operators {
        opened.create(cx, node).map_err(|e| e.in_operator(&node.name))?;
    }
    opened.probe().await.map_err(|e| if first { at_fault(e) } else { e })?;
    for s in &opened.sources {
        let splits = s.first_splits(restored).await.map_err(|e| e.in_operator(&s.name))?;
        s.splits.lock().add(splits);
    }
    for s in &opened.sinks {
        s.sink.prepare(s.restored(restored)).await.map_err(|e| e.in_operator(s.name()))?;
    }
    Ok(opened)
}

fn lookup_join(side: Arc<SideTable>, join: &LookupJoinNode) -> Prepared {
    Prepared::LookupJoin(Box::new(LookupJoinSpec {
        side,
        keys: join.keys.clone(),
        residual: join.residual.clone(),
        left_outer: join.left_outer,
        output: join.output.clone(),
    }))
}

fn correlate(node: &CorrelateNode) -> Prepared {
    let CorrelateNode { collection, ordinality, left_outer, output } = node.clone();
    Prepared::Correlate(CorrelateSpec { collection, ordinality, left_outer, output })
}

/// What a table lacks before the job has run once (the table itself, a right, the right password) and no waiting mends,
/// is for the user to mend, as `check --connect` says.
fn at_fault(e: Error) -> Error {
    let domain = if e.domain == Domain::External && !e.retryable { Domain::User } else { e.domain };
    Error { domain, ..e }
}

impl Opened {
    fn create(&mut self, cx: &JobContext, node: &OperatorNode) -> Result<()> {
        let (kind, role) = match &node.kind {
            OperatorKind::Source(table) => (self.source(node, table)?, OperatorRole::Source),
            OperatorKind::Calc(plan) => (Prepared::Calc(plan.clone()), OperatorRole::Transform),
            OperatorKind::Union => (Prepared::Union, OperatorRole::Transform),
            OperatorKind::Correlate(node) => (correlate(node), OperatorRole::Transform),
            OperatorKind::LookupJoin(join) => (self.lookup_join(cx, node, join)?, OperatorRole::Transform),
            OperatorKind::Sink(sink) => (self.sink(node, sink)?, OperatorRole::Sink),
        };
        let stage = self.stages.get(&node.stage);
        let metrics = cx.metrics.operator(&node.name, role);
        self.operators.push(PreparedOperator { name: node.name.clone(), kind, stage, metrics });
        Ok(())
    }

    fn source(&mut self, node: &OperatorNode, table: &TableBinding) -> Result<Prepared> {
        let source: Arc<dyn Source> = table.access.source(&table.context)?.into();
        let splits = Arc::new(SplitPool::new(source.assignment(), node.parallelism, vec![]));
        self.sources.push(OpenSource {
            name: node.name.clone(),
            source: source.clone(),
            splits: splits.clone(),
            parallelism: node.parallelism,
        });
        Ok(Prepared::Source { source, splits })
    }

    fn lookup_join(&mut self, cx: &JobContext, node: &OperatorNode, join: &LookupJoinNode) -> Result<Prepared> {
        if let Some(side) = self.sides.get(&join.side_identity) {
            return Ok(lookup_join(side.clone(), join));
        }
        // Registered after the operator that reads it.
        cx.metrics.operator(&node.name, OperatorRole::Transform);
        let metrics = cx.metrics.operator(&format!("{} (side table)", node.name), OperatorRole::SideTable);
        let source: Arc<dyn LookupSource> = join.side.access.lookup(&join.side.context)?.into();
        self.lookups.push((node.name.clone(), source.clone()));
        let settings = join.asking.over(source.settings());
        let side = Arc::new(SideTable::new(
            join.side.context.table.clone(),
            source,
            settings,
            join.side_schema.clone(),
            join.side_key_columns.clone(),
            join.side_keys.clone(),
            join.side_bytes_max,
            self.stages.get(&join.side_stage),
            cx.failures.clone(),
            metrics,
        ));
        self.sides.insert(join.side_identity.clone(), side.clone());
        Ok(lookup_join(side, join))
    }

    fn sink(&mut self, node: &OperatorNode, sink: &SinkNode) -> Result<Prepared> {
        let table = &sink.table.context.table;
        let index = match self.sink_of.get(table) {
            Some(index) => *index,
            None => {
                let opened = sink.table.access.sink(&sink.table.context)?.into();
                self.sinks.push(OpenSink { operators: vec![], sink: opened, writers: 0 });
                self.sink_of.insert(table.clone(), self.sinks.len() - 1);
                self.sinks.len() - 1
            }
        };
        let shared = &mut self.sinks[index];
        shared.operators.push(node.name.clone());
        let first_writer = shared.writers;
        shared.writers += node.parallelism;
        Ok(Prepared::Sink { sink: shared.sink.clone(), first_writer, not_null: sink.not_null.clone() })
    }

    async fn probe(&self) -> Result<()> {
        for s in &self.sources {
            s.source.probe().await.map_err(|e| e.in_operator(&s.name))?;
        }
        for (name, lookup) in &self.lookups {
            lookup.probe().await.map_err(|e| e.in_operator(name))?;
        }
        for s in &self.sinks {
            s.sink.probe().await.map_err(|e| e.in_operator(s.name()))?;
        }
        Ok(())
    }

    /// Whether the job goes on until somebody ends it.
    pub fn is_unbounded(&self) -> bool {
        self.sources.iter().any(|s| s.source.boundedness() == Boundedness::Unbounded)
    }
}

impl OpenSource {
    async fn first_splits(&self, restored: Option<&Checkpoint>) -> Result<Vec<SourceSplit>> {
        match restored.and_then(|c| c.operator(&self.name)) {
            None => self.source.enumerate(self.parallelism).await,
            Some(state) => {
                let splits = state.splits.iter().chain(&state.unassigned).cloned().collect();
                self.source.restore(splits, self.parallelism).await
            }
        }
    }
}

impl OpenSink {
    /// The operator that is named in messages.
    pub fn name(&self) -> &str {
        self.operators.first().map_or("", String::as_str)
    }

    /// What its writers gave; None if the checkpoint does not know it.
    fn restored(&self, restored: Option<&Checkpoint>) -> Option<Vec<serde_json::Value>> {
        let known: Vec<_> = self.operators.iter().filter_map(|name| restored?.operator(name)).collect();
        (!known.is_empty()).then(|| known.iter().flat_map(|o| &o.states).cloned().collect())
    }
}

/// One counter of refused rows per table and policy, however many operators apply it.
#[derive(Default)]
struct Stages(HashMap<Arc<str>, StagePolicy>);

impl Stages {
    fn get(&mut self, spec: &StageSpec) -> StagePolicy {
        let shared = self
            .0
            .entry(spec.table.clone())
            .or_insert_with(|| StagePolicy::new(spec.table.clone(), spec.policy, spec.limit));
        shared.with_policy(spec.policy)
    }
}
