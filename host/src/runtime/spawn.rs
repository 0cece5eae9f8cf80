//! Builds a task and runs it on a thread of its own.

use super::channel::Sender;
use super::gate::InputGate;
use super::opening::{Prepared, PreparedOperator};
use super::output::{Output, Outputs, Route};
use super::task::{Control, Head, Phase, Task, TaskEvent};
use super::wiring::{ChainPlan, GateInputs, Member};
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::metrics::Progress;
use crate::operators::{
    CalcOperator, Chain, CorrelateOperator, FailureHandler, LookupJoinOperator, Node, Operator, SinkOperator,
    SourceOperator, UnionOperator,
};
use crate::plan::graph::Partitioning;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Expressions are compiled and evaluated by recursion; the parser's limits on a statement's depth and operators fit
/// several times. Only what is used of it becomes memory.
const TASK_STACK: usize = 16 << 20;

pub fn task_name(operators: &[PreparedOperator], chain: &ChainPlan, subtask: usize) -> String {
    let names: Vec<&str> = chain.members.iter().map(|m| operators[m.operator].name.as_str()).collect();
    let of = chain.parallelism;
    format!("{} ({}/{of})", names.join(" -> "), subtask + 1)
}

/// Everything a thread needs to build and run its task.
pub struct TaskSpec {
    pub task: usize,
    pub name: String,
    pub operators: Arc<[PreparedOperator]>,
    pub chain: Vec<Member>,
    pub subtask: usize,
    pub batch_rows: usize,
    pub input: Option<GateInputs>,
    /// By the number of the exchange.
    pub outputs: Vec<(usize, Partitioning, Vec<Sender>)>,
    pub failures: Arc<FailureHandler>,
    pub progress: Arc<Progress>,
    pub phase: watch::Receiver<Phase>,
    pub control: mpsc::UnboundedReceiver<Control>,
    pub events: mpsc::UnboundedSender<TaskEvent>,
    /// The epoch before the attempt's first one.
    pub epoch: Epoch,
}

/// A thread per task; a panic in it is an internal error of the job, not the end of the process.
pub fn spawn(spec: TaskSpec) -> Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let name = spec.name.clone();
    let run = move || {
        let (task, task_name, events) = (spec.task, spec.name.clone(), spec.events.clone());
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let task = spec.build()?;
            runtime.block_on(task.run())
        }));
        let result = outcome.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()))
                .unwrap_or_default();
            Err(Error::internal(format!("task {task_name} panicked: {text}")))
        });
        // Nobody listens once the job has given up on its tasks.
        let _ = events.send(TaskEvent::Ended { task, result });
    };
    std::thread::Builder::new()
        .name(name.chars().take(15).collect())
        .stack_size(TASK_STACK)
        .spawn(run)
        .map(|_| ())
        .map_err(|e| Error::external(format!("cannot start a thread for task {name}: {e}")))
}

impl TaskSpec {
    fn build(mut self) -> Result<Task> {
        let numbers: Vec<usize> = self.outputs.iter().map(|(number, ..)| *number).collect();
        let outputs = self.outputs()?;
        let mut nodes = Vec::with_capacity(self.chain.len());
        let (mut source, mut head_outputs) = (None, vec![]);
        for member in &self.chain {
            let o = &self.operators[member.operator];
            // Which of the task's outputs its rows go to.
            let outputs = member.exchanges.iter().filter_map(|e| numbers.iter().position(|n| n == e)).collect();
            match &o.kind {
                Prepared::Source { source: s, splits } => {
                    source = Some(Box::new(SourceOperator::new(
                        &o.name,
                        s.clone(),
                        splits.clone(),
                        self.subtask,
                        self.batch_rows,
                        o.stage.clone(),
                        self.failures.clone(),
                        o.metrics.clone(),
                        self.progress.clone(),
                    )));
                    head_outputs = outputs;
                }
                _ => {
                    let operator = self.operator(o).map_err(|e| e.in_operator(&o.name))?;
                    nodes.push(Node { operator, subtree: member.subtree, outputs });
                }
            }
        }
        let head = match (source, self.input.take()) {
            (Some(s), _) => Head::Source(s),
            (None, Some((receivers, readable))) => Head::Gate(Box::new(InputGate::new(receivers, readable))),
            (None, None) => return Err(Error::internal(format!("task {} has no input", self.name))),
        };
        Ok(Task {
            task: self.task,
            head,
            chain: Chain::new(nodes, head_outputs),
            outputs,
            phase: self.phase,
            control: self.control,
            events: self.events,
            epoch: self.epoch,
        })
    }

    fn outputs(&mut self) -> Result<Outputs> {
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for (_, partitioning, channels) in std::mem::take(&mut self.outputs) {
            let route = match partitioning {
                Partitioning::Forward | Partitioning::Rebalance => {
                    Route::InTurn { next: self.subtask % channels.len().max(1) }
                }
                Partitioning::Hash(keys) => Route::ByKey(keys.instantiate()?),
            };
            outputs.push(Output { channels, route });
        }
        Ok(Outputs(outputs))
    }

    fn operator(&self, o: &PreparedOperator) -> Result<Box<dyn Operator>> {
        let (stage, failures, metrics) = (o.stage.clone(), self.failures.clone(), o.metrics.clone());
        Ok(match &o.kind {
            Prepared::Source { .. } => return Err(Error::internal("a source is the head of its task")),
            Prepared::Calc(plan) => Box::new(CalcOperator::new(&o.name, plan.instantiate()?, stage, failures, metrics)),
            Prepared::Union => Box::new(UnionOperator::new(&o.name, metrics)),
            Prepared::Correlate(spec) => {
                Box::new(CorrelateOperator::new(&o.name, spec.clone(), stage, failures, metrics)?)
            }
            Prepared::LookupJoin(spec) => {
                Box::new(LookupJoinOperator::new(&o.name, (**spec).clone(), stage, failures, metrics)?)
            }
            Prepared::Sink { sink, first_writer, not_null } => Box::new(SinkOperator::new(
                &o.name,
                sink.clone(),
                first_writer + self.subtask,
                not_null.clone(),
                stage,
                failures,
                metrics,
            )),
        })
    }
}
