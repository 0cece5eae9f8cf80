//! The checkpoints of a running job: the newest one in memory, all of them in the folder if there is one.

use super::checkpoint::{Checkpoint, CheckpointStore, Provenance, Resume};
use super::job::JobContext;
use crate::data::Epoch;
use crate::error::Result;

pub struct Checkpoints {
    store: Option<CheckpointStore>,
    last: Option<Checkpoint>,
    /// The newest epoch that was used by this run or is in the folder.
    newest_epoch: Epoch,
    process: String,
    attempt: u64,
}

impl Checkpoints {
    /// With the checkpoint that the job goes on from.
    pub fn open(store: Option<CheckpointStore>, resume: Resume, cx: &JobContext) -> Result<(Self, Option<Checkpoint>)> {
        let mut newest_epoch = Epoch(0);
        let mut restored = None;
        if let Some(store) = &store {
            restored = store.load(resume, &cx.graph.name)?;
            // Also where an older one is resumed: numbers are never used twice.
            newest_epoch = store.epochs()?.last().copied().unwrap_or(newest_epoch);
        }
        let mut id = [0u8; 8];
        getrandom::fill(&mut id)
            .map_err(|e| crate::error::Error::external(format!("the system gives no random bytes: {e}")))?;
        let process = id.iter().map(|b| format!("{b:02x}")).collect();
        Ok((Self { store, last: None, newest_epoch, process, attempt: 1 }, restored))
    }

    pub fn last(&self) -> Option<&Checkpoint> {
        self.last.as_ref()
    }
    pub fn newest_epoch(&self) -> Epoch {
        self.newest_epoch
    }
    pub fn next_attempt(&mut self) {
        self.attempt += 1;
    }
    /// An epoch is used as soon as a task may have seen it.
    pub fn used(&mut self, epoch: Epoch) {
        self.newest_epoch = self.newest_epoch.max(epoch);
    }

    /// Makes the checkpoint the one to go on from. Dead letters of what it covers are durable before.
    pub fn publish(&mut self, cx: &JobContext, checkpoint: Checkpoint) -> Result<()> {
        cx.failures.flush()?;
        if let Some(store) = &self.store {
            let provenance = Provenance {
                job: cx.graph.name.clone(),
                attempt: format!("{}-{}", self.process, self.attempt),
                time: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            };
            store.publish(&checkpoint, &provenance)?;
        }
        self.last = Some(checkpoint);
        Ok(())
    }
}
