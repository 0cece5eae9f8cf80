//! A look-up that is under way beside its task.

use super::snapshot::{Key, Snapshot};
use crate::error::{Error, Result};
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::task::JoinHandle;

/// What the outside said of the keys of a batch.
pub struct Answer {
    pub rows: Arc<Snapshot>,
    /// Keys that it gave no answer for in time, and in which time.
    pub unanswered: HashSet<Key>,
    pub why: String,
}

impl Answer {
    pub fn of(rows: Arc<Snapshot>) -> Self {
        Self { rows, unanswered: HashSet::new(), why: String::new() }
    }
}

/// Runs on the I/O runtime; ends with its owner.
pub struct Asked(State);

enum State {
    UnderWay(JoinHandle<Result<Answer>>),
    Done(Option<Result<Answer>>),
}

impl Asked {
    pub fn spawn(answer: impl Future<Output = Result<Answer>> + Send + 'static) -> Self {
        Self(State::UnderWay(tokio::spawn(answer)))
    }

    pub fn done(rows: Arc<Snapshot>) -> Self {
        Self(State::Done(Some(Ok(Answer::of(rows)))))
    }

    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::UnderWay(task) => task.is_finished(),
            State::Done(_) => true,
        }
    }

    /// Whether the answer is there; else the task is woken when it comes.
    pub fn poll_done(&mut self, cx: &mut Context<'_>) -> bool {
        if let State::UnderWay(task) = &mut self.0
            && let Poll::Ready(joined) = Pin::new(task).poll(cx)
        {
            let answer = joined.unwrap_or_else(|e| Err(Error::internal(format!("a look-up ended early: {e}"))));
            self.0 = State::Done(Some(answer));
        }
        matches!(self.0, State::Done(_))
    }

    /// Waits for the answer, which can be taken once.
    pub async fn answer(&mut self) -> Result<Answer> {
        std::future::poll_fn(|cx| if self.poll_done(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        match &mut self.0 {
            State::Done(answer) => answer.take().unwrap_or_else(|| Err(Error::internal("an answer is taken twice"))),
            State::UnderWay(_) => Err(Error::internal("an answer that is not there")),
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let State::UnderWay(task) = &self.0 {
            task.abort();
        }
    }
}
