//! One attempt to run a job: its tables opened, its tasks running.

use super::checkpoint::Checkpoint;
use super::job::JobContext;
use super::opening::{OpenSource, Opened, PreparedOperator, open};
use super::spawn::{TaskSpec, spawn, task_name};
use super::task::{Control, Phase, TaskEvent};
use super::wiring::chain_up;
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::operators::OperatorSnapshot;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

pub struct Attempt {
    pub opened: Opened,
    pub tasks: usize,
    /// Names of the tasks whose threads have not ended.
    running: Vec<Option<String>>,
    phase: watch::Sender<Phase>,
    /// To the source tasks.
    controls: Vec<mpsc::UnboundedSender<Control>>,
    events: mpsc::UnboundedReceiver<TaskEvent>,
    discoveries: Vec<JoinHandle<()>>,
}

impl Attempt {
    /// Opens the tables and starts the tasks; sources wait until the phase is `Running`.
    /// `before`: the newest epoch that was used so far. `first`: no attempt has started yet.
    pub async fn start(cx: &JobContext, restored: Option<&Checkpoint>, before: Epoch, first: bool) -> Result<Self> {
        let mut opened = open(cx, restored, first).await?;
        let operators: Arc<[PreparedOperator]> = std::mem::take(&mut opened.operators).into();
        let wiring = chain_up(&cx.graph, cx.chaining);
        let mut channels = wiring.channels(cx.channel_limits);
        let (phase, _) = watch::channel(Phase::Starting);
        let (event_tx, events) = mpsc::unbounded_channel();
        let (mut controls, mut running) = (vec![], vec![]);
        cx.metrics.forget_readers();
        for (c, chain) in wiring.chains.iter().enumerate() {
            for subtask in 0..chain.parallelism {
                let (control_tx, control) = mpsc::unbounded_channel();
                if cx.graph.operators[chain.head()].inputs.is_empty() {
                    controls.push(control_tx);
                }
                let name = task_name(&operators, chain, subtask);
                let exchanges = chain.members.iter().flat_map(|m| &m.exchanges);
                let outputs = exchanges.filter_map(|number| {
                    let senders = channels.outputs.remove(&(*number, subtask))?;
                    Some((*number, wiring.exchanges[*number].edge.partitioning.clone(), senders))
                });
                let spec = TaskSpec {
                    task: running.len(),
                    name: name.clone(),
                    operators: operators.clone(),
                    chain: chain.members.clone(),
                    subtask,
                    batch_rows: cx.batch_rows,
                    outputs: outputs.collect(),
                    input: channels.inputs.remove(&(c, subtask)),
                    failures: cx.failures.clone(),
                    progress: cx.metrics.register_reader(),
                    phase: phase.subscribe(),
                    control,
                    events: event_tx.clone(),
                    epoch: before,
                };
                spawn(spec)?;
                running.push(Some(name));
            }
        }
        let discoveries = opened.sources.iter().filter_map(discover).collect();
        Ok(Self { opened, tasks: running.len(), running, phase, controls, events, discoveries })
    }

    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }
    pub fn set_phase(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    /// Starts a checkpoint: a barrier at every source.
    pub fn trigger(&self, epoch: Epoch) {
        self.begin(epoch);
        self.tell_sources(Control::Barrier(epoch));
    }

    /// Notes what no subtask has taken as of now.
    pub fn begin(&self, epoch: Epoch) {
        self.opened.sources.iter().for_each(|s| s.splits.lock().begin(epoch));
    }

    pub fn tell_sources(&self, control: Control) {
        for c in &self.controls {
            // A task that has failed does not listen.
            let _ = c.send(control);
        }
    }

    /// The checkpoint made of what the tasks gave and of what none of them had taken.
    pub fn assemble(&self, cx: &JobContext, epoch: Epoch, parts: Vec<Vec<OperatorSnapshot>>) -> Result<Checkpoint> {
        let mut checkpoint = Checkpoint::assemble(epoch, cx.graph.operators.iter(), parts);
        for s in &self.opened.sources {
            let unassigned = s.splits.lock().unassigned_at(epoch);
            let state = checkpoint.operators.iter_mut().find(|o| o.name == s.name);
            match (state, unassigned) {
                (Some(state), Some(unassigned)) => state.unassigned = unassigned,
                _ => return Err(Error::internal(format!("{}: nothing noted for checkpoint {}", s.name, epoch.0))),
            }
        }
        Ok(checkpoint)
    }

    /// What a task says next; None when all have ended.
    pub async fn next_event(&mut self) -> Option<TaskEvent> {
        self.running().next()?;
        let event = self.events.recv().await;
        if let Some(TaskEvent::Ended { task, .. }) = &event {
            self.running[*task] = None;
        }
        event
    }

    /// Names of the tasks that have not ended.
    pub fn running(&self) -> impl Iterator<Item = &str> {
        self.running.iter().flatten().map(String::as_str)
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.discoveries.iter().for_each(JoinHandle::abort);
        self.phase.send_replace(Phase::Cancelled);
    }
}

/// Looks for new splits of a source for as long as the attempt lasts.
fn discover(from: &OpenSource) -> Option<JoinHandle<()>> {
    let interval = from.source.discovery_interval()?;
    let (name, source, splits) = (from.name.clone(), from.source.clone(), from.splits.clone());
    Some(tokio::spawn(async move {
        loop {
            tokio::time::sleep(interval).await;
            let known = splits.lock().known();
            match source.discover(&known).await {
                Ok(new) => splits.lock().add(new),
                // The readers see for themselves whether the outside is gone.
                Err(e) => tracing::warn!("{name}: cannot look for new splits, will try again: {e}"),
            }
        }
    }))
}
