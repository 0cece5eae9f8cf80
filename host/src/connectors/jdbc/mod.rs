//! MySQL, MariaDB and PostgreSQL by JDBC URL: flinkStreamSQL's `mysql` and `postgresql`, Flink's and legacy `jdbc`.

mod changes;
mod connection;
mod describe;
mod encode;
mod error;
mod filter;
mod lookup;
mod mysql;
pub mod options;
mod postgres;
mod read;
mod sink;
mod source;
mod statements;
mod types;
mod url;
mod values;
mod writer;

use super::api::{Capabilities, ConnectorFactory, LookupSource, OptionProblem, Sink, Source, TableContext, TableUse};
use super::predicate::{Predicate, Pushdown};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};
use url::{JdbcUrl, Product};

pub struct JdbcFactory;

impl ConnectorFactory for JdbcFactory {
    fn identifier(&self) -> &'static str {
        "jdbc"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["mysql", "postgresql"],
            Dialect::Legacy | Dialect::Flink => &["jdbc"],
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
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        check_url(table, options, &mut problems);
        check_sink(table, options, &mut problems);
        check_credentials(table, options, &mut problems);
        check_partitions(options, &mut problems);
        problems
    }
    /// flinkStreamSQL's `errorLimit` of databases.
    fn refused_rows_max(&self, dialect: Dialect) -> Option<u64> {
        (dialect == Dialect::DtStack).then_some(0)
    }
    fn pushdown(&self, cx: &TableContext, predicate: &Predicate) -> Pushdown {
        filter::pushdown(cx, predicate)
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(source::JdbcSource::new(cx)?))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Ok(Box::new(lookup::JdbcLookup::new(cx)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(sink::JdbcSink::new(cx)?))
    }
}

fn check_url(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let Some(text) = options.text("url") else { return };
    match JdbcUrl::parse(text) {
        Err(message) => problems.push(OptionProblem::error("url", message)),
        Ok(url) => {
            let other = matches!(
                (table.dialect, table.connector_name.to_ascii_lowercase().as_str(), url.product),
                (Dialect::DtStack, "mysql", Product::Postgres) | (Dialect::DtStack, "postgresql", Product::MySql)
            );
            if other {
                let message = format!("a table of type {} with a URL of {}", table.connector_name, url.product.name());
                problems.push(OptionProblem::error("url", message));
            }
            problems.extend(url.warnings.into_iter().map(|w| OptionProblem::warning("url", w)));
        }
    }
}

fn check_sink(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let mode = options.text("update-mode");
    if mode == Some("upsert") && !table.has_primary_key && table.dialect == Dialect::DtStack {
        problems.push(OptionProblem::error("update-mode", "updateMode UPSERT needs a PRIMARY KEY"));
    }
    if options.is_set("sink.null-policy") && options.is_set("replace-all") {
        let keeps = options.text("sink.null-policy") == Some("keep");
        if options.bool("replace-all") == Some(keeps) {
            let message = "nullPolicy and allReplace contradict each other: nullPolicy counts";
            problems.push(OptionProblem::warning("replace-all", message));
        }
    }
}

/// flinkStreamSQL requires them; elsewhere they may stand in the URL.
fn check_credentials(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if table.dialect == Dialect::DtStack {
        return;
    }
    match (options.is_set("username"), options.is_set("password")) {
        (true, false) => problems.push(OptionProblem::error("username", "a user name needs a password option")),
        (false, true) => problems.push(OptionProblem::error("password", "a password needs a user name option")),
        _ => {}
    }
}

fn check_partitions(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let partition: Vec<&str> =
        ["scan.partition.column", "scan.partition.num", "scan.partition.lower-bound", "scan.partition.upper-bound"]
            .into_iter()
            .filter(|n| options.is_set(n))
            .collect();
    if let (Some(first), true) = (partition.first().copied(), partition.len() < 4) {
        let message = "the options for partitions are column, num, lower-bound and upper-bound: all four or none";
        problems.push(OptionProblem::error(first, message));
    }
    if let (Some(lower), Some(upper)) =
        (options.int("scan.partition.lower-bound"), options.int("scan.partition.upper-bound"))
        && lower > upper
    {
        let message = "the lower bound of the partitions is above the upper one";
        problems.push(OptionProblem::error("scan.partition.lower-bound", message));
    }
}

#[cfg(test)]
mod tests;
