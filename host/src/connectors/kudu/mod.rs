//! `kudu`: sink, side table and bounded source, over the client crate `kudu-rs`.

mod cluster;
mod create;
mod filter;
mod lookup;
pub mod options;
mod read;
mod rows;
mod sink;
mod source;
mod types;

use super::api::{Capabilities, ConnectorFactory, LookupSource, OptionProblem, Sink, Source, TableContext, TableUse};
use super::predicate::{Predicate, Pushdown};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};

pub struct Kudu;

impl ConnectorFactory for Kudu {
    fn identifier(&self) -> &'static str {
        "kudu"
    }
    fn names(&self, _dialect: Dialect) -> &'static [&'static str] {
        &["kudu"]
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
        Ok(Box::new(source::KuduSource::new(cx)?))
    }
    fn sink(&self, cx: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(sink::KuduSink::new(cx)?))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Ok(Box::new(lookup::KuduLookup::new(cx)?))
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        check_kerberos(options, &mut problems);
        check_bounds(options, &mut problems);
        check_keys(table, options, &mut problems);
        problems
    }
}

/// All three Kerberos options or none; empty ones count as not given.
fn check_kerberos(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let names = ["principal", "keytab", "krb5conf"];
    let given = |name: &&str| options.text(name).is_some_and(|t| !t.trim().is_empty());
    let (there, missing): (Vec<&str>, Vec<&str>) = names.into_iter().partition(given);
    if let (Some(first), false) = (there.first().copied(), missing.is_empty()) {
        let message = format!("Kerberos needs principal, keytab and krb5conf: {} is missing", missing.join(" and "));
        problems.push(OptionProblem::error(first, message));
    }
}

fn check_bounds(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let names = ["scan.key-columns", "scan.lower-bound", "scan.upper-bound"];
    let lists: Vec<&[String]> = names.iter().filter_map(|n| options.list(n)).collect();
    let loads_all = matches!(options.text("lookup.cache"), Some("ALL" | "FULL"));
    if !loads_all {
        for n in names.into_iter().filter(|n| options.is_set(n)) {
            let key = options.get(n).map_or(n, |e| e.key.as_str());
            problems.push(OptionProblem::warning(n, format!("{key} has an effect with cache = 'ALL' only")));
        }
        return;
    }
    let last = names.into_iter().rfind(|n| options.is_set(n));
    match (lists.as_slice(), last) {
        ([], _) | (_, None) => {}
        ([a, b, c], Some(last)) if a.len() != b.len() || b.len() != c.len() => {
            let message =
                "primaryKey, lowerBoundPrimaryKey and upperBoundPrimaryKey must have as many entries as each other";
            problems.push(OptionProblem::error(last, message));
        }
        ([_, _, _], _) => {}
        (_, Some(last)) => {
            let message = "primaryKey, lowerBoundPrimaryKey and upperBoundPrimaryKey work only together";
            problems.push(OptionProblem::error(last, message));
        }
    }
}

/// Bahir: hash columns are key columns.
fn check_keys(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let (Some(keys), Some(hash)) = (options.list("primary-key-columns"), options.list("hash-columns")) else {
        if options.is_set("hash-columns") && !table.has_primary_key {
            let message = "kudu.hash-columns needs kudu.primary-key-columns or a PRIMARY KEY";
            problems.push(OptionProblem::error("hash-columns", message));
        }
        return;
    };
    for h in hash.iter().filter(|h| !keys.contains(h)) {
        let message = format!("hash column {h} is not among kudu.primary-key-columns");
        problems.push(OptionProblem::error("hash-columns", message));
    }
}
