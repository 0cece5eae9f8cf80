//! What EXPLAIN says of an operator.

use crate::catalog::TableDescriptor;
use crate::connectors::api::{LookupCache, LookupSettings};
use crate::data::TableSchema;
use crate::expr::program::StepPlan;

/// How the side table is read; of a connector without a run time, what the table asks for.
pub(super) fn cache_mode(table: &TableDescriptor, settings: Option<&LookupSettings>) -> String {
    match settings.map(|s| &s.cache) {
        Some(LookupCache::All { .. }) => ", cache ALL".into(),
        Some(LookupCache::Lru(lru)) => format!(", cache LRU of {} keys", lru.max_keys),
        Some(LookupCache::None) => ", no cache".into(),
        None => table.options.text("lookup.cache").map(|c| format!(", cache {c}")).unwrap_or_default(),
    }
}

pub(super) fn column_list(schema: &TableSchema) -> String {
    schema.columns.iter().map(|c| format!("{} {}", c.name, c.logical_type)).collect::<Vec<_>>().join(", ")
}

pub(super) fn describe_step(step: &StepPlan) -> String {
    match step {
        StepPlan::Filter { predicate, .. } => format!("where: {}", crate::expr::show(predicate)),
        StepPlan::Project { exprs, names, .. } => {
            let items = exprs.iter().zip(names).map(|(e, n)| {
                let text = crate::expr::show(&e.clone().unalias());
                if text == *n { text } else { format!("{text} AS {n}") }
            });
            format!("select: [{}]", items.collect::<Vec<_>>().join(", "))
        }
    }
}
