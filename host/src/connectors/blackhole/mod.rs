//! `blackhole`: takes rows of any kind and keeps none, for measuring what stands before it.

use super::api::{Capabilities, ConnectorFactory, FailedRow, Sink, SinkWriter, SubtaskContext, TableContext};
use crate::data::{Batch, ChangelogMode, RowError};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec};
use async_trait::async_trait;

pub struct Blackhole;

impl ConnectorFactory for Blackhole {
    fn identifier(&self) -> &'static str {
        "blackhole"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Flink => &["blackhole"],
            Dialect::DtStack | Dialect::Legacy => &[],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: false, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        false
    }
    fn sink(&self, _cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(BlackholeSink))
    }
}

struct BlackholeSink;

#[async_trait]
impl Sink for BlackholeSink {
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::All
    }
    fn writer(&self, _cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(BlackholeWriter))
    }
}

struct BlackholeWriter;

#[async_trait(?Send)]
impl SinkWriter for BlackholeWriter {
    async fn write(&mut self, _batch: &Batch, _errors: &mut Vec<RowError>) -> Result<()> {
        Ok(())
    }
    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        Ok(())
    }
}
