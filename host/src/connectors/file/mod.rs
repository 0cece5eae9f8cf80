//! `filesystem` (Flink) and `file` (flinkStreamSQL): files in local folders. A source reads a file, a folder or a glob
//! and ends; a sink writes part files into a folder, visible once a checkpoint covers them or the job has ended well.

pub mod options;
mod parts;
mod paths;
mod sink;
mod source;

use super::api::{Capabilities, ConnectorFactory, LookupSource, Sink, Source, TableContext};
use crate::connectors::local::check_framing;
use crate::error::{Error, Result};
use crate::sql::options::{Dialect, OptionSpec};
use paths::PathPattern;

pub struct FileFactory;

impl ConnectorFactory for FileFactory {
    fn identifier(&self) -> &'static str {
        "file"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["file"],
            Dialect::Legacy | Dialect::Flink => &["filesystem"],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: true }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn default_format(&self, dialect: Dialect, _as_sink: bool) -> Option<&'static str> {
        (dialect == Dialect::DtStack).then_some("csv")
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        check_framing(cx)?;
        Ok(Box::new(source::FileSource::new(cx, PathPattern::new(cx)?)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        check_framing(cx)?;
        Ok(Box::new(sink::FileSink::new(cx, path(cx)?)?))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        check_framing(cx)?;
        Ok(Box::new(source::lookup(cx, PathPattern::new(cx)?)?))
    }
}

/// The table's path, made absolute from the job file's folder.
fn path(cx: &TableContext) -> Result<std::path::PathBuf> {
    let refuse = |what: &str| Error::user(format!("table {}: {what}", cx.table));
    if cx.options.text("location").is_some_and(|l| l.eq_ignore_ascii_case("hdfs")) {
        return Err(refuse("files in hdfs cannot be read yet").with_hint("copy them to a local folder"));
    }
    let text = options::path(&cx.options).ok_or_else(|| refuse("the option path is missing"))?;
    let local = text.strip_prefix("file://").unwrap_or(&text);
    if let Some((scheme, _)) = local.split_once("://") {
        return Err(refuse(&format!(
            "path {}: only local files are supported, not {scheme}://",
            crate::sql::options::redact(&text)
        )));
    }
    if local.is_empty() {
        return Err(refuse("the option path is empty"));
    }
    Ok(cx.base_dir.join(local))
}

#[cfg(test)]
mod tests;
