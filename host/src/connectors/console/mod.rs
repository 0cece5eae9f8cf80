//! `console` (flinkStreamSQL) and `print` (Flink): rows on standard output, as JSON lines or as the table's own format
//! (a plugin's, say) writes them.

pub mod options;

use super::api::{Capabilities, ConnectorFactory, FailedRow, Sink, SinkWriter, SubtaskContext, TableContext};
use super::local::check_framing;
use super::local::sink::{LineEncoder, write_stream};
use crate::data::{Batch, ChangelogMode, RowError};
use crate::error::Result;
use crate::formats::Framing;
use crate::formats::json::{JsonEncoder, KindMember};
use crate::sql::options::{Dialect, OptionSpec};
use async_trait::async_trait;

pub struct ConsoleFactory;

impl ConnectorFactory for ConsoleFactory {
    fn identifier(&self) -> &'static str {
        "console"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["console", "stdout"],
            Dialect::Legacy | Dialect::Flink => &["print", "console", "stdout"],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: false, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        check_framing(cx)?;
        Ok(Box::new(ConsoleSink { cx: cx.clone() }))
    }
}

struct ConsoleSink {
    cx: TableContext,
}

#[async_trait]
impl Sink for ConsoleSink {
    fn changelog_mode(&self) -> ChangelogMode {
        // JSON lines show the kind of a row; a format of the table's own may hide it.
        self.cx.format.as_ref().map_or(ChangelogMode::All, |format| format.changelog_mode())
    }

    fn max_parallelism(&self) -> Option<usize> {
        Some(1)
    }

    fn writer(&self, _cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        let lines = match &self.cx.format {
            Some(format) => LineEncoder::new(format.encoder()?, format.framing()),
            None => {
                LineEncoder::new(Box::new(JsonEncoder::plain(&self.cx.schema, KindMember::WhenPresent)), Framing::Lines)
            }
        };
        let prefix = self.cx.options.text("print-identifier").map_or(String::new(), |p| format!("{p}> "));
        let stderr = self.cx.options.bool("standard-error").unwrap_or(false);
        Ok(Box::new(ConsoleWriter { lines, prefix: prefix.into_bytes(), stderr, started: false }))
    }
}

struct ConsoleWriter {
    lines: LineEncoder,
    prefix: Vec<u8>,
    stderr: bool,
    started: bool,
}

#[async_trait(?Send)]
impl SinkWriter for ConsoleWriter {
    async fn write(&mut self, batch: &Batch, errors: &mut Vec<RowError>) -> Result<()> {
        if !std::mem::replace(&mut self.started, true)
            && let Some(header) = self.lines.header()
        {
            write_stream(self.stderr, &header)?;
        }
        let lines = self.lines.encode(batch, &self.prefix, errors)?;
        write_stream(self.stderr, lines)
    }

    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectors::testing::{context, with_format};
    use crate::data::LogicalType;
    use crate::formats::testing::column;

    #[test]
    fn one_writer_and_every_kind_unless_a_format_would_hide_it() {
        let cx = context(std::path::Path::new("."), vec![column("a", LogicalType::Int)], &[]);
        let sink = ConsoleFactory.sink(&cx).unwrap();
        assert_eq!((sink.max_parallelism(), sink.changelog_mode()), (Some(1), ChangelogMode::All));
        let sink = ConsoleFactory.sink(&with_format(cx, "csv", &[])).unwrap();
        assert_eq!(sink.changelog_mode(), ChangelogMode::Append);
    }
}
