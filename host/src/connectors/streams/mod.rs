//! `stdin`, and `socket` / `serversocket`: lines from whoever writes them, each once. They cannot be read again, so a job
//! that is resumed goes on with what comes then.

pub mod options;
mod socket;

use super::api::{
    Boundedness, Capabilities, ConnectorFactory, FormatBinding, Source, SourceReader, SourceSplit, SubtaskContext,
    TableContext,
};
use super::local::check_framing;
use super::local::reader::{FileReader, FileSplit};
use super::local::records::RecordSpec;
use crate::data::ChangelogMode;
use crate::error::Result;
use crate::formats::Decoder;
use crate::sql::options::{Dialect, OptionSpec};
use async_trait::async_trait;
use std::sync::Arc;

pub struct Stdin;

impl ConnectorFactory for Stdin {
    fn identifier(&self) -> &'static str {
        "stdin"
    }
    fn names(&self, _dialect: Dialect) -> &'static [&'static str] {
        &["stdin"]
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::STDIN
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: false, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn default_format(&self, dialect: Dialect, _as_sink: bool) -> Option<&'static str> {
        (dialect == Dialect::DtStack).then_some("json")
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        check_framing(cx)?;
        Ok(Box::new(StdinSource { spec: record_spec(cx)?, format: cx.format()?.clone() }))
    }
}

fn record_spec(cx: &TableContext) -> Result<RecordSpec> {
    Ok(RecordSpec {
        table: cx.table.clone(),
        framing: cx.format()?.framing(),
        max_record_bytes: cx.max_record_bytes,
        first_line: 1,
    })
}

struct StdinSource {
    spec: RecordSpec,
    format: Arc<dyn FormatBinding>,
}

#[async_trait]
impl Source for StdinSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }
    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        Ok(vec![FileSplit::stdin()?])
    }
    /// What was read of it is gone; what comes now is new.
    async fn restore(&self, splits: Vec<SourceSplit>, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        if splits.is_empty() {
            return Ok(splits);
        }
        tracing::warn!(
            "table {}: standard input cannot be read again: the job goes on with what comes now",
            self.spec.table
        );
        Ok(vec![FileSplit::stdin()?])
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        self.format.decoder().map(Some)
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(FileReader::new(self.spec.clone())))
    }
}

pub struct Socket;

impl ConnectorFactory for Socket {
    fn identifier(&self) -> &'static str {
        "socket"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["serversocket", "socket"],
            Dialect::Legacy | Dialect::Flink => &["socket"],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::SOCKET
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: false, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn default_format(&self, dialect: Dialect, _as_sink: bool) -> Option<&'static str> {
        (dialect == Dialect::DtStack).then_some("json")
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        check_framing(cx)?;
        Ok(Box::new(socket::SocketSource::new(cx)?))
    }
}
