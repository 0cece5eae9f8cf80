//! What EXPLAIN, SHOW and DESCRIBE statements of a job file ask. `check` and `explain` print it; the whole file counts,
//! wherever the statement stands.

use crate::catalog::{Catalog, column_text};
use crate::diagnostic::{Pos, Span};
use crate::sql::ast::{Explain, Explained, Insert, Name, Script, Show, Shown, Statement};
use crate::sql::databases::{CATALOG, DATABASE};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Each question with its place.
pub(super) fn questions(script: &Script) -> Vec<(Span, String)> {
    let question = |s: &Statement| match s {
        Statement::Explain(e) => Some((e.span, "EXPLAIN".to_string())),
        Statement::Show(s) => Some((s.span, s.title.clone())),
        _ => None,
    };
    script.statements.iter().filter_map(question).collect()
}

/// What is explained, as an INSERT; that of a query has no table.
pub(super) fn as_insert(explain: &Explain) -> Insert {
    match &explain.what {
        Explained::Insert(insert) => insert.clone(),
        Explained::Query(query) => Insert {
            qualifier: vec![],
            table: Name { value: String::new(), span: explain.span },
            columns: vec![],
            query: query.clone(),
            span: explain.span,
        },
    }
}

/// `plans`: the operators of what could be planned, by the place of its EXPLAIN.
pub(super) fn answers(script: &Script, catalog: &Catalog, plans: &HashMap<Pos, String>) -> String {
    let mut out = String::new();
    for s in &script.statements {
        let (title, span, answer) = match s {
            Statement::Explain(e) => ("EXPLAIN", e.span, plans.get(&e.span.start).cloned().unwrap_or_default()),
            Statement::Show(s) => (s.title.as_str(), s.span, shown(s, catalog)),
            _ => continue,
        };
        let _ = writeln!(out, "{title} (line {})", span.start.line);
        for line in answer.lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

fn shown(show: &Show, catalog: &Catalog) -> String {
    let lines: Vec<&str> = match &show.what {
        Shown::Tables => catalog.tables.keys().chain(catalog.views.keys()).map(String::as_str).collect(),
        Shown::Views => catalog.views.keys().map(String::as_str).collect(),
        Shown::Functions => catalog.functions.keys().map(String::as_str).collect(),
        Shown::Catalogs | Shown::CurrentCatalog => vec![CATALOG],
        Shown::Databases | Shown::CurrentDatabase => vec![DATABASE],
        Shown::Columns(path) => return columns(&path.name.value, catalog),
    };
    lines.join("\n")
}

fn columns(name: &str, catalog: &Catalog) -> String {
    let Some(table) = catalog.tables.get(name) else {
        return match catalog.views.get(name) {
            Some(view) => format!("view: {}", view.query),
            None => "there is no such table".to_string(),
        };
    };
    table.columns.iter().fold(String::new(), |all, c| all + &format!("{} {}\n", c.name, column_text(c)))
}
