//! The operator trait and the chain that drives several of them in one task.

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

/// Operators in order; the output of one is the input of the next.
#[derive(Default)]
pub struct Chain {
    operators: Vec<Box<dyn Operator>>,
}

/// The operators after a given one, as its collector.
struct Rest<'a> {
    operators: &'a mut [Box<dyn Operator>],
    tail: &'a mut dyn Collector,
}

#[async_trait(?Send)]
impl Collector for Rest<'_> {
    async fn emit(&mut self, batch: Batch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        match self.operators.split_first_mut() {
            None => self.tail.emit(batch).await,
            Some((first, rest)) => {
                let mut out = Rest { operators: rest, tail: self.tail };
                first.process(batch, &mut out).await.map_err(|e| e.in_operator(first.name()))
            }
        }
    }
}

impl Chain {
    pub fn new(operators: Vec<Box<dyn Operator>>) -> Self {
        Self { operators }
    }

    pub async fn open(&mut self) -> Result<()> {
        for o in &mut self.operators {
            o.open().await.map_err(|e| e.in_operator(o.name()))?;
        }
        Ok(())
    }

    pub async fn process(&mut self, batch: Batch, tail: &mut dyn Collector) -> Result<()> {
        Rest { operators: &mut self.operators, tail }.emit(batch).await
    }

    pub async fn watermark(&mut self, watermark: i64, tail: &mut dyn Collector) -> Result<()> {
        for at in 0..self.operators.len() {
            let (operator, mut out) = self.at(at, tail);
            operator.watermark(watermark, &mut out).await.map_err(|e| e.in_operator(operator.name()))?;
        }
        Ok(())
    }

    /// The next time at which one of the operators wants to be called.
    pub fn timer(&self) -> Option<Instant> {
        self.operators.iter().filter_map(|o| o.timer()).min()
    }

    pub async fn on_timer(&mut self) -> Result<()> {
        for o in &mut self.operators {
            o.on_timer().await.map_err(|e| e.in_operator(o.name()))?;
        }
        Ok(())
    }

    /// Rows wait in one of the operators for an answer of the outside.
    pub fn in_flight(&self) -> bool {
        self.operators.iter().any(|o| o.in_flight())
    }

    /// Until one of them can go on; never, if none waits. May be given up at any time.
    pub async fn answered(&mut self) {
        let waiting: Vec<_> = self.operators.iter_mut().filter(|o| o.in_flight()).map(|o| o.answered()).collect();
        match waiting.is_empty() {
            true => std::future::pending().await,
            false => drop(futures::future::select_all(waiting).await),
        }
    }

    pub async fn emit_answered(&mut self, tail: &mut dyn Collector) -> Result<()> {
        for at in 0..self.operators.len() {
            let (operator, mut out) = self.at(at, tail);
            operator.emit_answered(&mut out).await.map_err(|e| e.in_operator(operator.name()))?;
        }
        Ok(())
    }

    pub async fn snapshot(&mut self, epoch: Epoch, tail: &mut dyn Collector) -> Result<Vec<OperatorSnapshot>> {
        let mut all = Vec::with_capacity(self.operators.len());
        for at in 0..self.operators.len() {
            let (operator, mut out) = self.at(at, tail);
            all.push(operator.snapshot(epoch, &mut out).await.map_err(|e| e.in_operator(operator.name()))?);
        }
        Ok(all)
    }

    pub async fn finish(&mut self, epoch: Epoch, tail: &mut dyn Collector) -> Result<Vec<OperatorSnapshot>> {
        let mut all = Vec::with_capacity(self.operators.len());
        for at in 0..self.operators.len() {
            let (operator, mut out) = self.at(at, tail);
            all.push(operator.finish(epoch, &mut out).await.map_err(|e| e.in_operator(operator.name()))?);
        }
        Ok(all)
    }

    fn at<'a>(&'a mut self, at: usize, tail: &'a mut dyn Collector) -> (&'a mut Box<dyn Operator>, Rest<'a>) {
        let (head, rest) = self.operators.split_at_mut(at + 1);
        (&mut head[at], Rest { operators: rest, tail })
    }
}
