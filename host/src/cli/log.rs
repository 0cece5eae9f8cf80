//! What a command says on standard error: text for people, or with `--log json` one JSON object a line.

use super::run::Ended;
use crate::diagnostic::{Diagnostic, Severity, SourceFile};
use crate::error::Error;
use crate::metrics::{JobMetrics, OperatorRole};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Standard error is one for the whole process, and so is what is written there.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Warnings and worse; `WASMILL_LOG` widens it (`debug`, `wasmill=trace`).
pub fn init(format: LogFormat) {
    let _ = FORMAT.set(format);
    let filter = tracing_subscriber::EnvFilter::try_from_env("WASMILL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let _ = match format {
        LogFormat::Text => logs.with_ansi(std::io::stderr().is_terminal()).without_time().try_init(),
        LogFormat::Json => logs.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init(),
    };
}

fn is_json() -> bool {
    FORMAT.get() == Some(&LogFormat::Json)
}

/// A line with the members that the lines of the log have, too.
fn line(level: &str, message: &str, more: Value) {
    let mut object = Map::new();
    let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
    object.insert("timestamp".into(), now.into());
    object.insert("level".into(), level.into());
    object.insert("message".into(), message.into());
    if let Value::Object(more) = more {
        object.extend(more.into_iter().filter(|(_, v)| !v.is_null()));
    }
    eprintln!("{}", Value::Object(object));
}

/// A remark on what the command does.
pub fn say(text: &str) {
    match is_json() {
        true => line("INFO", text, Value::Null),
        false => eprintln!("{text}"),
    }
}

/// A failure that no text of the job is to blame for.
pub fn report(e: &Error) {
    if is_json() {
        // The place of the operator is a member; the text has it in front.
        return line("ERROR", &e.message, json!({ "operator": e.operator, "hint": e.hint }));
    }
    eprintln!("error: {e}");
    if let Some(hint) = &e.hint {
        eprintln!("  = {hint}");
    }
}

/// What is wrong with a job's text, and how much.
pub fn diagnostics<'a>(file: &SourceFile, all: impl Iterator<Item = &'a Diagnostic>, errors: usize, warnings: usize) {
    for d in all {
        match is_json() {
            true => diagnostic(file, d),
            false => eprint!("{}", file.render(d)),
        }
    }
    if errors + warnings > 0 && !is_json() {
        let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        eprintln!("{}: {}, {}", file.name, plural(errors, "error"), plural(warnings, "warning"));
    }
}

fn diagnostic(file: &SourceFile, d: &Diagnostic) {
    let level = match d.severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARN",
    };
    let place = d.span.map(|s| s.start);
    let more = json!({
        "code": d.code,
        "file": &*file.name,
        "line": place.map(|p| p.line),
        "column": place.map(|p| p.column),
        "hint": d.hint,
    });
    line(level, &d.message, more);
}

/// How far a job is; on a terminal it is drawn over the last one.
pub fn progress(metrics: &JobMetrics, running: Duration) {
    let t = metrics.totals();
    let rate = t.rows_in as f64 / running.as_secs_f64();
    if is_json() {
        let more = json!({
            "rows_in": t.rows_in,
            "rows_out": t.rows_out,
            "dead": t.dead,
            "skipped": t.skipped,
            "rows_per_second": rate.round(),
            "share_read": t.share_read,
        });
        return line("INFO", "progress", more);
    }
    let share = t.share_read.map(|s| format!(", {:.0} % read", s * 100.0)).unwrap_or_default();
    let text = format!("{} rows in, {} out, {} dead, {rate:.0} rows/s{share}", t.rows_in, t.rows_out, t.dead);
    if draws() {
        eprint!("\r\x1b[2K{text}");
        let _ = std::io::stderr().flush();
    } else {
        eprintln!("{text}");
    }
}

/// Progress is a line that is drawn anew.
pub fn draws() -> bool {
    !is_json() && std::io::stderr().is_terminal()
}

/// The figures of a job that has ended.
pub fn summary(job: &str, metrics: &JobMetrics, took: Duration, ended: Ended) {
    if draws() {
        eprint!("\r\x1b[2K");
    }
    let t = metrics.totals();
    if !is_json() {
        eprint!(
            "{job}: {} in {:.2} s: {} rows in, {} rows out, {} dead, {} skipped\n{}",
            ended.in_words(),
            took.as_secs_f64(),
            t.rows_in,
            t.rows_out,
            t.dead,
            t.skipped,
            metrics.summary()
        );
        return;
    }
    let operators = metrics.operators();
    let operators: Vec<Value> = operators
        .iter()
        .map(|o| {
            let role = match o.role {
                OperatorRole::Source => "source",
                OperatorRole::SideTable => "side table",
                OperatorRole::Transform => "transform",
                OperatorRole::Sink => "sink",
            };
            let mut figures = json!({ "name": o.name, "role": role });
            if let Value::Object(members) = &mut figures {
                members.extend(o.figures().into_iter().map(|(name, n)| (name.to_string(), n.into())));
            }
            figures
        })
        .collect();
    let more = json!({
        "job": job,
        "seconds": took.as_secs_f64(),
        "rows_in": t.rows_in,
        "rows_out": t.rows_out,
        "dead": t.dead,
        "skipped": t.skipped,
        "operators": operators,
    });
    let level = if ended == Ended::Failed { "ERROR" } else { "INFO" };
    line(level, ended.in_words(), more);
}
