//! `wasmill check` and `wasmill explain`.

use super::{CheckArgs, JobArgs, log, print};
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::Result;
use crate::session::{CompiledJob, compile};
use std::process::ExitCode;

/// Tables with dialect, role, columns and options; then all messages in the order of the text.
pub fn check(args: &CheckArgs) -> Result<ExitCode> {
    let mut job = compile(&args.job.request(None)?)?;
    if args.connect {
        super::connect::connect(&mut job)?;
    }
    print(&job.describe())?;
    if !job.has_errors() {
        print(&job.answers)?;
    }
    Ok(finish(&job))
}

pub fn explain(args: &JobArgs) -> Result<ExitCode> {
    let job = compile(&args.request(None)?)?;
    let code = finish(&job);
    if let Some(graph) = job.graph.as_ref().filter(|_| !job.has_errors()) {
        print(&crate::plan::explain(graph))?;
        print(&job.answers)?;
    }
    Ok(code)
}

fn finish(job: &CompiledJob) -> ExitCode {
    print_diagnostics(job, true);
    ExitCode::from(if job.has_errors() { 2 } else { 0 })
}

/// On stderr, in the order of the text; the counts last.
pub(super) fn print_diagnostics(job: &CompiledJob, warnings: bool) {
    let shown = job.diagnostics.iter().filter(|d| warnings || d.is_error());
    let count = |s: Severity| job.diagnostics.iter().filter(|d: &&Diagnostic| d.severity == s).count();
    log::diagnostics(&job.file, shown, count(Severity::Error), count(Severity::Warning));
}
