//! Runs a job graph: opens tables, starts a task per chain and subtask, waits, commits.

use super::channel::{ChannelLimits, Receiver, Sender, channel};
use super::gate::InputGate;
use super::task::{Ack, Control, DISCONNECTED, Head, Output, Phase, Task};
use crate::connectors::api::{Sink, Source};
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::metrics::{JobMetrics, OperatorMetrics, OperatorRole, Progress};
use crate::operators::{
    CalcOperator, Chain, DeadLetters, FailureHandler, LookupJoinOperator, LookupJoinSpec, Operator, SideTable,
    SinkOperator, SourceOperator, SplitQueue, StagePolicy,
};
use crate::plan::graph::{JobGraph, OperatorId, OperatorKind, Partitioning, StageSpec};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, watch};

/// Expressions are compiled and evaluated by recursion; the parser's limits on a statement's depth and operators fit
/// several times. Only what is used of it becomes memory.
const TASK_STACK: usize = 16 << 20;

/// How to run it; what the job file cannot say.
pub struct RunOptions {
    pub batch_rows: usize,
    /// Operators that follow each other one to one share a task.
    pub chaining: bool,
    pub dead_letters: DeadLetters,
    pub channel_limits: ChannelLimits,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            batch_rows: 4096,
            chaining: true,
            dead_letters: DeadLetters::Printed,
            channel_limits: ChannelLimits::default(),
        }
    }
}

/// A job whose tasks are running.
pub struct RunningJob {
    pub metrics: Arc<JobMetrics>,
    phase: watch::Sender<Phase>,
    controls: Vec<mpsc::UnboundedSender<Control>>,
    acks: mpsc::UnboundedReceiver<Ack>,
    results: mpsc::UnboundedReceiver<(String, Result<()>)>,
    tasks: usize,
    sinks: Vec<(String, Arc<dyn Sink>)>,
    failures: Arc<FailureHandler>,
}

/// Lets others end a job.
#[derive(Clone)]
pub struct JobControl(watch::Sender<Phase>);

impl JobControl {
    /// Sources end now; what is in flight is processed, flushed and committed.
    pub fn drain(&self) {
        self.0.send_if_modified(|p| {
            let running = *p == Phase::Running;
            if running {
                *p = Phase::Draining;
            }
            running
        });
    }
    pub fn is_draining(&self) -> bool {
        *self.0.borrow() == Phase::Draining
    }
    pub fn cancel(&self) {
        self.0.send_replace(Phase::Cancelled);
    }
}

impl RunningJob {
    pub fn control(&self) -> JobControl {
        JobControl(self.phase.clone())
    }

    /// Starts a checkpoint: a barrier at every source.
    pub fn trigger_barrier(&self, epoch: Epoch) {
        for c in &self.controls {
            // A source that has ended is aligned by its end.
            let _ = c.send(Control::Barrier(epoch));
        }
    }

    /// The next task's part of a checkpoint; None when all tasks have ended.
    pub async fn next_ack(&mut self) -> Option<Ack> {
        self.acks.recv().await
    }

    /// Waits for the end of all tasks, then commits the sinks. The first failure cancels the rest and is returned.
    pub async fn wait(mut self) -> Result<Arc<JobMetrics>> {
        // A task that lost its neighbour is a consequence (of a failure, or of being cancelled), not the cause.
        let consequence = |e: &Error| e.message == DISCONNECTED;
        let mut failure: Option<Error> = None;
        for _ in 0..self.tasks {
            let Some((_, result)) = self.results.recv().await else { break };
            if let Err(e) = result {
                self.phase.send_replace(Phase::Cancelled);
                if failure.is_none() && !consequence(&e) {
                    failure = Some(e);
                }
            }
        }
        let flushed = self.failures.flush();
        if let Some(e) = failure {
            return Err(e);
        }
        if *self.phase.borrow() == Phase::Cancelled {
            return Err(Error::external("the job was cancelled"));
        }
        flushed?;
        for (name, sink) in &self.sinks {
            sink.commit().await.map_err(|e| e.in_operator(name))?;
        }
        Ok(self.metrics)
    }
}

/// What is shared by the subtasks of an operator.
enum Prepared {
    Source {
        source: Arc<dyn Source>,
        splits: Arc<SplitQueue>,
    },
    Calc(crate::expr::program::ProgramPlan),
    LookupJoin(Box<LookupJoinSpec>),
    /// `first_writer`: the number of its first subtask's writer; INSERTs into the same table share the sink.
    Sink {
        sink: Arc<dyn Sink>,
        first_writer: usize,
        not_null: Vec<(usize, String)>,
    },
}

struct PreparedOperator {
    name: String,
    parallelism: usize,
    kind: Prepared,
    stage: StagePolicy,
    metrics: Arc<OperatorMetrics>,
}

/// Operators that share a task, first to last.
struct ChainPlan {
    operators: Vec<OperatorId>,
    parallelism: usize,
    /// The chain that feeds it, for all but source chains.
    input: Option<usize>,
}

/// Opens the tables of the graph and starts its tasks. Returns as soon as they run.
pub async fn start(graph: JobGraph, options: RunOptions) -> Result<RunningJob> {
    let failures = Arc::new(FailureHandler::new(graph.name.as_str(), options.dead_letters));
    let metrics = Arc::new(JobMetrics::default());
    let chains = chain_up(&graph, options.chaining);
    let (operators, sinks) = prepare(graph, &failures, &metrics).await?;
    let operators: Arc<[PreparedOperator]> = operators.into();

    let (phase, _) = watch::channel(Phase::Running);
    let (ack_tx, acks) = mpsc::unbounded_channel();
    let (result_tx, results) = mpsc::unbounded_channel();
    let (mut inputs, mut outputs) = wire(&chains, options.channel_limits);
    let mut controls = Vec::new();
    let mut tasks = 0;
    for (c, chain) in chains.iter().enumerate() {
        for subtask in 0..chain.parallelism {
            let (control_tx, control) = mpsc::unbounded_channel();
            let first = &operators[chain.operators[0]];
            if matches!(first.kind, Prepared::Source { .. }) {
                controls.push(control_tx);
            }
            let spec = TaskSpec {
                name: task_name(&operators, chain, subtask),
                operators: operators.clone(),
                chain: chain.operators.clone(),
                subtask,
                batch_rows: options.batch_rows,
                input: inputs.remove(&(c, subtask)),
                output: outputs.remove(&(c, subtask)),
                failures: failures.clone(),
                progress: metrics.register_reader(),
                phase: phase.subscribe(),
                control,
                acks: ack_tx.clone(),
            };
            spawn(spec, result_tx.clone())?;
            tasks += 1;
        }
    }
    Ok(RunningJob { metrics, phase, controls, acks, results, tasks, sinks, failures })
}

/// Groups operators into chains: one follows the other in the same task where rows go straight on and both have the
/// same parallelism.
fn chain_up(graph: &JobGraph, chaining: bool) -> Vec<ChainPlan> {
    let mut chains: Vec<ChainPlan> = Vec::new();
    let mut chain_of: Vec<usize> = Vec::with_capacity(graph.operators.len());
    for (id, o) in graph.operators.iter().enumerate() {
        let joins = o.input.filter(|(from, p)| {
            chaining && *p == Partitioning::Forward && graph.operators[*from].parallelism == o.parallelism
        });
        match joins {
            Some((from, _)) => {
                let c = chain_of[from];
                chains[c].operators.push(id);
                chain_of.push(c);
            }
            None => {
                let input = o.input.map(|(from, _)| chain_of[from]);
                chains.push(ChainPlan { operators: vec![id], parallelism: o.parallelism, input });
                chain_of.push(chains.len() - 1);
            }
        }
    }
    chains
}

async fn prepare(
    graph: JobGraph,
    failures: &Arc<FailureHandler>,
    metrics: &JobMetrics,
) -> Result<(Vec<PreparedOperator>, Vec<(String, Arc<dyn Sink>)>)> {
    let mut stages = Stages::default();
    let mut operators = Vec::new();
    let mut sinks = Vec::new();
    // Tables that several INSERTs write: one sink, and how many writers it has so far.
    let mut writers: HashMap<Arc<str>, (Arc<dyn Sink>, usize)> = HashMap::new();
    for node in graph.operators {
        let name = node.name.clone();
        let role = match &node.kind {
            OperatorKind::Source(_) => OperatorRole::Source,
            OperatorKind::Sink(_) => OperatorRole::Sink,
            _ => OperatorRole::Transform,
        };
        let operator_metrics = OperatorMetrics::new(&name, role);
        metrics.register(operator_metrics.clone());
        let at = |e: Error| e.in_operator(&name);
        let operator_parallelism = node.parallelism;
        let kind = match node.kind {
            OperatorKind::Source(binding) => {
                let source: Arc<dyn Source> = binding.access.source(&binding.context).map_err(at)?.into();
                let splits = source.enumerate(node.parallelism).await.map_err(at)?;
                Prepared::Source { source, splits: Arc::new(SplitQueue::new(splits)) }
            }
            OperatorKind::Calc(plan) => Prepared::Calc(plan),
            OperatorKind::LookupJoin(join) => {
                let side_metrics = OperatorMetrics::new(format!("{name} (side table)"), OperatorRole::SideTable);
                metrics.register(side_metrics.clone());
                let source = join.side.access.lookup(&join.side.context).map_err(at)?.into();
                let side = SideTable::new(
                    join.side.context.table.clone(),
                    source,
                    join.side_schema,
                    join.side_key_columns,
                    join.side_keys,
                    join.side_bytes_max,
                    stages.get(&join.side_stage),
                    failures.clone(),
                    side_metrics,
                );
                Prepared::LookupJoin(Box::new(LookupJoinSpec {
                    side: Arc::new(side),
                    keys: join.keys,
                    residual: join.residual,
                    left_outer: join.left_outer,
                    output: join.output,
                }))
            }
            OperatorKind::Sink(node) => {
                let table = node.table.context.table.clone();
                let shared = match writers.get_mut(&table) {
                    Some(shared) => shared,
                    None => {
                        let sink: Arc<dyn Sink> = node.table.access.sink(&node.table.context).map_err(at)?.into();
                        sink.prepare(None).await.map_err(at)?;
                        sinks.push((name.clone(), sink.clone()));
                        writers.entry(table).or_insert((sink, 0))
                    }
                };
                let (sink, first_writer) = (shared.0.clone(), shared.1);
                shared.1 += operator_parallelism;
                Prepared::Sink { sink, first_writer, not_null: node.not_null }
            }
        };
        let stage = stages.get(&node.stage);
        operators.push(PreparedOperator {
            name,
            parallelism: node.parallelism,
            kind,
            stage,
            metrics: operator_metrics,
        });
    }
    Ok((operators, sinks))
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

type Ends<T> = HashMap<(usize, usize), T>;

/// The channels into a task, and what wakes it.
type GateInputs = (Vec<Receiver>, Arc<Notify>);

/// Channels from every subtask of a chain to every subtask of the chain it feeds.
fn wire(chains: &[ChainPlan], limits: ChannelLimits) -> (Ends<GateInputs>, Ends<Vec<Sender>>) {
    let mut inputs: Ends<GateInputs> = HashMap::new();
    let mut outputs: Ends<Vec<Sender>> = HashMap::new();
    for (to, chain) in chains.iter().enumerate() {
        let Some(from) = chain.input else { continue };
        for receiver in 0..chain.parallelism {
            let readable = Arc::new(Notify::new());
            let mut receivers = Vec::new();
            for sender in 0..chains[from].parallelism {
                let (tx, rx) = channel(limits, readable.clone());
                outputs.entry((from, sender)).or_default().push(tx);
                receivers.push(rx);
            }
            inputs.insert((to, receiver), (receivers, readable));
        }
    }
    (inputs, outputs)
}

fn task_name(operators: &[PreparedOperator], chain: &ChainPlan, subtask: usize) -> String {
    let names: Vec<&str> = chain.operators.iter().map(|o| operators[*o].name.as_str()).collect();
    let of = operators[chain.operators[0]].parallelism;
    format!("{} ({}/{of})", names.join(" -> "), subtask + 1)
}

/// Everything a thread needs to build and run its task.
struct TaskSpec {
    name: String,
    operators: Arc<[PreparedOperator]>,
    chain: Vec<OperatorId>,
    subtask: usize,
    batch_rows: usize,
    input: Option<GateInputs>,
    output: Option<Vec<Sender>>,
    failures: Arc<FailureHandler>,
    progress: Arc<Progress>,
    phase: watch::Receiver<Phase>,
    control: mpsc::UnboundedReceiver<Control>,
    acks: mpsc::UnboundedSender<Ack>,
}

/// A thread per task; a panic in it is an internal error of the job, not the end of the process.
fn spawn(spec: TaskSpec, results: mpsc::UnboundedSender<(String, Result<()>)>) -> Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let name = spec.name.clone();
    let run = move || {
        let task_name = spec.name.clone();
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
        let _ = results.send((task_name, result));
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
        let mut chain: Vec<Box<dyn Operator>> = Vec::new();
        let mut source = None;
        for id in &self.chain {
            let o = &self.operators[*id];
            let (stage, failures, metrics) = (o.stage.clone(), self.failures.clone(), o.metrics.clone());
            match &o.kind {
                Prepared::Source { source: s, splits } => {
                    source = Some(Box::new(SourceOperator::new(
                        &o.name,
                        s.clone(),
                        splits.clone(),
                        self.subtask,
                        self.batch_rows,
                        stage,
                        failures,
                        metrics,
                        self.progress.clone(),
                    )));
                }
                Prepared::Calc(plan) => {
                    let program = plan.instantiate().map_err(|e| e.in_operator(&o.name))?;
                    chain.push(Box::new(CalcOperator::new(&o.name, program, stage, failures, metrics)));
                }
                Prepared::LookupJoin(spec) => {
                    let join = LookupJoinOperator::new(&o.name, (**spec).clone(), stage, failures, metrics);
                    chain.push(Box::new(join.map_err(|e| e.in_operator(&o.name))?));
                }
                Prepared::Sink { sink, first_writer, not_null } => chain.push(Box::new(SinkOperator::new(
                    &o.name,
                    sink.clone(),
                    first_writer + self.subtask,
                    not_null.clone(),
                    stage,
                    failures,
                    metrics,
                ))),
            }
        }
        let head = match (source, self.input.take()) {
            (Some(s), _) => Head::Source(s),
            (None, Some((receivers, readable))) => Head::Gate(Box::new(InputGate::new(receivers, readable))),
            (None, None) => return Err(Error::internal(format!("task {} has no input", self.name))),
        };
        let output = match self.output.take() {
            Some(channels) => Output::Rebalance { next: self.subtask % channels.len().max(1), channels },
            None => Output::None,
        };
        Ok(Task {
            name: self.name,
            head,
            chain: Chain::new(chain),
            output,
            phase: self.phase,
            control: self.control,
            acks: self.acks,
        })
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod flow_tests;
