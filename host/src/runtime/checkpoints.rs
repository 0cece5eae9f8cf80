//! The checkpoints of a job: the newest one in memory, all of them in the folder if there is one.

use super::checkpoint::{Checkpoint, CheckpointStore, Provenance, Resume, access_of};
use super::job::JobContext;
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::plan::graph::JobGraph;
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;

pub struct Checkpoints {
    store: Option<Arc<CheckpointStore>>,
    /// The newest complete one: of this run, or the one that it goes on from.
    last: Option<Checkpoint>,
    /// The newest epoch that a task may have seen or that is in the folder. No number is used twice.
    newest_epoch: Epoch,
    process: String,
    attempt: u64,
}

impl Checkpoints {
    /// They end with the process.
    pub fn in_memory() -> Self {
        let mut id = [0u8; 8];
        // Only tells writers of manifests apart for people; a folder has one writer at a time.
        let _ = getrandom::fill(&mut id);
        let process = id.iter().map(|b| format!("{b:02x}")).collect();
        Self { store: None, last: None, newest_epoch: Epoch(0), process, attempt: 1 }
    }

    /// In a folder, which is this process's alone from now on. Fails if `resume` does not fit what is in it, or the
    /// checkpoint not the job.
    pub fn in_folder(
        folder: &Path,
        retained: usize,
        resume: Resume,
        allow_non_restored_state: bool,
        graph: &JobGraph,
    ) -> Result<Self> {
        let store = CheckpointStore::open(folder, retained)?;
        let last = store.load(resume, &graph.name)?;
        if let Some(last) = &last {
            refuse_other_access(graph, last)?;
            if !allow_non_restored_state {
                refuse_vanished(graph, last)?;
            }
        }
        // Of all that are there: an older one may be the one to go on from.
        let newest_epoch = store.epochs()?.last().copied().unwrap_or(Epoch(0));
        Ok(Self { store: Some(Arc::new(store)), last, newest_epoch, ..Self::in_memory() })
    }

    pub fn is_durable(&self) -> bool {
        self.store.is_some()
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
    pub fn used(&mut self, epoch: Epoch) {
        self.newest_epoch = self.newest_epoch.max(epoch);
    }

    /// Makes the checkpoint durable, on a thread that may wait; then `published` is to be told. Dead letters of what it
    /// covers are durable before.
    pub fn publish(&self, cx: &JobContext, checkpoint: Checkpoint) -> JoinHandle<Result<Checkpoint>> {
        let provenance = Provenance {
            job: cx.graph.name.clone(),
            attempt: format!("{}-{}", self.process, self.attempt),
            time: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
        };
        let (failures, store) = (cx.failures.clone(), self.store.clone());
        tokio::task::spawn_blocking(move || {
            failures.sync()?;
            if let Some(store) = store {
                store.publish(&checkpoint, &provenance)?;
            }
            Ok(checkpoint)
        })
    }

    /// It is the one to go on from.
    pub fn published(&mut self, checkpoint: Checkpoint) {
        self.last = Some(checkpoint);
    }
}

/// Positions of one connector mean nothing to another.
fn refuse_other_access(graph: &JobGraph, checkpoint: &Checkpoint) -> Result<()> {
    for o in &graph.operators {
        let (now, then) = (access_of(o), checkpoint.operator(&o.name).filter(|then| !then.is_empty()));
        if let Some(then) = then.filter(|then| then.access != now) {
            let message = format!(
                "{}: checkpoint {} was taken with {}, now it is {now}",
                o.name, checkpoint.epoch.0, then.access
            );
            return Err(Error::user(message).with_hint("a table goes on with the connector or stand-in it had"));
        }
    }
    Ok(())
}

/// A checkpoint that holds what the job has no place for is refused: the records would be lost unseen.
fn refuse_vanished(graph: &JobGraph, checkpoint: &Checkpoint) -> Result<()> {
    let is_there = |name: &str| graph.operators.iter().any(|o| o.name == name);
    let vanished: Vec<&str> =
        checkpoint.operators.iter().filter(|o| !o.is_empty() && !is_there(&o.name)).map(|o| o.name.as_str()).collect();
    if vanished.is_empty() {
        return Ok(());
    }
    let message = format!(
        "checkpoint {} holds state of operators that the job does not have: {}",
        checkpoint.epoch.0,
        vanished.join(", ")
    );
    Err(Error::user(message).with_hint("--allow-non-restored-state drops it; a table that was renamed starts anew"))
}
