//! Deadlines, and pauses between attempts.

use crate::error::{Error, Result};
use std::time::{Duration, Instant};

/// When an operation as a whole must be done.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Instant,
    within: Duration,
}

impl Deadline {
    pub fn within(within: Duration) -> Self {
        Self { start: Instant::now(), within }
    }
    pub fn remaining(&self) -> Duration {
        self.within.saturating_sub(self.start.elapsed())
    }
    /// The time for one attempt.
    pub fn attempt(&self, most: Duration) -> Duration {
        self.remaining().min(most).max(Duration::from_millis(1))
    }
}

/// One operation with its attempts.
pub struct Retry {
    what: String,
    pub deadline: Deadline,
    attempts: u32,
    last: Option<Error>,
}

impl Retry {
    pub fn new(what: impl Into<String>, deadline: Deadline) -> Self {
        Self { what: what.into(), deadline, attempts: 0, last: None }
    }
    /// Attempts that have failed.
    pub fn failed(&self) -> u32 {
        self.attempts
    }
    /// Waits before the next attempt, by chance and longer each time; an error when there is no time for one.
    pub async fn pause(&mut self, failure: Error) -> Result<()> {
        tracing::debug!(what = self.what, attempt = self.attempts, %failure, "will try again");
        self.attempts += 1;
        // A timeout that came only because little time was left says less than what was before.
        if !(failure.is_timeout() && self.last.is_some()) {
            self.last = Some(failure);
        }
        let longest = 1u64 << self.attempts.min(12);
        let pause = Duration::from_millis(random() % longest + 1);
        if self.deadline.remaining() <= pause {
            return Err(self.timeout());
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }
    fn timeout(&mut self) -> Error {
        let last = self.last.take().map(Box::new);
        Error::Timeout { what: std::mem::take(&mut self.what), after: self.deadline.within, last }
    }
}

/// Good enough to spread load.
pub fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| Instant::now().elapsed().as_nanos() as u64)
}
