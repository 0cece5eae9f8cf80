//! Writing: part files under hidden names, visible once a checkpoint covers them. So each row is in visible files exactly
//! once, whenever the process ends.

use super::parts::{Parts, WriterState};
use crate::connectors::api::{FailedRow, FormatBinding, Sink, SinkWriter, SubtaskContext, TableContext};
use crate::connectors::local::io_error;
use crate::connectors::local::sink::LineEncoder;
use crate::data::{Batch, ChangelogMode, Epoch, RowError};
use crate::error::{Error, Result};
use async_trait::async_trait;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

pub struct FileSink {
    parts: Arc<Parts>,
    format: Arc<dyn FormatBinding>,
}

impl FileSink {
    pub fn new(cx: &TableContext, folder: PathBuf) -> Result<Self> {
        Ok(Self { parts: Arc::new(Parts::new(cx.table.clone(), folder)?), format: cx.format()?.clone() })
    }
}

#[async_trait]
impl Sink for FileSink {
    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }

    async fn prepare(&self, restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        self.parts.make_folder()?;
        let Some(states) = restored else { return Ok(()) };
        let states: Vec<WriterState> = states
            .into_iter()
            .map(serde_json::from_value)
            .collect::<Result<_, _>>()
            .map_err(|e| Error::user(format!("table {}: the checkpoint's state: {e}", self.parts.table())))?;
        self.parts.restore(&states)
    }

    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        let lines = LineEncoder::new(self.format.encoder()?, self.format.framing());
        Ok(Box::new(PartWriter { parts: self.parts.clone(), subtask: cx.subtask, lines, out: None }))
    }

    async fn checkpoint_complete(&self, epoch: Epoch) -> Result<()> {
        self.parts.publish_until(epoch)
    }

    async fn commit(&self) -> Result<()> {
        self.parts.publish_all()
    }
}

struct PartWriter {
    parts: Arc<Parts>,
    subtask: usize,
    lines: LineEncoder,
    /// Made with the first row of an epoch.
    out: Option<BufWriter<File>>,
}

impl PartWriter {
    fn fail(&self, e: &std::io::Error) -> Error {
        io_error(self.parts.table(), "write to", self.parts.folder(), e)
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

    /// Ends the part. It stays hidden until the checkpoint is complete.
    async fn snapshot(&mut self, epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        self.flush(failed).await?;
        self.out = None;
        let state = self.parts.close(self.subtask, epoch)?;
        let state = serde_json::to_value(&state).map_err(|e| Error::internal(format!("state of a part: {e}")))?;
        Ok(Some(state))
    }
}
