//! Tables of connectors that are not here: refused where they are used, unless a stand-in takes their place.

use super::JobRequest;
use crate::catalog::{Catalog, TableDescriptor};
use crate::connectors::CONNECTORS;
use crate::diagnostic::Diagnostic;
use crate::sql::ast::{Explain, Explained, Script, Statement};
use crate::sql::codes;
use sqlparser::ast as sp;
use std::collections::HashSet;
use std::ops::ControlFlow;

pub(super) fn check(request: &JobRequest, script: &Script, catalog: &Catalog, out: &mut Vec<Diagnostic>) {
    let absent = |t: &&TableDescriptor| t.connector.is_absent() && !request.stand_ins.iter().any(|s| s.table == t.name);
    let mut tables = catalog.tables.values().filter(absent).peekable();
    if tables.peek().is_none() {
        return;
    }
    let used = used(script);
    out.extend(tables.map(|t| message(t, used.contains(&t.name))));
}

fn message(table: &TableDescriptor, is_used: bool) -> Diagnostic {
    let name = &table.name;
    // The word of the file: `mongo`, not `mongodb`.
    let connector = table.connector_name.as_str();
    if !is_used {
        let message = format!("table {name} is of connector {connector}, which is not here; no statement uses it");
        return Diagnostic::warning(codes::W_ABSENT_CONNECTOR, table.name_span, message);
    }
    let mut ours: Vec<&str> = CONNECTORS.iter().flat_map(|c| c.names(table.dialect)).copied().collect();
    ours.sort_unstable();
    ours.dedup();
    let message = format!("table {name} is of connector {connector}, which is not here");
    let hint = format!(
        "{} has: {}. --stand-in {name}=PATH rehearses the job with a local file in its place",
        table.dialect.as_str(),
        ours.join(", ")
    );
    Diagnostic::error(codes::ABSENT_CONNECTOR, table.name_span, message).hint(hint)
}

/// The names of all tables and views that an INSERT, a view or an EXPLAIN names.
fn used(script: &Script) -> HashSet<String> {
    let mut names: HashSet<String> = script.inserts().map(|i| i.table.value.clone()).collect();
    let mut add = |query: &sp::Query| {
        let _ = sp::visit_relations(query, |name| {
            names.extend(name.0.last().and_then(|p| p.as_ident()).map(|i| i.value.clone()));
            ControlFlow::<()>::Continue(())
        });
    };
    for s in &script.statements {
        match s {
            Statement::Insert(i) | Statement::Explain(Explain { what: Explained::Insert(i), .. }) => add(&i.query),
            Statement::Explain(Explain { what: Explained::Query(q), .. }) => add(q),
            Statement::CreateView(v) => add(&v.query),
            _ => {}
        }
    }
    names
}
