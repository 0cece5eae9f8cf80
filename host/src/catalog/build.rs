//! Statements to tables, views and functions. No connection is made.

use super::columns::{metadata, primary_key, table_columns, watermark};
use super::common::COMMON;
use super::format::{key_format, table_format};
use super::{Catalog, TableColumn, TableColumnKind, TableDescriptor};
use crate::connectors::CONNECTORS;
use crate::connectors::absent::ABSENT;
use crate::connectors::api::{ConnectorFactory, KeyLayout, OptionProblem, TableUse};
use crate::data::LogicalType;
use crate::diagnostic::{Diagnostic, Span};
use crate::sql::ast::{
    CreateFunction, CreateTable, CreateView, Insert, Name, Script, Statement, WithOption, WithOptions,
};
use crate::sql::codes;
use crate::sql::options::{Dialect, ResolvedOptions, Resolver};
use crate::sql::suggest::did_you_mean;

/// Resolves everything that the script declares; `out` says what is wrong. A table with errors is in the catalog as far
/// as it can be; else its name is in [`Catalog::broken`].
pub fn build(script: &Script, out: &mut Vec<Diagnostic>) -> Catalog {
    let inserts: Vec<&Insert> = script.inserts().collect();
    let mut builder = Builder { inserts, catalog: Catalog::default(), broken: &script.broken, out };
    for statement in &script.statements {
        match statement {
            Statement::CreateTable(t) => builder.table(t),
            Statement::CreateView(v) => builder.view(v),
            Statement::CreateFunction(f) => builder.function(f),
            _ => {}
        }
    }
    builder.insert_targets();
    let catalog = builder.catalog;
    out.sort_by_key(|d| d.span.map(|s| s.start));
    catalog
}

struct Builder<'a> {
    inserts: Vec<&'a Insert>,
    catalog: Catalog,
    /// Names whose statements could not be read.
    broken: &'a [String],
    out: &'a mut Vec<Diagnostic>,
}

impl Builder<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.out.push(Diagnostic::error(code, span, message));
    }

    /// Whether the name is free; says so if not, unless `IF NOT EXISTS` allows it.
    fn is_free(&mut self, name: &Name, if_not_exists: bool) -> bool {
        let first = match (self.catalog.tables.get(&name.value), self.catalog.views.get(&name.value)) {
            (Some(t), _) => Some(("table", t.name_span)),
            (_, Some(v)) => Some(("view", v.name.span)),
            _ => None,
        };
        let Some((what, first)) = first else { return true };
        if !if_not_exists {
            let message = format!("there is a {what} {} already", name.value);
            let d = Diagnostic::error(codes::DUPLICATE_TABLE, name.span, message);
            self.out.push(d.hint(format!("it is declared in line {}", first.start.line)));
        }
        false
    }

    fn view(&mut self, view: &CreateView) {
        if self.is_free(&view.name, view.if_not_exists) {
            self.catalog.views.insert(view.name.value.clone(), view.clone());
        }
    }

    fn function(&mut self, function: &CreateFunction) {
        // Function names have no case in Flink.
        let same = |k: &&String| k.eq_ignore_ascii_case(&function.name.value);
        if self.catalog.functions.keys().any(|k| same(&k)) {
            if !function.if_not_exists {
                let message = format!("there is a function {} already", function.name.value);
                self.error(codes::DUPLICATE_FUNCTION, function.name.span, message);
            }
            return;
        }
        self.catalog.functions.insert(function.name.value.clone(), function.clone());
    }

    fn table(&mut self, table: &CreateTable) {
        if !self.is_free(&table.name, table.if_not_exists) {
            return;
        }
        match self.descriptor(table) {
            Some(d) => {
                self.catalog.tables.insert(table.name.value.clone(), d);
            }
            None => self.catalog.broken.push(table.name.value.clone()),
        }
    }

    fn descriptor(&mut self, table: &CreateTable) -> Option<TableDescriptor> {
        let named = connector_key(table, self.out);
        let dialect = named.as_ref().map_or(Dialect::Flink, |n| n.dialect);
        let is_sink = self.inserts.iter().any(|i| i.table.value == table.name.value);
        let is_side = table.period_for_system_time.is_some();
        let mut columns = table_columns(table, self.out);
        let key = primary_key(table, dialect, is_side, &mut columns, self.out);
        watermark(table, dialect, &columns, self.out);
        let named = named?;
        let connector = self.connector(&named)?;
        if !connector.is_absent() {
            metadata(&mut columns, connector, dialect, is_sink, self.out);
        }
        let table_use = TableUse {
            dialect,
            connector_name: named.value.to_string(),
            is_side,
            is_sink,
            has_primary_key: !key.is_empty(),
            columns: columns.iter().filter_map(physical).collect(),
        };
        let (options, format, key_format) = self.options(table, &named, connector, &table_use, &key);
        if let Some((layout, _)) = &key_format {
            let lacking = layout.columns.iter().find(|k| !columns.iter().any(|c| c.name == **k));
            if let Some(name) = lacking {
                let span = options.get("key.fields").and_then(|e| e.span).unwrap_or(table.options.span);
                self.error(codes::OPTION_CONFLICT, span, format!("key column {name} is not a column of the table"));
            }
        }
        for problem in connector.check_options(&table_use, &options).into_iter().chain(check_common(dialect, &options))
        {
            self.out.push(problem_diagnostic(&problem, &options, table.options.span));
        }
        Some(TableDescriptor {
            name: table.name.value.clone(),
            name_span: table.name.span,
            dialect,
            connector,
            connector_name: named.value.to_string(),
            columns,
            primary_key: key,
            is_side,
            watermark: table.watermark.clone(),
            options,
            format,
            key: key_format,
            span: table.span,
            with_span: table.options.span,
        })
    }

    fn options(
        &mut self,
        table: &CreateTable,
        named: &ConnectorKey<'_>,
        connector: &'static dyn ConnectorFactory,
        table_use: &TableUse,
        primary_key: &[String],
    ) -> (ResolvedOptions, Option<super::TableFormat>, Option<(KeyLayout, super::TableFormat)>) {
        let mut late = Vec::new();
        let with = numbered_pairs(named.dialect, &table.options);
        let mut resolver = Resolver::new(named.dialect, &with, &table.name.value, self.out);
        resolver.take_key(named.key);
        let options = resolver.take(&[connector.options(), COMMON], &[""]);
        let format = table_format(&mut resolver, connector, named.dialect, table_use.is_sink, &options, &mut late);
        let key = connector.key_layout(table_use, &options, primary_key).and_then(|layout| {
            let format = key_format(&mut resolver, named.dialect, &layout, &options, &mut late)?;
            Some((layout, format))
        });
        // The options of an unknown format are unknown for that reason alone, and so are those of an absent connector.
        if late.is_empty() && !connector.is_absent() {
            resolver.finish();
        }
        self.out.append(&mut late);
        (options, format, key)
    }

    fn connector(&mut self, named: &ConnectorKey<'_>) -> Option<&'static dyn ConnectorFactory> {
        let names = |c: &&'static dyn ConnectorFactory| c.names(named.dialect);
        let exact = |n: &&str| **n == *named.value;
        let found = CONNECTORS.iter().copied().find(|c| names(c).iter().any(exact));
        let absent =
            || ABSENT.iter().find(|c| c.names(named.dialect).iter().any(|n| n.eq_ignore_ascii_case(named.value)));
        let found = found.or_else(|| absent().map(|c| c as &'static dyn ConnectorFactory));
        if found.is_none() {
            let mut all: Vec<&str> = CONNECTORS.iter().flat_map(names).copied().collect();
            all.sort_unstable();
            all.dedup();
            let message = format!("unknown connector {}", named.value);
            let near = did_you_mean(named.value, all.iter().copied()).map(|h| format!("{h} ")).unwrap_or_default();
            let hint = format!("{near}{} has: {}", named.dialect.as_str(), all.join(", "));
            let hint = format!("{hint}. To rehearse the job, name one of them and run it with --stand-in TABLE=PATH");
            self.out.push(Diagnostic::error(codes::UNKNOWN_CONNECTOR, named.span, message).hint(hint));
        }
        found
    }

    fn insert_targets(&mut self) {
        for insert in std::mem::take(&mut self.inserts) {
            let name = &insert.table.value;
            let catalog = &self.catalog;
            if catalog.tables.contains_key(name) || catalog.broken.contains(name) || self.broken.contains(name) {
                continue;
            }
            let d = if self.catalog.views.contains_key(name) {
                Diagnostic::error(
                    codes::UNSUPPORTED_CLAUSE,
                    insert.table.span,
                    format!("{name} is a view: it cannot be written"),
                )
            } else {
                let d = Diagnostic::error(codes::UNKNOWN_TABLE, insert.table.span, format!("unknown table {name}"));
                let hint = did_you_mean(name, self.catalog.tables.keys().map(String::as_str));
                d.hint(hint.unwrap_or_else(|| "tables are declared with CREATE TABLE in the same file".to_string()))
            };
            self.out.push(d);
        }
    }
}

/// Flink 1.9 numbers its pairs: `connector.properties.0.key` = 'group.id', `connector.properties.0.value` = 'g' is
/// `connector.properties.group.id` = 'g'. Half a pair stays as it is: the connector speaks of it.
fn numbered_pairs(dialect: Dialect, with: &WithOptions) -> WithOptions {
    const PREFIX: &str = "connector.properties.";
    let mut with = with.clone();
    if dialect != Dialect::Legacy {
        return with;
    }
    let number = |key: &str, end: &str| {
        let number = key.strip_prefix(PREFIX)?.strip_suffix(end)?;
        number.parse::<u32>().is_ok().then(|| number.to_string())
    };
    let mut halves = Vec::new();
    for at in 0..with.entries.len() {
        let Some(n) = number(&with.entries[at].key, ".key") else { continue };
        let of_pair = |e: &WithOption| number(&e.key, ".value").is_some_and(|v| v == n);
        let Some(half) = with.entries.iter().position(of_pair) else { continue };
        let WithOption { value, value_span, .. } = with.entries[half].clone();
        let name = &with.entries[at];
        let key = format!("{PREFIX}{}", name.value.trim());
        with.entries[at] = WithOption { key, value, key_span: name.value_span, value_span };
        halves.push(half);
    }
    let mut at = 0..;
    with.entries.retain(|_| !at.next().is_some_and(|i| halves.contains(&i)));
    with
}

/// The option that names the connector.
pub(super) struct ConnectorKey<'a> {
    pub dialect: Dialect,
    pub key: &'static str,
    pub value: &'a str,
    pub span: Span,
}

/// Which family of job files the table was written for.
fn connector_key<'a>(table: &'a CreateTable, out: &mut Vec<Diagnostic>) -> Option<ConnectorKey<'a>> {
    const KEYS: [(Dialect, &str); 3] =
        [(Dialect::DtStack, "type"), (Dialect::Legacy, "connector.type"), (Dialect::Flink, "connector")];
    let with: &WithOptions = &table.options;
    let found: Vec<ConnectorKey<'_>> = KEYS
        .iter()
        .filter_map(|(dialect, key)| {
            let same = |k: &str| k == *key || (*dialect == Dialect::DtStack && k.eq_ignore_ascii_case(key));
            let e = with.entries.iter().find(|e| same(&e.key))?;
            Some(ConnectorKey { dialect: *dialect, key, value: e.value.trim(), span: e.key_span.to(e.value_span) })
        })
        .collect();
    if let [first, second, ..] = found.as_slice() {
        let message = format!("{} and {} belong to different dialects", first.key, second.key);
        let d = Diagnostic::error(codes::MIXED_DIALECTS, first.span, message);
        out.push(
            d.hint("type is flinkStreamSQL's, connector.type Flink 1.10's and DLI's, connector Flink's since 1.11"),
        );
        return None;
    }
    let Some(found) = found.into_iter().next() else {
        out.push(no_connector(table));
        return None;
    };
    if found.value.is_empty() {
        let message = format!("option {} of table {} is empty", found.key, table.name.value);
        out.push(Diagnostic::error(codes::MISSING_OPTION, found.span, message));
        return None;
    }
    Some(found)
}

fn no_connector(table: &CreateTable) -> Diagnostic {
    let with = &table.options;
    let message = format!("table {} names no connector", table.name.value);
    let d = Diagnostic::error(codes::NO_CONNECTOR, with.span, message);
    if !with.entries.is_empty() && with.entries.iter().all(|e| e.key.starts_with("kudu.")) {
        return d.hint("tables of a Kudu catalog are not supported yet: add 'connector.type' = 'kudu'");
    }
    let wanted = ["type", "connector.type", "connector"];
    let near = with.entries.iter().find_map(|e| did_you_mean(&e.key, wanted).map(|h| format!("{}: {h}", e.key)));
    d.hint(near.unwrap_or_else(|| {
        "add 'connector' = '..' (Flink), 'connector.type' = '..' (Flink 1.10, DLI) or type = '..' (flinkStreamSQL)"
            .into()
    }))
}

/// flinkStreamSQL's own bounds on the side-table options; they hold only when `cache` is given.
fn check_common(dialect: Dialect, options: &ResolvedOptions) -> Vec<OptionProblem> {
    let mut problems = Vec::new();
    let ttl = options.duration("lookup.cache.ttl").filter(|_| options.is_set("lookup.cache.ttl"));
    if dialect == Dialect::DtStack && ttl.is_some_and(|t| t.as_millis() < 1000) {
        problems.push(OptionProblem::error("lookup.cache.ttl", "cacheTTLMs must be at least 1000 (milliseconds)"));
    }
    let size = options.int("lookup.cache.max-rows").filter(|_| options.is_set("lookup.cache.max-rows"));
    if dialect == Dialect::DtStack && size.is_some_and(|s| s < 0) {
        problems.push(OptionProblem::error("lookup.cache.max-rows", "cacheSize must be at least 0"));
    }
    problems
}

fn problem_diagnostic(problem: &OptionProblem, options: &ResolvedOptions, with_span: Span) -> Diagnostic {
    let span = options.get(problem.option).and_then(|e| e.span).unwrap_or(with_span);
    if problem.is_error {
        Diagnostic::error(codes::OPTION_CONFLICT, span, problem.message.clone())
    } else {
        Diagnostic::warning(codes::W_IGNORED_OPTION, span, problem.message.clone())
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;

fn physical(column: &TableColumn) -> Option<(String, LogicalType)> {
    match &column.kind {
        TableColumnKind::Physical { logical_type, .. } => Some((column.name.clone(), logical_type.clone())),
        TableColumnKind::Computed(_) | TableColumnKind::Metadata { .. } => None,
    }
}
