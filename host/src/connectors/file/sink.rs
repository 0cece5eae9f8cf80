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
use std::time::{Duration, Instant};

pub struct FileSink {
    parts: Arc<Parts>,
    format: Arc<dyn FormatBinding>,
    rolling: Rolling,
}

/// When a part is followed by the next one, beside the checkpoints, which end it anyway.
#[derive(Debug, Clone, Copy)]
struct Rolling {
    file_size: Option<u64>,
    interval: Option<Duration>,
}

impl FileSink {
    pub fn new(cx: &TableContext, folder: PathBuf) -> Result<Self> {
        let rolling = Rolling {
            file_size: cx.options.size("rolling.file-size").filter(|n| *n > 0),
            interval: cx.options.duration("rolling.interval").filter(|d| !d.is_zero()),
        };
        Ok(Self { parts: Arc::new(Parts::new(cx.table.clone(), folder)?), format: cx.format()?.clone(), rolling })
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
        let (parts, rolling) = (self.parts.clone(), self.rolling);
        Ok(Box::new(PartWriter { parts, subtask: cx.subtask, lines, rolling, out: None }))
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
    rolling: Rolling,
    /// Made with the first row of an epoch.
    out: Option<Part>,
}

/// The part that is being written.
struct Part {
    out: BufWriter<File>,
    bytes: u64,
    since: Instant,
}

impl PartWriter {
    fn fail(&self, e: &std::io::Error) -> Error {
        io_error(self.parts.table(), "write to", self.parts.folder(), e)
    }

    /// When the part is to be followed by the next one.
    fn due(&self) -> Option<Instant> {
        self.out.as_ref().zip(self.rolling.interval).map(|(part, interval)| part.since + interval)
    }

    fn sync(&mut self) -> Result<()> {
        let Some(part) = &mut self.out else { return Ok(()) };
        let flushed = part.out.flush().and_then(|()| part.out.get_ref().sync_data());
        flushed.map_err(|e| self.fail(&e))
    }

    /// The next row begins a part of its own. This one is durable, and hidden until its checkpoint.
    fn roll(&mut self) -> Result<()> {
        self.sync()?;
        self.out = None;
        Ok(())
    }
}

#[async_trait(?Send)]
impl SinkWriter for PartWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        let mut part = match self.out.take() {
            Some(part) => part,
            None => {
                let out = BufWriter::new(self.parts.create(self.subtask)?);
                let mut part = Part { out, bytes: 0, since: Instant::now() };
                let header = self.lines.header().unwrap_or_default();
                part.out.write_all(&header).map_err(|e| self.fail(&e))?;
                part
            }
        };
        let lines = self.lines.encode(batch, b"", errors)?;
        let written = part.out.write_all(lines);
        part.bytes += lines.len() as u64;
        let is_full = self.rolling.file_size.is_some_and(|max| part.bytes >= max);
        self.out = Some(part);
        written.map_err(|e| self.fail(&e))?;
        if is_full { self.roll() } else { Ok(()) }
    }

    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        match self.due() {
            Some(due) if due <= Instant::now() => self.roll(),
            _ => self.sync(),
        }
    }

    fn flush_due(&self) -> Option<Instant> {
        self.due()
    }

    /// Ends the part. It stays hidden until the checkpoint is complete.
    async fn snapshot(&mut self, epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        self.flush(failed).await?;
        self.roll()?;
        let state = self.parts.close(self.subtask, epoch)?;
        let state = serde_json::to_value(&state).map_err(|e| Error::internal(format!("state of a part: {e}")))?;
        Ok(Some(state))
    }
}
