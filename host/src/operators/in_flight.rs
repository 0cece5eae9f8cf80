//! Batches of a lookup join that wait for answers, in the order in which they came. Bounded in batches, rows and
//! bytes.

use super::side_table::{Asked, Key, Keys};
use crate::data::Batch;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::task::Poll;

/// More batches than this wait for the oldest answer.
const BATCHES_MAX: usize = 64;
/// So do more rows or bytes, unless they are of one batch.
const ROWS_MAX: usize = 16_384;
const BYTES_MAX: usize = 32 << 20;

/// A batch, and the answer that it waits for.
pub struct Waiting {
    pub batch: Batch,
    pub keys: Arc<Keys>,
    /// The keys of those rows that wait; None: all rows do.
    pub open: Option<HashSet<Key>>,
    pub asked: Asked,
    bytes: usize,
}

impl Waiting {
    pub fn new(batch: Batch, keys: Arc<Keys>, open: Option<HashSet<Key>>, asked: Asked) -> Self {
        let bytes = batch.columns.get_array_memory_size() + batch.origin.num_bytes();
        Self { batch, keys, open, asked, bytes }
    }
}

#[derive(Default)]
pub struct InFlight {
    queue: VecDeque<Waiting>,
    rows: usize,
    bytes: usize,
}

impl InFlight {
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.queue.len() > BATCHES_MAX || (self.queue.len() > 1 && (self.rows > ROWS_MAX || self.bytes > BYTES_MAX))
    }

    pub fn push(&mut self, waiting: Waiting) {
        self.rows += waiting.batch.num_rows();
        self.bytes += waiting.bytes;
        self.queue.push_back(waiting);
    }

    /// Until `take_done` gives something; never, if nothing waits.
    pub async fn answered(&mut self, ordered: bool) {
        std::future::poll_fn(|cx| {
            let looked_at = if ordered { 1 } else { self.queue.len() };
            let mut any = false;
            for waiting in self.queue.iter_mut().take(looked_at) {
                any |= waiting.asked.poll_done(cx);
            }
            if any { Poll::Ready(()) } else { Poll::Pending }
        })
        .await
    }

    /// The oldest batch that has its answer; `ordered`: the oldest of all, if it has.
    pub fn take_done(&mut self, ordered: bool) -> Option<Waiting> {
        let at = match ordered {
            true => self.queue.front().filter(|w| w.asked.is_done()).map(|_| 0),
            false => self.queue.iter().position(|w| w.asked.is_done()),
        }?;
        let taken = self.queue.remove(at)?;
        self.rows -= taken.batch.num_rows();
        self.bytes -= taken.bytes;
        Some(taken)
    }
}
