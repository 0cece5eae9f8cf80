//! What flows between tasks.

use crate::data::{Batch, Epoch};

/// One element of a stream. Order within a channel is kept: what comes before a barrier belongs to its epoch.
#[derive(Debug, Clone)]
pub enum StreamElement {
    Batch(Batch),
    /// No row with an event time at or below this (ms) follows; `i64::MAX` at the end of a bounded input.
    Watermark(i64),
    Barrier(Epoch),
    /// Nothing follows.
    EndOfInput,
}

impl StreamElement {
    pub fn rows(&self) -> usize {
        match self {
            StreamElement::Batch(b) => b.num_rows(),
            _ => 0,
        }
    }
    pub fn bytes(&self) -> usize {
        match self {
            StreamElement::Batch(b) => b.num_bytes(),
            _ => 0,
        }
    }
}
