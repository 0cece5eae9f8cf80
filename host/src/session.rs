//! A job file to a job graph: reads the file, resolves what it declares, loads its plugins, plans its INSERTs.

mod binder;
mod functions;
mod outputs;

use crate::catalog::Catalog;
use crate::connectors::stand_in::StandIn;
use crate::diagnostic::{Diagnostic, Severity, SourceFile, Span};
use crate::error::{Error, Result};
use crate::expr::ExprContext;
use crate::plan::graph::{JobGraph, OperatorKind};
use crate::plan::settings::JobSettings;
use crate::plan::{PlanInput, plan};
use crate::sql::ast::{ColumnKind, Insert, Script, Statement};
use crate::sql::{codes, parser::parse_script, unsupported};
use sqlparser::ast::Spanned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which job, and with what.
#[derive(Debug, Clone, Default)]
pub struct JobRequest {
    pub job: PathBuf,
    /// `key=value` in order; they win over SET.
    pub settings: Vec<(String, String)>,
    pub stand_ins: Vec<StandIn>,
    /// plugins.toml; None: the one beside the job file, if there is one.
    pub plugins: Option<PathBuf>,
    /// The output for dead letters.
    pub dead_letters: Option<DeadLetterTarget>,
}

/// Where `--dead-letters` sends refused records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetterTarget {
    File(PathBuf),
    /// `kafka://brokers/topic?property=value`; may hold a password.
    Kafka(String),
}

impl std::str::FromStr for DeadLetterTarget {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(match text.starts_with("kafka://") {
            true => Self::Kafka(text.to_string()),
            false => Self::File(text.into()),
        })
    }
}

/// What became of a job file. The graph is there even when there are errors, as far as it came.
pub struct CompiledJob {
    pub file: SourceFile,
    pub catalog: Catalog,
    pub settings: JobSettings,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    pub graph: Option<JobGraph>,
}

impl CompiledJob {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Adds what a table's server says against it.
    pub fn refused_by_server(&mut self, table: &str, error: Error) {
        let place = self.catalog.tables.get(table).map(|t| t.name_span);
        let d = Diagnostic::error(codes::CONNECTOR, place, error.message);
        let d = match error.hint {
            Some(hint) => d.hint(hint),
            None => d,
        };
        if !self.diagnostics.contains(&d) {
            self.diagnostics.push(d);
        }
        in_order(&mut self.diagnostics);
    }

    /// The declared tables, for `check`.
    pub fn describe(&self) -> String {
        let roles = self.roles();
        let mut out = format!(
            "job {}: parallelism {}, time zone {}\n",
            self.graph.as_ref().map_or("", |g| &g.name),
            self.settings.parallelism,
            self.settings.time_zone
        );
        for table in self.catalog.tables.values() {
            let declared = if table.is_side { "side table" } else { "not used" };
            let role = roles.get(table.name.as_str()).map_or(declared.to_string(), |r| r.join(" and "));
            out += &crate::catalog::describe(table, &role);
        }
        for view in self.catalog.views.keys() {
            out += &format!("view {view}\n");
        }
        for function in self.catalog.functions.keys() {
            out += &format!("function {function}\n");
        }
        out
    }

    /// How the job's statements use each table.
    fn roles(&self) -> HashMap<&str, Vec<&'static str>> {
        let mut roles: HashMap<&str, Vec<&'static str>> = HashMap::new();
        for o in self.graph.iter().flat_map(|g| &g.operators) {
            let (table, role) = match &o.kind {
                OperatorKind::Source(t) => (t, "source"),
                OperatorKind::LookupJoin(j) => (&j.side, "side table"),
                OperatorKind::Sink(s) => (&s.table, "sink"),
                OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) => continue,
            };
            let all = roles.entry(&table.context.table).or_default();
            if !all.contains(&role) {
                all.push(role);
            }
        }
        roles
    }
}

/// Reads and plans a job file. `Err` only where there is no text to speak about (the file cannot be read).
pub fn compile(request: &JobRequest) -> Result<CompiledJob> {
    let file = read(&request.job)?;
    if let Some(path) = &request.plugins {
        // Even where no function needs it: a file that the user names is there.
        std::fs::metadata(path).map_err(|e| Error::user(format!("--plugins {}: {e}", path.display())))?;
    }
    let (script, mut out) = parse_script(&file);
    let catalog = crate::catalog::build(&script, &mut out);
    let settings = settings(&script, request, &mut out);
    if settings.strict_options {
        for d in &mut out {
            if d.code == codes::W_UNKNOWN_OPTION {
                d.severity = Severity::Error;
            }
        }
    }
    check_stand_ins(request, &catalog, &script, &mut out);
    refuse_unsupported(&script, &catalog, &mut out);

    let base_dir = request.job.parent().map(Path::to_path_buf).unwrap_or_default();
    let functions = functions::load(&catalog, &base_dir, request.plugins.as_deref(), &mut out);
    let graph = plan_inserts(request, &script, &catalog, functions, &settings, &base_dir, &mut out);
    check_standard_input(request, &graph, &mut out);
    outputs::check(request, &graph, &base_dir, &mut out);

    // Several walks see the same place; a message is shown once, in the order of the text.
    in_order(&mut out);
    out.dedup();
    Ok(CompiledJob { file, catalog, settings, diagnostics: out, graph: Some(graph) })
}

/// The order of the text.
fn in_order(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|d| (d.span.map(|s| (s.start, s.end)), d.severity, d.code));
}

fn read(path: &Path) -> Result<SourceFile> {
    let bytes =
        std::fs::read(path).map_err(|e| Error::user(format!("cannot read job file {}: {e}", path.display())))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        Error::user(format!("job file {}: line {line} is not UTF-8", path.display()))
            .with_hint("save the file as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text);
    Ok(SourceFile::new(path.display().to_string(), text))
}

fn settings(script: &Script, request: &JobRequest, out: &mut Vec<Diagnostic>) -> JobSettings {
    let mut settings = JobSettings::default();
    for s in &script.statements {
        if let Statement::Set(s) = s {
            settings.set(&s.key.value, &s.value, Some(s.key.span.to(s.value_span)), out);
        }
    }
    for (key, value) in &request.settings {
        settings.set(key, value, None, out);
    }
    settings
}

fn check_stand_ins(request: &JobRequest, catalog: &Catalog, script: &Script, out: &mut Vec<Diagnostic>) {
    let mut seen: Vec<&str> = vec![];
    for s in &request.stand_ins {
        if seen.contains(&s.table.as_str()) {
            let message = format!("--stand-in {}: the table has a stand-in already", s.table);
            out.push(Diagnostic::error(codes::STAND_IN, None, message));
        }
        seen.push(&s.table);
        if !catalog.tables.contains_key(&s.table) && !script.broken.iter().chain(&catalog.broken).any(|b| *b == s.table)
        {
            let declared = catalog.tables.keys().cloned().collect::<Vec<_>>().join(", ");
            let message = format!("--stand-in {}: the job declares no such table", s.table);
            out.push(Diagnostic::error(codes::STAND_IN, None, message).hint(format!("declared tables: {declared}")));
        }
    }
}

/// Standard input is there once: a second reader would get none of it, or a part.
fn check_standard_input(request: &JobRequest, graph: &JobGraph, out: &mut Vec<Diagnostic>) {
    let is_stream = |table: &str| request.stand_ins.iter().any(|s| s.is_stream() && s.table == table);
    let readers: Vec<&str> = graph
        .operators
        .iter()
        .filter_map(|o| match &o.kind {
            OperatorKind::Source(t) => Some(&*t.context.table),
            OperatorKind::LookupJoin(j) => Some(&*j.side.context.table),
            OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) | OperatorKind::Sink(_) => None,
        })
        .filter(|t| is_stream(t))
        .collect();
    if readers.len() > 1 {
        let message = format!("standard input can be read once, and the job reads it for {}", readers.join(", "));
        let hint = "give each table a file of its own";
        out.push(Diagnostic::error(codes::STAND_IN, None, message).hint(hint));
    }
}

/// Everything that a query or a computed column says and that would not be done.
fn refuse_unsupported(script: &Script, catalog: &Catalog, out: &mut Vec<Diagnostic>) {
    let built_in: Vec<&str> = crate::expr::names().collect();
    let user: Vec<&str> = catalog.functions.keys().map(String::as_str).collect();
    // A declared function whose plugin cannot be loaded is reported there, not as unknown.
    let known = |name: &str| {
        built_in.iter().any(|n| n.eq_ignore_ascii_case(name))
            || user.iter().any(|n| n.eq_ignore_ascii_case(name))
            || script.broken.iter().any(|n| n.eq_ignore_ascii_case(name))
    };
    let names: Vec<&str> = built_in.iter().chain(&user).copied().collect();
    for s in &script.statements {
        match s {
            Statement::Insert(i) => {
                refuse_qualified(&i.query, i.span, out);
                unsupported::check_query(&i.query, &known, &names, out);
            }
            Statement::CreateView(v) => {
                refuse_qualified(&v.query, v.span, out);
                unsupported::check_query(&v.query, &known, &names, out);
            }
            Statement::CreateTable(t) => {
                for c in &t.columns {
                    match &c.kind {
                        ColumnKind::Computed(e) => unsupported::check_expr(e, c.name.span, &known, &names, out),
                        ColumnKind::Metadata { .. } | ColumnKind::Physical { .. } => {}
                    }
                }
            }
            _ => {}
        }
    }
}

/// There is one catalog with one database: a qualifier would be dropped.
fn refuse_qualified(query: &sqlparser::ast::Query, statement: Span, out: &mut Vec<Diagnostic>) {
    let _ = sqlparser::ast::visit_relations(query, |name| {
        if name.0.len() > 1 {
            let span = name.span();
            let place = if span.start.line == 0 { statement } else { span.into() };
            let message = format!("not supported yet: the catalog or database in {name}");
            out.push(Diagnostic::error(codes::UNSUPPORTED_QUERY, place, message).hint("name the table alone"));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
}

fn plan_inserts(
    request: &JobRequest,
    script: &Script,
    catalog: &Catalog,
    functions: functions::Loaded,
    settings: &JobSettings,
    base_dir: &Path,
    out: &mut Vec<Diagnostic>,
) -> JobGraph {
    let job_name = settings.name.clone().unwrap_or_else(|| {
        request.job.file_stem().map_or_else(|| "job".to_string(), |s| s.to_string_lossy().into_owned())
    });
    let binder = binder::Binder { request, settings, base_dir };
    // What was refused already would only be refused again, in other words.
    let refused: Vec<_> = out.iter().filter(|d| d.is_error()).filter_map(|d| d.span).collect();
    let mut plannable = Script { statements: vec![], broken: script.broken.clone() };
    for s in &script.statements {
        match s {
            Statement::Insert(i) if !is_broken(i, script, catalog, &functions, &refused) => {
                plannable.statements.push(s.clone());
            }
            _ => {}
        }
    }
    let input = PlanInput {
        script: &plannable,
        catalog,
        functions: functions.functions,
        settings,
        expr_context: Arc::new(ExprContext::new(settings.time_zone)),
        binder: &binder,
        job_name,
        dead_letters: request.dead_letters.is_some(),
    };
    plan(&input, out)
}

/// The statement has an error of its own, or names something whose declaration has one.
fn is_broken(
    insert: &Insert,
    script: &Script,
    catalog: &Catalog,
    functions: &functions::Loaded,
    refused: &[crate::diagnostic::Span],
) -> bool {
    use std::ops::ControlFlow;
    let inside = |outer: crate::diagnostic::Span| refused.iter().any(|r| outer.start <= r.start && r.end <= outer.end);
    if inside(insert.span) {
        return true;
    }
    let unreadable = |name: &str| script.broken.iter().chain(&catalog.broken).any(|b| b == name);
    let mut broken = unreadable(&insert.table.value);
    let mut pending = vec![insert.query.clone()];
    let mut seen: Vec<String> = vec![];
    while let Some(query) = pending.pop() {
        let _ = sqlparser::ast::visit_relations(&query, |name| {
            let name = name.0.last().and_then(|p| p.as_ident()).map(|i| i.value.clone()).unwrap_or_default();
            broken |= unreadable(&name);
            if let Some(t) = catalog.tables.get(&name) {
                broken |= inside(t.span);
            }
            if let Some(v) = catalog.views.get(&name)
                && !seen.contains(&name)
            {
                broken |= inside(v.span);
                pending.push(v.query.clone());
                seen.push(name);
            }
            ControlFlow::<()>::Continue(())
        });
        let _ = sqlparser::ast::visit_expressions(&query, |e| {
            if let sqlparser::ast::Expr::Function(f) = e {
                let name = f.name.to_string();
                broken |= functions.failed.iter().chain(&script.broken).any(|n| n.eq_ignore_ascii_case(&name));
            }
            ControlFlow::<()>::Continue(())
        });
    }
    broken
}
