//! Every folder under `tests/golden/` and `jobs/` with a file `expected` is a test: its `job.sql` (or the `.sql` file
//! it names) is run as its header says, and what comes out is compared with `expected`. `BLESS=1` writes it anew.
//!
//! Header lines of the job file:
//! - `-- args: run job.sql --stand-in ..` one run each, in order
//! - `-- show: out.jsonl` a file whose content belongs to the result
//! - `-- sorted` lines of shown files and of standard output are sorted (parallelism above 1, several INSERTs)

use libtest_mimic::{Arguments, Failed, Trial};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use wasmill_tests::{Sandbox, root};

fn main() {
    let args = Arguments::from_args();
    let mut cases = Vec::new();
    for folder in ["tests/golden", "jobs"] {
        collect(&root().join(folder), &mut cases);
    }
    cases.sort();
    let trials = cases
        .into_iter()
        .map(|case| {
            let name = case.strip_prefix(root()).unwrap_or(&case).display().to_string();
            Trial::test(name, move || run_case(&case))
        })
        .collect();
    libtest_mimic::run(&args, trials).exit();
}

/// Job files with a header; `name.sql` has its result in `name.expected`.
fn collect(folder: &Path, cases: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, cases);
        } else if path.extension().is_some_and(|e| e == "sql") && !header(&path).args.is_empty() {
            cases.push(path);
        }
    }
}

#[derive(Default)]
struct Header {
    args: Vec<String>,
    show: Vec<String>,
    sorted: bool,
}

impl Header {
    fn in_order(&self, text: String) -> String {
        if !self.sorted {
            return text;
        }
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.iter().flat_map(|l| [l, "\n"]).collect()
    }
}

fn header(path: &Path) -> Header {
    let mut h = Header::default();
    for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
        let Some(text) = line.strip_prefix("--") else { break };
        let text = text.trim();
        if let Some(a) = text.strip_prefix("args:") {
            h.args.push(a.trim().to_string());
        } else if let Some(s) = text.strip_prefix("show:") {
            h.show.push(s.trim().to_string());
        } else if text == "sorted" {
            h.sorted = true;
        }
    }
    h
}

fn run_case(sql: &Path) -> Result<(), Failed> {
    let h = header(sql);
    let sandbox = Sandbox::new();
    let folder = sql.parent().ok_or("no folder")?;
    copy_tree(folder, sandbox.dir.path())?;
    let mut result = String::new();
    for args in &h.args {
        let args: Vec<String> = args.split_whitespace().map(expand).collect();
        let run = sandbox.wasmill(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let _ = writeln!(result, "exit {}", run.code);
        section(&mut result, "stdout", &h.in_order(run.stdout));
        section(&mut result, "stderr", &run.stderr);
    }
    for name in &h.show {
        let text = std::fs::read_to_string(sandbox.path(name)).map_err(|e| format!("{name}: {e}"))?;
        section(&mut result, name, &h.in_order(text));
    }
    let result = normalise(&result, &sandbox);
    let expected_path = sql.with_extension("expected");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected_path, &result)?;
        return Ok(());
    }
    let expected = std::fs::read_to_string(&expected_path)
        .map_err(|e| format!("{}: {e}; `./dev bless` writes it", expected_path.display()))?;
    if expected != result {
        return Err(similar_asserts::SimpleDiff::from_str(&expected, &result, "expected", "got").to_string().into());
    }
    Ok(())
}

/// `@root` is the project, `@plugins` the built plugins.
fn expand(arg: &str) -> String {
    let root = root().display().to_string();
    arg.replace("@plugins", &format!("{root}/plugins/built")).replace("@root", &root)
}

fn section(out: &mut String, title: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "--- {title}");
        out.push_str(text);
        if !text.ends_with('\n') {
            out.push('\n');
        }
    }
}

/// What differs from run to run: the folder and the time taken.
fn normalise(text: &str, sandbox: &Sandbox) -> String {
    let folder = sandbox.dir.path().display().to_string();
    let root = root().display().to_string();
    text.lines()
        .map(|line| {
            let line = line.replace(&folder, "<folder>").replace(&root, "<root>");
            match (line.find(" in "), line.find(" s: ")) {
                (Some(a), Some(b)) if a < b && line[a + 4..b].parse::<f64>().is_ok() => {
                    format!("{} in <time>{}", &line[..a], &line[b + 2..])
                }
                _ => line,
            }
        })
        .fold(String::new(), |all, line| all + &line + "\n")
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)?.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
