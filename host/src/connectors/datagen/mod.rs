//! `datagen`: rows that are made up, random or counted, at a given rate. Flink's options.

mod field;
pub mod options;
mod random;
mod source;
#[cfg(test)]
mod tests;

use super::api::{Capabilities, ConnectorFactory, OptionProblem, Source, TableContext, TableUse};
use crate::error::Result;
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};

pub struct Datagen;

impl ConnectorFactory for Datagen {
    fn identifier(&self) -> &'static str {
        "datagen"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Flink => &["datagen"],
            Dialect::DtStack | Dialect::Legacy => &[],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::OPTIONS
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: false, lookup: false }
    }
    fn has_format(&self) -> bool {
        false
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let columns = || table.columns.iter().map(|(name, t)| (name.as_str(), t));
        let of_no_column =
            |key: &&String| !columns().any(|(name, _)| key.strip_prefix(name).is_some_and(|r| r.starts_with('.')));
        let unknown = options.prefixed.get("fields").into_iter().flat_map(|f| f.keys()).filter(of_no_column);
        let unknown = unknown.map(|key| format!("fields.{key} names no column of the table"));
        let wrong = source::fields(columns(), options).err();
        unknown.chain(wrong).map(|message| OptionProblem::error("fields", message)).collect()
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(source::DatagenSource::new(cx)?))
    }
}
