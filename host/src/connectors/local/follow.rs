//! Reads files while they grow, and goes on with the file that takes a rotated one's place.

use super::reader::{FileId, FileSplit, OpenSplit};
use super::records::RecordSpec;
use crate::connectors::api::{SourceOutput, SourceReader, SourceSplit};
use crate::error::Result;
use async_trait::async_trait;
use std::path::Path;
use std::time::Duration;

/// How long to wait before files are looked at again that had nothing new.
const PAUSE: Duration = Duration::from_millis(50);

pub struct FollowReader {
    spec: RecordSpec,
    files: Vec<Followed>,
    /// The one to be looked at next: they take turns.
    next: usize,
}

enum Followed {
    Open(Box<OpenSplit>),
    /// To be opened, as soon as there is a file.
    Waiting(SourceSplit),
}

impl FollowReader {
    pub fn new(spec: RecordSpec) -> Self {
        Self { spec, files: vec![], next: 0 }
    }

    /// What is new in a file; None: nothing for now.
    fn look(&mut self, at: usize, max_rows: usize) -> Result<Option<SourceOutput>> {
        if let Followed::Waiting(split) = &self.files[at] {
            let Some(split) = found(split)? else { return Ok(None) };
            self.files[at] = Followed::Open(Box::new(OpenSplit::open(split, &self.spec)?));
        }
        let Followed::Open(open) = &mut self.files[at] else { return Ok(None) };
        match open.next_chunk(max_rows, Duration::ZERO)? {
            Some(chunk) if chunk.is_empty() && chunk.refused.is_empty() => Ok(None),
            Some(chunk) => Ok(Some(SourceOutput::Records(chunk))),
            // Rotated or cut: the file that is there now is read from its start.
            None => {
                let file = FileSplit { line: Some(1), followed: None, opened_as: None, ..open.file.clone() };
                self.files[at] = Followed::Waiting(restarted(&open.split, &file));
                Ok(None)
            }
        }
    }
}

fn restarted(split: &SourceSplit, file: &FileSplit) -> SourceSplit {
    let detail = serde_json::to_value(file).unwrap_or_else(|_| split.detail.clone());
    SourceSplit { position: 0, detail, ..split.clone() }
}

/// The split with the file that it is of: the one that it had, also under another name; else the one that is there now,
/// from its start. None: there is none yet.
fn found(split: &SourceSplit) -> Result<Option<SourceSplit>> {
    let file = FileSplit::of(split)?;
    let Some(path) = &file.path else { return Ok(None) };
    let there = std::fs::metadata(path).ok();
    let id = there.as_ref().map(FileId::of);
    if let Some(had) = file.followed {
        let is_cut = there.as_ref().is_some_and(|t| id == Some(had) && t.len() < split.position);
        if id == Some(had) && !is_cut {
            return Ok(Some(split.clone()));
        }
        match renamed(path, had) {
            // Its rest first; at its end the reader sees that another file stands in its place.
            Some(other) if !is_cut => {
                tracing::info!("{}: was rotated to {}, which is read to its end", path.display(), other.display());
                let file = FileSplit { opened_as: Some(other), ..file };
                let detail = serde_json::to_value(&file).unwrap_or_else(|_| split.detail.clone());
                return Ok(Some(SourceSplit { detail, ..split.clone() }));
            }
            _ => tracing::warn!(
                "{}: is another file than at the last checkpoint, and what was not read of that one is not found; \
                 it is read from its start",
                path.display()
            ),
        }
    }
    let Some(id) = id else { return Ok(None) };
    let fresh = FileSplit { line: Some(1), followed: Some(id), opened_as: None, ..file };
    Ok(Some(restarted(split, &fresh)))
}

/// The file of this identity in the same folder.
fn renamed(path: &Path, id: FileId) -> Option<std::path::PathBuf> {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    entries.flatten().find(|e| e.metadata().is_ok_and(|m| FileId::of(&m) == id)).map(|e| e.path())
}

#[async_trait(?Send)]
impl SourceReader for FollowReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.files.push(Followed::Waiting(split));
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        for _ in 0..self.files.len() {
            let at = self.next % self.files.len();
            self.next = at + 1;
            if let Some(output) = self.look(at, max_rows)? {
                return Ok(output);
            }
        }
        std::thread::sleep(PAUSE.min(max_wait));
        Ok(SourceOutput::Idle)
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        let split = |f: &Followed| match f {
            Followed::Open(open) => open.snapshot(),
            Followed::Waiting(split) => split.clone(),
        };
        self.files.iter().map(split).collect()
    }
}
