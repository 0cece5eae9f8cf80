//! Numbers of requests, by which servers know a repeated one and give the first answer again.

use crate::pb::kudu::rpc::RequestIdPb;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

#[derive(Debug)]
pub struct Tracker {
    client: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: i64,
    unfinished: BTreeSet<i64>,
}

/// A number, unfinished until this is dropped.
pub struct Request<'a> {
    tracker: &'a Tracker,
    seq: i64,
}

impl Tracker {
    /// New for every process: a number must never be used twice.
    pub fn new() -> Self {
        let mut bytes = [0u8; 16];
        for half in bytes.chunks_mut(8) {
            half.copy_from_slice(&crate::retry::random().to_ne_bytes());
        }
        Self { client: bytes.iter().map(|b| format!("{b:02x}")).collect(), state: Mutex::default() }
    }
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
    pub fn begin(&self) -> Request<'_> {
        let mut state = self.lock();
        let seq = state.next;
        state.next += 1;
        state.unfinished.insert(seq);
        Request { tracker: self, seq }
    }
}

impl Request<'_> {
    pub fn attempt(&self, attempt: u32) -> RequestIdPb {
        let first = self.tracker.lock().unfinished.first().copied();
        RequestIdPb {
            client_id: self.tracker.client.clone(),
            seq_no: self.seq,
            first_incomplete_seq_no: first.unwrap_or(self.seq),
            attempt_no: i64::from(attempt),
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.tracker.lock().unfinished.remove(&self.seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unfinished_number_is_told_with_each_request() {
        let tracker = Tracker::new();
        let (a, b, c) = (tracker.begin(), tracker.begin(), tracker.begin());
        drop(b);
        assert_eq!(c.attempt(0).first_incomplete_seq_no, 0);
        drop(a);
        let id = c.attempt(3);
        assert_eq!((id.seq_no, id.first_incomplete_seq_no, id.attempt_no), (2, 2, 3));
        assert_eq!(id.client_id.len(), 32);
        assert_ne!(id.client_id, Tracker::new().client);
    }
}
