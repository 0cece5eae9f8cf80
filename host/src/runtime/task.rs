//! One task: a source or an input gate at the head, a chain of operators, exchanges (or nothing) at its ends.

use super::element::StreamElement;
use super::gate::{GateEvent, InputGate};
use super::output::{Outputs, disconnected};
use crate::data::Epoch;
use crate::error::Result;
use crate::operators::{Chain, OperatorSnapshot, SourceEvent, SourceOperator};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// How long a source may wait for data: control messages wait meanwhile.
const POLL_WAIT: Duration = Duration::from_millis(100);
/// How long an idle source waits for answers that are under way before it looks for data again.
const ANSWER_WAIT: Duration = Duration::from_millis(5);

/// What the job tells its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Sources do not read yet: where they start is not recorded yet.
    Starting,
    Running,
    /// Sources end where they are; everything in flight is processed and flushed.
    Draining,
    /// Stop now.
    Cancelled,
}

/// What the job tells a source task. There is one checkpoint at a time, so that few of these can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    Barrier(Epoch),
    Complete(Epoch),
    /// Nothing follows.
    Close,
}

/// What a task tells the job.
#[derive(Debug)]
pub enum TaskEvent {
    /// It has taken its part of a checkpoint.
    Ack { task: usize, epoch: Epoch, operators: Vec<OperatorSnapshot> },
    /// It will process nothing more; this is its part of all checkpoints from now on.
    Finished { task: usize, operators: Vec<OperatorSnapshot> },
    /// Its thread is at its end.
    Ended { task: usize, result: Result<()> },
}

pub enum Head {
    Source(Box<SourceOperator>),
    Gate(Box<InputGate>),
}

pub struct Task {
    pub task: usize,
    pub head: Head,
    pub chain: Chain,
    pub outputs: Outputs,
    pub phase: watch::Receiver<Phase>,
    pub control: mpsc::UnboundedReceiver<Control>,
    pub events: mpsc::UnboundedSender<TaskEvent>,
    /// The newest one that this task has seen.
    pub epoch: Epoch,
}

impl Task {
    /// Runs to the end of the input (or of the job).
    pub async fn run(mut self) -> Result<()> {
        let mut phase = self.phase.clone();
        tokio::select! {
            biased;
            _ = phase.wait_for(|p| *p == Phase::Cancelled) => Ok(()),
            r = self.drive() => r,
        }
    }

    async fn drive(&mut self) -> Result<()> {
        if let Head::Source(s) = &mut self.head {
            s.open().map_err(|e| e.in_operator(&s.name))?;
        }
        self.chain.open().await?;
        match &self.head {
            Head::Source(_) => self.drive_source().await?,
            Head::Gate(_) => self.drive_gate().await?,
        }
        self.finish().await?;
        self.outputs.broadcast(StreamElement::EndOfInput).await?;
        self.linger().await
    }

    async fn drive_source(&mut self) -> Result<()> {
        loop {
            // Between polls everything emitted has been processed: the snapshot's positions are exact.
            while let Ok(control) = self.control.try_recv() {
                self.control(control).await?;
            }
            let phase = *self.phase.borrow();
            match phase {
                Phase::Running => {}
                Phase::Starting => {
                    self.wait().await?;
                    continue;
                }
                // The stream goes on when the job is resumed: event time is not at its end.
                Phase::Draining => return Ok(()),
                Phase::Cancelled => return Ok(()),
            }
            // A source may block the thread while it waits, and rows that wait for an answer would wait for it, too.
            let in_flight = self.chain.in_flight();
            let max_wait = if in_flight { Duration::ZERO } else { self.until_timer().min(POLL_WAIT) };
            let Head::Source(source) = &mut self.head else { return Ok(()) };
            match source.next(max_wait).await.map_err(|e| e.in_operator(&source.name))? {
                SourceEvent::Batch(batch) => self.chain.process(batch, &mut self.outputs).await?,
                SourceEvent::Nothing | SourceEvent::Waiting if in_flight => self.answers(ANSWER_WAIT).await?,
                SourceEvent::Nothing => {}
                SourceEvent::Waiting => self.wait().await?,
                SourceEvent::End => break,
            }
            if self.until_timer().is_zero() {
                self.chain.on_timer().await?;
            }
            // A source that never waits would keep the cancelling branch of `run` from being looked at.
            tokio::task::yield_now().await;
        }
        self.watermark(i64::MAX).await
    }

    /// Waits a while for answers that are under way, and lets their rows go on.
    async fn answers(&mut self, max_wait: Duration) -> Result<()> {
        match tokio::time::timeout(max_wait.min(self.until_timer()), self.chain.answered()).await {
            Ok(()) => self.chain.emit_answered(&mut self.outputs).await,
            Err(_) => Ok(()),
        }
    }

    /// Until an operator of the chain wants to be called.
    fn until_timer(&self) -> Duration {
        self.chain.timer().map_or(Duration::MAX, |due| due.saturating_duration_since(Instant::now()))
    }

    /// Nothing to read for now: waits for what the job says, for a timer, and at most as long as a poll would.
    async fn wait(&mut self) -> Result<()> {
        let max_wait = self.until_timer().min(POLL_WAIT);
        let control = tokio::select! {
            control = self.control.recv() => control,
            _ = self.phase.changed() => None,
            () = tokio::time::sleep(max_wait) => None,
        };
        match control {
            Some(control) => self.control(control).await,
            None => Ok(()),
        }
    }

    async fn control(&mut self, control: Control) -> Result<()> {
        match (control, &mut self.head) {
            (Control::Barrier(epoch), _) => self.barrier(epoch).await,
            (Control::Complete(epoch), Head::Source(source)) => {
                source.checkpoint_complete(epoch).await;
                Ok(())
            }
            (Control::Complete(_) | Control::Close, _) => Ok(()),
        }
    }

    async fn drive_gate(&mut self) -> Result<()> {
        loop {
            let Head::Gate(gate) = &mut self.head else { return Ok(()) };
            let (timer, in_flight) = (self.chain.timer(), self.chain.in_flight());
            let event = tokio::select! {
                biased;
                event = gate.next() => event,
                () = self.chain.answered(), if in_flight => {
                    self.chain.emit_answered(&mut self.outputs).await?;
                    continue;
                }
                () = sleep_until(timer) => {
                    self.chain.on_timer().await?;
                    continue;
                }
            };
            match event {
                GateEvent::Batch(batch) => self.chain.process(batch, &mut self.outputs).await?,
                GateEvent::Watermark(w) => self.watermark(w).await?,
                GateEvent::Barrier(epoch) => self.barrier(epoch).await?,
                GateEvent::EndOfInput => return Ok(()),
                GateEvent::Disconnected => return Err(disconnected()),
            }
        }
    }

    async fn watermark(&mut self, watermark: i64) -> Result<()> {
        self.chain.watermark(watermark, &mut self.outputs).await?;
        self.outputs.broadcast(StreamElement::Watermark(watermark)).await
    }

    async fn barrier(&mut self, epoch: Epoch) -> Result<()> {
        self.epoch = epoch;
        let mut operators = self.source_snapshot(epoch);
        operators.extend(self.chain.snapshot(epoch, &mut self.outputs).await?);
        // Nobody listens once the job has given up on its tasks.
        let _ = self.events.send(TaskEvent::Ack { task: self.task, epoch, operators });
        self.outputs.broadcast(StreamElement::Barrier(epoch)).await
    }

    fn source_snapshot(&mut self, epoch: Epoch) -> Vec<OperatorSnapshot> {
        let Head::Source(s) = &mut self.head else { return vec![] };
        vec![OperatorSnapshot { operator: s.name.clone(), splits: s.snapshot(epoch), state: None }]
    }

    /// The task's part of all checkpoints to come. It belongs to the epoch after the newest that this task has seen:
    /// whichever checkpoint completes next, that one or a later one, holds it.
    async fn finish(&mut self) -> Result<()> {
        let epoch = Epoch(self.epoch.0 + 1);
        let mut operators = self.source_snapshot(epoch);
        operators.extend(self.chain.finish(epoch, &mut self.outputs).await?);
        let _ = self.events.send(TaskEvent::Finished { task: self.task, operators });
        Ok(())
    }

    /// A source stays until the last checkpoint is complete, to commit its positions outside.
    async fn linger(&mut self) -> Result<()> {
        let Head::Source(source) = &mut self.head else { return Ok(()) };
        loop {
            match self.control.recv().await {
                // Its end counts as its part.
                Some(Control::Barrier(_)) => {}
                Some(Control::Complete(epoch)) => source.checkpoint_complete(epoch).await,
                Some(Control::Close) => {
                    source.close().await;
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
