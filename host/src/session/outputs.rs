//! No file is both read and overwritten by a job, or overwritten from two sides: that would destroy what a user cannot
//! get back, and say that all went well.

use super::{DeadLetterTarget, JobRequest};
use crate::connectors::stand_in::StandIn;
use crate::diagnostic::Diagnostic;
use crate::plan::graph::{JobGraph, OperatorKind, TableBinding};
use crate::sql::codes;
use std::path::{Path, PathBuf};

/// A file that the job uses, and what for.
struct Use {
    file: PathBuf,
    what: String,
    /// The table, if it is a table's.
    table: Option<String>,
}

/// Reports outputs given on the command line that are an input, the job file or another output.
pub fn check(request: &JobRequest, graph: &JobGraph, base_dir: &Path, out: &mut Vec<Diagnostic>) {
    let (mut read, mut written) = (vec![], vec![]);
    for o in &graph.operators {
        match &o.kind {
            OperatorKind::Source(t) => read.extend(input(request, t, base_dir)),
            OperatorKind::LookupJoin(j) => read.extend(input(request, &j.side, base_dir)),
            OperatorKind::Sink(s) => written.extend(output(request, &s.table)),
            OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) => {}
        }
    }
    read.extend(plain(&request.job, "the job file"));
    if let Some(DeadLetterTarget::File(path)) = &request.dead_letters {
        written.extend(plain(path, "written by --dead-letters"));
    }
    for (i, w) in written.iter().enumerate() {
        // INSERTs into the same table share its file.
        let others = written[..i].iter().filter(|o| o.table.is_none() || o.table != w.table);
        if let Some(other) = read.iter().chain(others).find(|o| o.file == w.file) {
            let message = format!("{} is {} and {}", w.file.display(), other.what, w.what);
            out.push(Diagnostic::error(codes::SAME_FILE, None, message).hint("give each output a file of its own"));
        }
    }
}

/// The one file that a table reads. Folders and globs are not followed.
fn input(request: &JobRequest, table: &TableBinding, base_dir: &Path) -> Option<Use> {
    let options = &table.context.options;
    let path = match stand_in(request, table) {
        Some(stand_in) => stand_in.file()?.to_path_buf(),
        None => match (options.text("path"), options.text("file-name")) {
            (Some(path), _) => base_dir.join(path),
            // flinkStreamSQL's folder and name.
            (None, name) => base_dir.join(options.text("file-path").unwrap_or(".")).join(name?),
        },
    };
    Some(Use {
        table: Some(table.context.table.to_string()),
        ..plain(&path, &format!("read by table {}", table.context.table))?
    })
}

/// The file that a stand-in overwrites. Connectors' own sinks add to what is there.
fn output(request: &JobRequest, table: &TableBinding) -> Option<Use> {
    let path = stand_in(request, table)?.file()?;
    Some(Use {
        table: Some(table.context.table.to_string()),
        ..plain(path, &format!("written by table {}", table.context.table))?
    })
}

fn stand_in<'a>(request: &'a JobRequest, table: &TableBinding) -> Option<&'a StandIn> {
    request.stand_ins.iter().find(|s| s.table == *table.context.table)
}

fn plain(path: &Path, what: &str) -> Option<Use> {
    identity(path).map(|file| Use { file, what: what.to_string(), table: None })
}

/// What a regular file is called whichever way it is reached; also of one that does not exist yet. Pipes and devices
/// may be used as often as one likes.
fn identity(path: &Path) -> Option<PathBuf> {
    match std::fs::canonicalize(path) {
        Ok(file) => file.is_file().then_some(file),
        Err(_) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(std::fs::canonicalize(folder).ok()?.join(path.file_name()?))
        }
    }
}
