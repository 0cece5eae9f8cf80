//! The part files of a sink: being written, waiting for their checkpoint, visible.

use crate::connectors::local::io_error;
use crate::data::Epoch;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Attempts to find a part number that nobody else has.
const NUMBER_ATTEMPTS: u64 = 1_000_000;

/// What a checkpoint holds of a writer: the parts to be made visible, if they are not yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WriterState {
    /// Tells this job's hidden files from others'; the same for all runs that go on from each other.
    run: String,
    parts: Vec<PartName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PartName {
    subtask: usize,
    number: u64,
    /// Of the attempt that wrote it. A number may come again, once a visible file was moved away; the hidden file of
    /// another attempt must not be taken for the one that a checkpoint names.
    attempt: String,
}

/// A part that is not visible yet.
#[derive(Debug, Clone)]
struct Part {
    name: PartName,
    hidden: PathBuf,
    /// The epoch it belongs to; None: it is being written.
    closed: Option<Epoch>,
}

#[derive(Default)]
struct State {
    run: String,
    attempt: String,
    parts: Vec<Part>,
    /// Per subtask, where to begin the search for a free number.
    next: HashMap<usize, u64>,
}

pub struct Parts {
    table: Arc<str>,
    folder: PathBuf,
    state: Mutex<State>,
}

impl Parts {
    pub fn new(table: Arc<str>, folder: PathBuf) -> Result<Self> {
        let state = State { run: random_id()?, attempt: random_id()?, ..State::default() };
        Ok(Self { table, folder, state: Mutex::new(state) })
    }

    pub fn table(&self) -> &str {
        &self.table
    }
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Each change is one step, so a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, doing: &str, path: &Path, e: &std::io::Error) -> Error {
        io_error(&self.table, doing, path, e)
    }

    pub fn make_folder(&self) -> Result<()> {
        if self.folder.is_file() {
            return Err(Error::user(format!("table {}: path {} is a file", self.table, self.folder.display()))
                .with_hint("a sink writes part files into a folder"));
        }
        std::fs::create_dir_all(&self.folder).map_err(|e| self.fail("make the folder", &self.folder, &e))
    }

    fn visible(&self, name: &PartName) -> PathBuf {
        self.folder.join(format!("part-{}-{}", name.subtask, name.number))
    }

    fn hidden(&self, run: &str, name: &PartName) -> PathBuf {
        self.folder.join(format!(".part-{}-{}.{}{}", name.subtask, name.number, name.attempt, ending(run)))
    }

    /// A new part under its hidden name, with a number that no part of this or an earlier run has.
    pub fn create(&self, subtask: usize) -> Result<File> {
        let mut state = self.lock();
        let first = state.next.get(&subtask).copied().unwrap_or(0);
        for number in first..first + NUMBER_ATTEMPTS {
            let name = PartName { subtask, number, attempt: state.attempt.clone() };
            if self.visible(&name).exists() {
                continue;
            }
            let hidden = self.hidden(&state.run, &name);
            match OpenOptions::new().write(true).create_new(true).open(&hidden) {
                Ok(file) => {
                    state.parts.push(Part { name, hidden, closed: None });
                    state.next.insert(subtask, number + 1);
                    return Ok(file);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(self.fail("write", &hidden, &e)),
            }
        }
        Err(Error::external(format!("table {}: {} is full of part files", self.table, self.folder.display())))
    }

    /// The subtask's part is written and belongs to this epoch. Gives all its parts that are not visible yet: those of
    /// checkpoints that were given up, too.
    pub fn close(&self, subtask: usize, epoch: Epoch) -> Result<WriterState> {
        let mut state = self.lock();
        let mut parts = vec![];
        for part in state.parts.iter_mut().filter(|p| p.name.subtask == subtask) {
            part.closed.get_or_insert(epoch);
            parts.push(part.name.clone());
        }
        if !parts.is_empty() {
            self.sync_folder()?;
        }
        Ok(WriterState { run: state.run.clone(), parts })
    }

    /// Makes visible what the checkpoint of this epoch covers.
    pub fn publish_until(&self, epoch: Epoch) -> Result<()> {
        self.publish_if(|part| part.closed.is_some_and(|closed| closed <= epoch))
    }

    pub fn publish_all(&self) -> Result<()> {
        self.publish_if(|_| true)
    }

    fn publish_if(&self, which: impl Fn(&Part) -> bool) -> Result<()> {
        let mut state = self.lock();
        let mut published = false;
        while let Some(at) = state.parts.iter().position(&which) {
            self.publish(&state.parts[at])?;
            state.parts.remove(at);
            published = true;
        }
        if published { self.sync_folder() } else { Ok(()) }
    }

    /// Gives a part its visible name; a number that was taken meanwhile is passed over.
    fn publish(&self, part: &Part) -> Result<()> {
        let mut name = part.name.clone();
        while self.visible(&name).exists() {
            name.number += 1;
        }
        let visible = self.visible(&name);
        std::fs::rename(&part.hidden, &visible).map_err(|e| self.fail("write", &visible, &e))
    }

    /// Names are durable when this returns; the content of files is already.
    fn sync_folder(&self) -> Result<()> {
        File::open(&self.folder).and_then(|f| f.sync_all()).map_err(|e| self.fail("sync", &self.folder, &e))
    }

    /// Goes on from a checkpoint: makes visible what it names (some of it may be already), and removes what this job
    /// has written since.
    pub fn restore(&self, states: &[WriterState]) -> Result<()> {
        for state in states {
            for name in &state.parts {
                let hidden = self.hidden(&state.run, name);
                if hidden.exists() {
                    self.publish(&Part { name: name.clone(), hidden, closed: None })?;
                } else if !self.visible(name).exists() {
                    tracing::warn!(
                        "table {}: {} of the checkpoint is not there; has it been moved away?",
                        self.table,
                        self.visible(name).display()
                    );
                }
            }
        }
        let mut own = self.lock();
        if let Some(first) = states.first() {
            own.run.clone_from(&first.run);
        }
        self.remove_hidden(states)?;
        self.sync_folder()
    }

    fn remove_hidden(&self, states: &[WriterState]) -> Result<()> {
        let list = |e: std::io::Error| self.fail("list", &self.folder, &e);
        for entry in std::fs::read_dir(&self.folder).map_err(list)? {
            let entry = entry.map_err(list)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(".part-") && states.iter().any(|s| name.ends_with(&ending(&s.run))) {
                std::fs::remove_file(entry.path()).map_err(|e| self.fail("remove", &entry.path(), &e))?;
            }
        }
        Ok(())
    }
}

fn random_id() -> Result<String> {
    let mut id = [0u8; 6];
    getrandom::fill(&mut id).map_err(|e| Error::external(format!("the system gives no random bytes: {e}")))?;
    Ok(id.iter().map(|b| format!("{b:02x}")).collect())
}

fn ending(run: &str) -> String {
    format!(".{run}.inprogress")
}

impl Drop for Parts {
    /// Parts of no complete checkpoint belong to nobody: the job tells every sink of each checkpoint that it published.
    fn drop(&mut self) {
        for part in &self.lock().parts {
            if let Err(e) = std::fs::remove_file(&part.hidden) {
                tracing::warn!("cannot remove {}: {e}", part.hidden.display());
            }
        }
    }
}
