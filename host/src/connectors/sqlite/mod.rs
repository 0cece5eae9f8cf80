//! `sqlite`: tables of a local SQLite file, the embedded database. The file and the table are made on first use.

mod connection;
mod filter;
mod lookup;
pub mod options;
mod sink;
mod source;
mod values;

use super::api::{Capabilities, ConnectorFactory, LookupSource, Sink, Source, TableContext};
use super::predicate::{Predicate, Pushdown};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec};

pub struct SqliteFactory;

impl ConnectorFactory for SqliteFactory {
    fn identifier(&self) -> &'static str {
        "sqlite"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack | Dialect::Flink => &["sqlite"],
            Dialect::Legacy => &[],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: true }
    }
    fn has_format(&self) -> bool {
        false
    }
    fn pushdown(&self, cx: &TableContext, predicate: &Predicate) -> Pushdown {
        filter::pushdown(cx, predicate)
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(source::SqliteSource::new(cx)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(sink::SqliteSink::new(cx)?))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Ok(Box::new(lookup::SqliteLookup::new(cx)?))
    }
}

#[cfg(test)]
mod tests;
