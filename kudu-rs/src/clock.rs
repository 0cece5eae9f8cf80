//! Hybrid time: microseconds and a counter, carried from server to server by their clients.

use std::sync::atomic::{AtomicU64, Ordering};

/// The latest time that a server has told.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn observe(&self, timestamp: Option<u64>) {
        if let Some(t) = timestamp {
            self.0.fetch_max(t, Ordering::Relaxed);
        }
    }
    pub fn latest(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|t| *t != 0)
    }
}

/// A hybrid timestamp of a time in microseconds.
pub fn from_micros(micros: u64) -> u64 {
    micros << 12
}
