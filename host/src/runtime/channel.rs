//! Channels between tasks: one sender, one receiver, bounded in rows, bytes and elements. A receiver shares the wake-up
//! of its task's input gate, so that a task waits for all its inputs at once.

use super::element::StreamElement;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How much may wait in one channel. A single batch over the limit still passes, alone.
#[derive(Debug, Clone, Copy)]
pub struct ChannelLimits {
    pub rows_max: usize,
    pub bytes_max: usize,
    pub elements_max: usize,
}

impl Default for ChannelLimits {
    fn default() -> Self {
        Self { rows_max: 32 * 1024, bytes_max: 32 << 20, elements_max: 256 }
    }
}

#[derive(Default)]
struct State {
    queue: VecDeque<StreamElement>,
    rows: usize,
    bytes: usize,
    sender_gone: bool,
    receiver_gone: bool,
}

struct Shared {
    limits: ChannelLimits,
    state: Mutex<State>,
    readable: Arc<Notify>,
    writable: Notify,
}

impl Shared {
    /// A panicking peer leaves a consistent queue behind (each change is one push or pop), so poison is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The other side went away: its task failed or was cancelled.
#[derive(Debug, PartialEq, Eq)]
pub struct Disconnected;

pub struct Sender(Arc<Shared>);
pub struct Receiver(Arc<Shared>);

/// `readable` is notified whenever the receiver can make progress.
pub fn channel(limits: ChannelLimits, readable: Arc<Notify>) -> (Sender, Receiver) {
    let shared = Arc::new(Shared { limits, state: Mutex::default(), readable, writable: Notify::new() });
    (Sender(shared.clone()), Receiver(shared))
}

impl Sender {
    /// Waits until there is room. Control elements wait too: they may not overtake, and a flood must not grow the queue.
    pub async fn send(&self, element: StreamElement) -> Result<(), Disconnected> {
        let (rows, bytes) = (element.rows(), element.bytes());
        let mut element = Some(element);
        loop {
            {
                let mut s = self.0.lock();
                if s.receiver_gone {
                    return Err(Disconnected);
                }
                let l = &self.0.limits;
                let fits =
                    s.queue.len() < l.elements_max && s.rows + rows <= l.rows_max && s.bytes + bytes <= l.bytes_max;
                if (s.queue.is_empty() || fits)
                    && let Some(e) = element.take()
                {
                    s.rows += rows;
                    s.bytes += bytes;
                    s.queue.push_back(e);
                    drop(s);
                    self.0.readable.notify_one();
                    return Ok(());
                }
            }
            // notify_one keeps a permit, so a pop between the check and here is not missed.
            self.0.writable.notified().await;
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.lock().sender_gone = true;
        self.0.readable.notify_one();
    }
}

/// What a look into a channel gives.
#[derive(Debug)]
pub enum TryRecv {
    Element(StreamElement),
    Empty,
    Disconnected,
}

impl Receiver {
    pub fn try_recv(&self) -> TryRecv {
        let mut s = self.0.lock();
        match s.queue.pop_front() {
            Some(e) => {
                s.rows -= e.rows();
                s.bytes -= e.bytes();
                drop(s);
                self.0.writable.notify_one();
                TryRecv::Element(e)
            }
            None if s.sender_gone => TryRecv::Disconnected,
            None => TryRecv::Empty,
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let mut s = self.0.lock();
        s.receiver_gone = true;
        s.queue.clear();
        drop(s);
        self.0.writable.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Batch, Epoch, Origin};
    use arrow::array::{Int32Array, RecordBatch};
    use std::time::Duration;

    fn batch(rows: i32) -> StreamElement {
        let columns =
            RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from_iter_values(0..rows)) as _)]).unwrap();
        StreamElement::Batch(Batch::new(columns, Origin::unknown()))
    }

    fn small() -> (Sender, Receiver) {
        channel(ChannelLimits { rows_max: 10, bytes_max: 1 << 20, elements_max: 4 }, Arc::new(Notify::new()))
    }

    async fn blocked(tx: &Sender, e: StreamElement) -> bool {
        tokio::time::timeout(Duration::from_millis(20), tx.send(e)).await.is_err()
    }

    #[tokio::test]
    async fn a_full_channel_holds_the_sender_until_rows_are_taken() {
        let (tx, rx) = small();
        tx.send(batch(8)).await.unwrap();
        assert!(blocked(&tx, batch(3)).await);
        assert!(matches!(rx.try_recv(), TryRecv::Element(StreamElement::Batch(_))));
        tx.send(batch(3)).await.unwrap();
    }

    #[tokio::test]
    async fn an_oversized_batch_passes_alone() {
        let (tx, rx) = small();
        tx.send(batch(100)).await.unwrap();
        assert!(blocked(&tx, batch(1)).await);
        assert!(matches!(rx.try_recv(), TryRecv::Element(_)));
    }

    #[tokio::test]
    async fn control_elements_are_bounded_in_number() {
        let (tx, _rx) = small();
        for i in 0..4 {
            tx.send(StreamElement::Watermark(i)).await.unwrap();
        }
        assert!(blocked(&tx, StreamElement::Barrier(Epoch(1))).await);
    }

    #[tokio::test]
    async fn each_side_sees_that_the_other_is_gone() {
        let (tx, rx) = small();
        tx.send(StreamElement::EndOfInput).await.unwrap();
        drop(tx);
        assert!(matches!(rx.try_recv(), TryRecv::Element(StreamElement::EndOfInput)));
        assert!(matches!(rx.try_recv(), TryRecv::Disconnected));
        let (tx, rx) = small();
        drop(rx);
        assert_eq!(tx.send(batch(1)).await, Err(Disconnected));
    }
}
