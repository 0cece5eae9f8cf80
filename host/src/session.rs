//! A job file to a job graph: reads the file, resolves what it declares, loads its plugins, plans its INSERTs.

mod absent;
mod answers;
mod binder;
mod functions;
#[cfg(test)]
mod fuzz_tests;
mod outputs;
mod stream_joins;

use crate::catalog::Catalog;
use crate::connectors::stand_in::StandIn;
use crate::diagnostic::{Diagnostic, Severity, SourceFile, Span};
use crate::error::{Error, Result};
use crate::expr::ExprContext;
use crate::plan::graph::{JobGraph, OperatorKind};
use crate::plan::settings::JobSettings;
use crate::plan::{PlanInput, plan, plan_query};
use crate::sql::ast::{ColumnKind, Explain, Explained, Insert, Script, Statement};
use crate::sql::{codes, parser::parse_script, unsupported};
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
    /// What EXPLAIN, SHOW and DESCRIBE statements ask for.
    pub answers: String,
    /// Those statements, for a run that passes over them.
    pub questions: Vec<(Span, String)>,
}

impl CompiledJob {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Says of each question that a run does not answer it.
    pub fn pass_over_questions(&mut self) {
        for (span, title) in &self.questions {
            let d = Diagnostic::warning(codes::W_QUESTION, *span, format!("{title} is passed over by a run"));
            self.diagnostics.push(d.hint("`wasmill check` and `wasmill explain` answer it"));
        }
        in_order(&mut self.diagnostics);
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
                d.message = d.message.replace(" is ignored", "");
            }
        }
    }
    check_stand_ins(request, &catalog, &script, &mut out);
    refuse_unsupported(&script, &catalog, &mut out);

    let base_dir = request.job.parent().map(Path::to_path_buf).unwrap_or_default();
    let functions = functions::load(&catalog, &base_dir, request.plugins.as_deref(), &mut out);
    let job = Planning { request, script: &script, catalog: &catalog, settings: &settings, base_dir: &base_dir };
    let (graph, answers) = job.plan(functions, &mut out);
    check_standard_input(request, &graph, &mut out);
    absent::check(request, &script, &catalog, &mut out);
    outputs::check(request, &graph, &base_dir, &mut out);

    // Several walks see the same place; a message is shown once, in the order of the text.
    in_order(&mut out);
    out.dedup();
    let questions = answers::questions(&script);
    Ok(CompiledJob { file, catalog, settings, diagnostics: out, graph: Some(graph), answers, questions })
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
            OperatorKind::Source(t) => Some(t),
            OperatorKind::LookupJoin(j) => Some(&j.side),
            OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) | OperatorKind::Sink(_) => None,
        })
        .filter(|t| is_stream(&t.context.table) || t.access.describe() == "stdin")
        .map(|t| &*t.context.table)
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
            Statement::Insert(i) | Statement::Explain(Explain { what: Explained::Insert(i), .. }) => {
                unsupported::check_query(&i.query, &known, &names, out);
                stream_joins::check(&i.query, i.span, catalog, out);
            }
            Statement::Explain(Explain { what: Explained::Query(query), span }) => {
                unsupported::check_query(query, &known, &names, out);
                stream_joins::check(query, *span, catalog, out);
            }
            Statement::CreateView(v) => {
                unsupported::check_query(&v.query, &known, &names, out);
                stream_joins::check(&v.query, v.span, catalog, out);
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

/// What the plans of a job are made of.
struct Planning<'a> {
    request: &'a JobRequest,
    script: &'a Script,
    catalog: &'a Catalog,
    settings: &'a JobSettings,
    base_dir: &'a Path,
}

impl Planning<'_> {
    /// The job's graph, and the answers to its questions.
    fn plan(&self, functions: functions::Loaded, out: &mut Vec<Diagnostic>) -> (JobGraph, String) {
        let binder = binder::Binder { request: self.request, settings: self.settings, base_dir: self.base_dir };
        // What was refused already would only be refused again, in other words.
        let refused: Vec<_> = out.iter().filter(|d| d.is_error()).filter_map(|d| d.span).collect();
        let fine = |i: &Insert| !is_broken(i, self.script, self.catalog, &functions, &refused);
        let mut plannable = Script { statements: vec![], broken: self.script.broken.clone() };
        let mut explained = vec![];
        for s in &self.script.statements {
            match s {
                Statement::Insert(i) if fine(i) => plannable.statements.push(s.clone()),
                Statement::Explain(e) => explained.extend(Some((e, answers::as_insert(e))).filter(|(_, i)| fine(i))),
                _ => {}
            }
        }
        let graph = plan(&self.input(&plannable, &functions, &binder), out);
        let mut plans = HashMap::new();
        for (e, insert) in explained {
            let only = Script { statements: vec![Statement::Insert(insert.clone())], broken: vec![] };
            let input = self.input(&only, &functions, &binder);
            let graph = match &e.what {
                Explained::Insert(_) => plan(&input, out),
                Explained::Query(_) => plan_query(&input, &insert, out),
            };
            plans.insert(e.span.start, crate::plan::explain(&graph));
        }
        (graph, answers::answers(self.script, self.catalog, &plans))
    }

    fn input<'b>(
        &'b self,
        script: &'b Script,
        functions: &functions::Loaded,
        binder: &'b binder::Binder<'b>,
    ) -> PlanInput<'b> {
        let file_stem = || self.request.job.file_stem().map(|s| s.to_string_lossy().into_owned());
        PlanInput {
            script,
            catalog: self.catalog,
            functions: functions.functions.clone(),
            settings: self.settings,
            expr_context: Arc::new(ExprContext::new(self.settings.time_zone)),
            binder,
            job_name: self.settings.name.clone().or_else(file_stem).unwrap_or_else(|| "job".to_string()),
            dead_letters: self.request.dead_letters.is_some(),
        }
    }
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
