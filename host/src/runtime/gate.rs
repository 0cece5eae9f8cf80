//! The inputs of a task as one stream of events: barriers aligned, watermarks merged, ends counted.

use super::barrier::{Alignment, BarrierAligner};
use super::channel::{Receiver, TryRecv};
use super::element::StreamElement;
use super::watermark::WatermarkTracker;
use crate::data::{Batch, Epoch};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// What the gate tells its task.
#[derive(Debug)]
pub enum GateEvent {
    Batch(Batch),
    Watermark(i64),
    Barrier(Epoch),
    /// Every input has ended.
    EndOfInput,
    /// A sender went away without an end: its task failed.
    Disconnected,
}

pub struct InputGate {
    inputs: Vec<Receiver>,
    finished: Vec<bool>,
    aligner: BarrierAligner,
    watermarks: WatermarkTracker,
    readable: Arc<Notify>,
    /// Events that one element caused beyond the first.
    pending: VecDeque<GateEvent>,
    /// Where the next look starts, so that no input starves.
    next: usize,
}

impl InputGate {
    pub fn new(inputs: Vec<Receiver>, readable: Arc<Notify>) -> Self {
        let n = inputs.len();
        Self {
            inputs,
            finished: vec![false; n],
            aligner: BarrierAligner::new(n),
            watermarks: WatermarkTracker::new(n),
            readable,
            pending: VecDeque::new(),
            next: 0,
        }
    }

    pub async fn next(&mut self) -> GateEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            match self.poll_inputs() {
                Some(event) => return event,
                None => self.readable.notified().await,
            }
        }
    }

    /// One element of the next readable input, or None if all are empty or parked.
    fn poll_inputs(&mut self) -> Option<GateEvent> {
        let n = self.inputs.len();
        for step in 0..n {
            let input = (self.next + step) % n;
            if self.finished[input] || self.aligner.is_parked(input) {
                continue;
            }
            match self.inputs[input].try_recv() {
                TryRecv::Empty => {}
                TryRecv::Disconnected => return Some(GateEvent::Disconnected),
                TryRecv::Element(e) => {
                    self.next = (input + 1) % n;
                    self.accept(input, e);
                    if let Some(event) = self.pending.pop_front() {
                        return Some(event);
                    }
                    return self.poll_inputs();
                }
            }
        }
        None
    }

    fn accept(&mut self, input: usize, element: StreamElement) {
        match element {
            StreamElement::Batch(b) => self.pending.push_back(GateEvent::Batch(b)),
            StreamElement::Watermark(w) => {
                self.pending.extend(self.watermarks.update(input, w).map(GateEvent::Watermark));
            }
            StreamElement::Barrier(epoch) => {
                if let Alignment::Complete(e) = self.aligner.on_barrier(input, epoch) {
                    self.pending.push_back(GateEvent::Barrier(e));
                }
            }
            StreamElement::EndOfInput => {
                self.finished[input] = true;
                self.pending.extend(self.watermarks.finish(input).map(GateEvent::Watermark));
                if let Alignment::Complete(e) = self.aligner.on_finished(input) {
                    self.pending.push_back(GateEvent::Barrier(e));
                }
                if self.finished.iter().all(|f| *f) {
                    self.pending.push_back(GateEvent::EndOfInput);
                }
            }
        }
    }
}
