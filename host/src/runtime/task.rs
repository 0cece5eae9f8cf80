//! One task: a source or an input gate at the head, a chain of operators, an exchange (or nothing) at the end.

use super::channel::Sender;
use super::element::StreamElement;
use super::gate::{GateEvent, InputGate};
use crate::data::{Batch, Epoch};
use crate::error::{Error, Result};
use crate::operators::{Chain, Collector, OperatorSnapshot, SourceEvent, SourceOperator};
use async_trait::async_trait;
use std::time::Instant;
use tokio::sync::{mpsc, watch};

/// What the job tells its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Running,
    /// Sources end as if their input had ended; everything in flight is processed and flushed.
    Draining,
    /// Stop now.
    Cancelled,
}

/// What the coordinator tells a source task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    Barrier(Epoch),
}

/// A task has taken its part of a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct Ack {
    pub epoch: Epoch,
    pub task: String,
    pub operators: Vec<OperatorSnapshot>,
}

pub enum Head {
    Source(Box<SourceOperator>),
    Gate(Box<InputGate>),
}

/// Where the output of a task goes.
pub enum Output {
    /// The chain ends in a sink.
    None,
    /// Batches go to the subtasks in turn; control elements to all of them.
    Rebalance { channels: Vec<Sender>, next: usize },
}

pub struct Task {
    pub name: String,
    pub head: Head,
    pub chain: Chain,
    pub output: Output,
    pub phase: watch::Receiver<Phase>,
    pub control: mpsc::UnboundedReceiver<Control>,
    pub acks: mpsc::UnboundedSender<Ack>,
}

/// The other side of a channel is gone. It failed for a reason of its own, which is the one to report.
fn disconnected() -> Error {
    Error::internal(DISCONNECTED)
}
pub(super) const DISCONNECTED: &str = "a neighbouring task ended early";

impl Output {
    async fn broadcast(&mut self, element: StreamElement) -> Result<()> {
        match self {
            Output::None => Ok(()),
            Output::Rebalance { channels, .. } => {
                for c in channels {
                    c.send(element.clone()).await.map_err(|_| disconnected())?;
                }
                Ok(())
            }
        }
    }
}

#[async_trait(?Send)]
impl Collector for Output {
    async fn emit(&mut self, batch: Batch) -> Result<()> {
        match self {
            // A sink emits nothing.
            Output::None => Ok(()),
            Output::Rebalance { channels, next } => {
                let channel = &channels[*next];
                *next = (*next + 1) % channels.len();
                channel.send(StreamElement::Batch(batch)).await.map_err(|_| disconnected())
            }
        }
    }
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
        self.chain.finish(&mut self.output).await?;
        self.output.broadcast(StreamElement::EndOfInput).await
    }

    async fn drive_source(&mut self) -> Result<()> {
        loop {
            // Between polls everything emitted has been processed: the snapshot's positions are exact.
            while let Ok(Control::Barrier(epoch)) = self.control.try_recv() {
                self.barrier(epoch).await?;
            }
            match *self.phase.borrow() {
                Phase::Running => {}
                Phase::Draining => break,
                Phase::Cancelled => return Ok(()),
            }
            let Head::Source(source) = &mut self.head else { return Ok(()) };
            match source.next().await.map_err(|e| e.in_operator(&source.name))? {
                SourceEvent::Batch(batch) => self.chain.process(batch, &mut self.output).await?,
                SourceEvent::Nothing => {}
                SourceEvent::End => break,
            }
            if self.chain.timer().is_some_and(|due| due <= Instant::now()) {
                self.chain.on_timer().await?;
            }
            // A source that never waits would keep the cancelling branch of `run` from being looked at.
            tokio::task::yield_now().await;
        }
        self.watermark(i64::MAX).await
    }

    async fn drive_gate(&mut self) -> Result<()> {
        loop {
            let Head::Gate(gate) = &mut self.head else { return Ok(()) };
            let event = match self.chain.timer() {
                None => gate.next().await,
                Some(due) => match tokio::time::timeout_at(due.into(), gate.next()).await {
                    Ok(event) => event,
                    Err(_) => {
                        self.chain.on_timer().await?;
                        continue;
                    }
                },
            };
            match event {
                GateEvent::Batch(batch) => self.chain.process(batch, &mut self.output).await?,
                GateEvent::Watermark(w) => self.watermark(w).await?,
                GateEvent::Barrier(epoch) => self.barrier(epoch).await?,
                GateEvent::EndOfInput => return Ok(()),
                GateEvent::Disconnected => return Err(disconnected()),
            }
        }
    }

    async fn watermark(&mut self, watermark: i64) -> Result<()> {
        self.chain.watermark(watermark, &mut self.output).await?;
        self.output.broadcast(StreamElement::Watermark(watermark)).await
    }

    async fn barrier(&mut self, epoch: Epoch) -> Result<()> {
        let mut operators = Vec::new();
        if let Head::Source(s) = &self.head {
            operators.push(OperatorSnapshot { operator: s.name.clone(), splits: s.snapshot(), state: None });
        }
        operators.extend(self.chain.snapshot(epoch, &mut self.output).await?);
        // Nobody may be listening (no checkpoints): then the barrier only flushed.
        let _ = self.acks.send(Ack { epoch, task: self.name.clone(), operators });
        self.output.broadcast(StreamElement::Barrier(epoch)).await
    }
}
