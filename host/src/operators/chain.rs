//! The operator trait and the chain that drives several of them in one task. A chain may fork: what an operator emits goes
//! to all that follow it.

use crate::connectors::api::SourceSplit;
use crate::data::{Batch, Epoch};
use crate::error::Result;
use async_trait::async_trait;
use std::time::Instant;

/// Where an operator puts its output. Back-pressure is in the await.
#[async_trait(?Send)]
pub trait Collector {
    async fn emit(&mut self, batch: Batch) -> Result<()>;
}

/// What an operator gives for a checkpoint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorSnapshot {
    pub operator: String,
    /// Sources: the unfinished splits with their positions.
    pub splits: Vec<SourceSplit>,
    /// Sinks: what they need to go on from here.
    pub state: Option<serde_json::Value>,
}

/// One operator of a task. Control elements come between batches, in the order of the stream; the chain forwards them
/// after the operator has seen them.
#[async_trait(?Send)]
pub trait Operator {
    fn name(&self) -> &str;
    async fn open(&mut self) -> Result<()> {
        Ok(())
    }
    async fn process(&mut self, batch: Batch, out: &mut dyn Collector) -> Result<()>;
    async fn watermark(&mut self, _watermark: i64, _out: &mut dyn Collector) -> Result<()> {
        Ok(())
    }
    /// When `on_timer` is to be called though nothing has come; it may be called earlier, too.
    fn timer(&self) -> Option<Instant> {
        None
    }
    async fn on_timer(&mut self) -> Result<()> {
        Ok(())
    }
    /// Rows wait in here for an answer of the outside. They are emitted before a watermark, a barrier and the end.
    fn in_flight(&self) -> bool {
        false
    }
    /// Until one of the answers is there. Called where rows are in flight; may be given up at any time.
    async fn answered(&mut self) {
        std::future::pending().await
    }
    /// Emits the rows whose answers are there.
    async fn emit_answered(&mut self, _out: &mut dyn Collector) -> Result<()> {
        Ok(())
    }
    /// At a barrier: everything before it has been processed. Sinks make it durable here.
    async fn snapshot(&mut self, _epoch: Epoch, _out: &mut dyn Collector) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot { operator: self.name().to_string(), splits: vec![], state: None })
    }
    /// Nothing follows: flushes, and gives what it would give at a barrier of this epoch.
    async fn finish(&mut self, epoch: Epoch, out: &mut dyn Collector) -> Result<OperatorSnapshot> {
        self.snapshot(epoch, out).await
    }
}

/// The outputs of a task, by number: what leaves its chain goes there.
#[async_trait(?Send)]
pub trait Tail {
    async fn emit(&mut self, output: usize, batch: Batch) -> Result<()>;
}

/// Operators of a task. Each comes before those that follow it, and they lie together: a node and the next
/// `subtree - 1` ones are a chain of their own.
#[derive(Default)]
pub struct Chain {
    nodes: Vec<Node>,
    /// Outputs of the task that the head's rows go to directly.
    outputs: Vec<usize>,
}

/// An operator in a chain.
pub struct Node {
    pub operator: Box<dyn Operator>,
    /// It and all that follow it.
    pub subtree: usize,
    /// Outputs of the task that its rows go to.
    pub outputs: Vec<usize>,
}

/// What follows an operator (or the head), as its collector.
struct Rest<'a> {
    nodes: &'a mut [Node],
    outputs: &'a [usize],
    tail: &'a mut dyn Tail,
}

#[async_trait(?Send)]
impl Collector for Rest<'_> {
    async fn emit(&mut self, batch: Batch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        for output in self.outputs {
            self.tail.emit(*output, batch.clone()).await?;
        }
        let mut nodes = &mut *self.nodes;
        while let Some(members) = nodes.first().map(|n| n.subtree) {
            let (subtree, rest) = std::mem::take(&mut nodes).split_at_mut(members);
            nodes = rest;
            let Some((node, below)) = subtree.split_first_mut() else { return Ok(()) };
            let mut out = Rest { nodes: below, outputs: &node.outputs, tail: self.tail };
            let done = node.operator.process(batch.clone(), &mut out).await;
            done.map_err(|e| e.in_operator(node.operator.name()))?;
        }
        Ok(())
    }
}

impl Chain {
    /// `outputs`: where the head's own rows leave the task, beside the first operators.
    pub fn new(nodes: Vec<Node>, outputs: Vec<usize>) -> Self {
        Self { nodes, outputs }
    }

    pub async fn open(&mut self) -> Result<()> {
        for o in self.operators() {
            o.open().await.map_err(|e| e.in_operator(o.name()))?;
        }
        Ok(())
    }

    pub async fn process(&mut self, batch: Batch, tail: &mut dyn Tail) -> Result<()> {
        Rest { nodes: &mut self.nodes, outputs: &self.outputs, tail }.emit(batch).await
    }

    pub async fn watermark(&mut self, watermark: i64, tail: &mut dyn Tail) -> Result<()> {
        for at in 0..self.nodes.len() {
            let (operator, mut out) = self.at(at, tail);
            operator.watermark(watermark, &mut out).await.map_err(|e| e.in_operator(operator.name()))?;
        }
        Ok(())
    }

    /// The next time at which one of the operators wants to be called.
    pub fn timer(&self) -> Option<Instant> {
        self.nodes.iter().filter_map(|n| n.operator.timer()).min()
    }

    pub async fn on_timer(&mut self) -> Result<()> {
        for o in self.operators() {
            o.on_timer().await.map_err(|e| e.in_operator(o.name()))?;
        }
        Ok(())
    }

    /// Rows wait in one of the operators for an answer of the outside.
    pub fn in_flight(&self) -> bool {
        self.nodes.iter().any(|n| n.operator.in_flight())
    }

    /// Until one of them can go on; never, if none waits. May be given up at any time.
    pub async fn answered(&mut self) {
        let waiting: Vec<_> = self.operators().filter(|o| o.in_flight()).map(|o| o.answered()).collect();
        match waiting.is_empty() {
            true => std::future::pending().await,
            false => drop(futures::future::select_all(waiting).await),
        }
    }

    pub async fn emit_answered(&mut self, tail: &mut dyn Tail) -> Result<()> {
        for at in 0..self.nodes.len() {
            let (operator, mut out) = self.at(at, tail);
            operator.emit_answered(&mut out).await.map_err(|e| e.in_operator(operator.name()))?;
        }
        Ok(())
    }

    pub async fn snapshot(&mut self, epoch: Epoch, tail: &mut dyn Tail) -> Result<Vec<OperatorSnapshot>> {
        let mut all = Vec::with_capacity(self.nodes.len());
        for at in 0..self.nodes.len() {
            let (operator, mut out) = self.at(at, tail);
            all.push(operator.snapshot(epoch, &mut out).await.map_err(|e| e.in_operator(operator.name()))?);
        }
        Ok(all)
    }

    pub async fn finish(&mut self, epoch: Epoch, tail: &mut dyn Tail) -> Result<Vec<OperatorSnapshot>> {
        let mut all = Vec::with_capacity(self.nodes.len());
        for at in 0..self.nodes.len() {
            let (operator, mut out) = self.at(at, tail);
            all.push(operator.finish(epoch, &mut out).await.map_err(|e| e.in_operator(operator.name()))?);
        }
        Ok(all)
    }

    fn operators(&mut self) -> impl Iterator<Item = &mut Box<dyn Operator>> {
        self.nodes.iter_mut().map(|n| &mut n.operator)
    }

    fn at<'a>(&'a mut self, at: usize, tail: &'a mut dyn Tail) -> (&'a mut Box<dyn Operator>, Rest<'a>) {
        let (head, rest) = self.nodes.split_at_mut(at + 1);
        let node = &mut head[at];
        let below = &mut rest[..node.subtree - 1];
        (&mut node.operator, Rest { nodes: below, outputs: &node.outputs, tail })
    }
}
