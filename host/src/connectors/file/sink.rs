//! Writing: one part file per subtask, under a hidden name until the whole job has ended well.

use crate::connectors::api::{FailedRow, FormatBinding, Sink, SinkWriter, SubtaskContext, TableContext};
use crate::connectors::local::io_error;
use crate::connectors::local::sink::LineEncoder;
use crate::data::{Batch, ChangelogMode, RowError};
use crate::error::{Error, Result};
use async_trait::async_trait;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Attempts to find a part number that nobody else has.
const NUMBER_ATTEMPTS: u64 = 1_000_000;

pub struct FileSink {
    parts: Arc<Parts>,
    format: Arc<dyn FormatBinding>,
}

/// The part files of this run.
struct Parts {
    table: Arc<str>,
    folder: PathBuf,
    open: Mutex<Vec<Part>>,
}

#[derive(Debug, Clone)]
struct Part {
    subtask: usize,
    number: u64,
    temporary: PathBuf,
}

impl FileSink {
    pub fn new(cx: &TableContext, folder: PathBuf) -> Result<Self> {
        let parts = Parts { table: cx.table.clone(), folder, open: Mutex::default() };
        Ok(Self { parts: Arc::new(parts), format: cx.format()?.clone() })
    }
}

impl Parts {
    fn path(&self, subtask: usize, number: u64) -> PathBuf {
        self.folder.join(format!("part-{subtask}-{number}"))
    }

    /// A new part under its hidden name, with a number that no part of this or an earlier run has.
    fn create(&self, subtask: usize) -> Result<File> {
        for number in 0..NUMBER_ATTEMPTS {
            if self.path(subtask, number).exists() {
                continue;
            }
            let temporary = self.folder.join(format!(".part-{subtask}-{number}.inprogress"));
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    let part = Part { subtask, number, temporary };
                    self.open.lock().unwrap_or_else(PoisonError::into_inner).push(part);
                    return Ok(file);
                }
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(io_error(&self.table, "write", &temporary, &e)),
            }
        }
        Err(Error::external(format!("table {}: {} is full of part files", self.table, self.folder.display())))
    }

    /// Gives a part its visible name; a number that was taken meanwhile is passed over.
    fn publish(&self, part: &Part) -> Result<()> {
        let mut number = part.number;
        while self.path(part.subtask, number).exists() {
            number += 1;
        }
        let path = self.path(part.subtask, number);
        std::fs::rename(&part.temporary, &path).map_err(|e| io_error(&self.table, "write", &path, &e))
    }

    fn take(&self) -> Vec<Part> {
        std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Parts {
    /// A run that did not commit leaves nothing behind.
    fn drop(&mut self) {
        for part in self.take() {
            if let Err(e) = std::fs::remove_file(&part.temporary) {
                tracing::warn!("cannot remove {}: {e}", part.temporary.display());
            }
        }
    }
}

#[async_trait]
impl Sink for FileSink {
    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }

    async fn prepare(&self, _restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        let folder = &self.parts.folder;
        if folder.is_file() {
            return Err(Error::user(format!("table {}: path {} is a file", self.parts.table, folder.display()))
                .with_hint("a sink writes part files into a folder"));
        }
        std::fs::create_dir_all(folder).map_err(|e| io_error(&self.parts.table, "make the folder", folder, &e))
    }

    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        let lines = LineEncoder::new(self.format.encoder()?, self.format.framing());
        Ok(Box::new(PartWriter { parts: self.parts.clone(), subtask: cx.subtask, lines, out: None }))
    }

    async fn commit(&self) -> Result<()> {
        for part in self.parts.take() {
            self.parts.publish(&part)?;
        }
        sync_folder(&self.parts.folder);
        Ok(())
    }
}

/// Makes the new names durable where the system can; the files themselves are.
fn sync_folder(folder: &Path) {
    if let Err(e) = File::open(folder).and_then(|f| f.sync_all()) {
        tracing::debug!("cannot sync {}: {e}", folder.display());
    }
}

struct PartWriter {
    parts: Arc<Parts>,
    subtask: usize,
    lines: LineEncoder,
    /// Made with the first row.
    out: Option<BufWriter<File>>,
}

impl PartWriter {
    fn fail(&self, e: &std::io::Error) -> Error {
        io_error(&self.parts.table, "write to", &self.parts.folder, e)
    }
}

#[async_trait(?Send)]
impl SinkWriter for PartWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        let mut out = match self.out.take() {
            Some(out) => out,
            None => {
                let mut out = BufWriter::new(self.parts.create(self.subtask)?);
                out.write_all(&self.lines.header().unwrap_or_default()).map_err(|e| self.fail(&e))?;
                out
            }
        };
        let written = out.write_all(self.lines.encode(batch, b"", errors)?);
        self.out = Some(out);
        written.map_err(|e| self.fail(&e))
    }

    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let flushed = out.flush().and_then(|()| out.get_ref().sync_data());
        flushed.map_err(|e| self.fail(&e))
    }
}
