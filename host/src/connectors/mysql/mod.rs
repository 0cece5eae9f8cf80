//! MySQL. Only the option table so far: jobs are checked, and run with stand-ins.
pub mod options;

use super::api::{Capabilities, ConnectorFactory, OptionProblem, TableUse};
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};

pub struct MySql;

impl ConnectorFactory for MySql {
    fn identifier(&self) -> &'static str {
        "mysql"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["mysql"],
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
    fn has_runtime(&self) -> bool {
        false
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        if let Some(url) = options.text("url")
            && !url.starts_with("jdbc:mysql:")
            && !url.starts_with("mysql:")
            && table.dialect != Dialect::DtStack
        {
            problems.push(OptionProblem::error("url", "only jdbc:mysql: databases are known"));
        }
        let upsert = matches!(options.text("update-mode"), Some("upsert"));
        if upsert && !table.has_primary_key && table.dialect == Dialect::DtStack {
            problems.push(OptionProblem::error("update-mode", "updateMode UPSERT needs a PRIMARY KEY"));
        }
        check_credentials(table, options, &mut problems);
        let partition: Vec<&str> =
            ["scan.partition.column", "scan.partition.num", "scan.partition.lower-bound", "scan.partition.upper-bound"]
                .into_iter()
                .filter(|n| options.is_set(n))
                .collect();
        if let (Some(first), true) = (partition.first().copied(), partition.len() < 4) {
            let message = "the options for partitions are column, num, lower-bound and upper-bound: all four or none";
            problems.push(OptionProblem::error(first, message));
        }
        problems
    }
}

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
