//! Golden jobs give the same rows whatever their parallelism, and the same output with and without chaining.

use std::path::{Path, PathBuf};
use wasmill_tests::{Sandbox, root, sorted_lines};

/// Folders of golden jobs, and jobs/, whose results do not depend on the order of rows.
const FOLDERS: &[&str] = &[
    "tests/golden/b14_view_lookup",
    "tests/golden/b17_insert_mapping",
    "tests/golden/b25_null_text",
    "tests/golden/b47_null_key",
    "tests/golden/b53_side_columns",
    "tests/golden/b64_same_side_twice",
    "tests/golden/b71_key_types",
    "tests/golden/failure_policies",
    "tests/golden/two_inserts_one_table",
    "tests/golden/types",
    "tests/golden/queries",
    "tests/golden/functions",
    "jobs/dtstack",
];

struct Job {
    path: PathBuf,
    args: Vec<String>,
    show: Vec<String>,
}

fn jobs() -> Vec<Job> {
    let mut jobs = vec![];
    for folder in FOLDERS {
        for entry in std::fs::read_dir(root().join(folder)).expect("a golden folder").flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|e| e != "sql") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("job");
            let header = |name: &str| -> Vec<String> {
                text.lines().filter_map(|l| l.strip_prefix(name)).map(|l| l.trim().to_string()).collect()
            };
            for args in header("-- args:").iter().filter(|a| a.starts_with("run")) {
                let args = args.split_whitespace().map(str::to_string).collect();
                jobs.push(Job { path: path.clone(), args, show: header("-- show:") });
            }
        }
    }
    assert!(jobs.len() > 15, "only {} jobs", jobs.len());
    jobs
}

/// Exit code, rows of standard output, rows of the files that the job shows; each sorted.
fn outcome(job: &Job, setting: &str) -> (i32, Vec<Vec<String>>) {
    let s = Sandbox::new();
    copy_files(job.path.parent().expect("a folder"), s.dir.path());
    let mut args: Vec<&str> = job.args.iter().map(String::as_str).collect();
    args.extend(["--set", setting]);
    let run = s.wasmill(&args);
    // What a failing job has written before it failed is a matter of timing.
    let stdout = if run.code == 0 { sorted_lines(&run.stdout) } else { vec![] };
    let shown = job.show.iter().map(|f| sorted_lines(&std::fs::read_to_string(s.path(f)).unwrap_or_default()));
    (run.code, std::iter::once(stdout).chain(shown).collect())
}

fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("folder").flatten().filter(|e| e.path().is_file()) {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copy");
    }
}

#[test]
fn golden_jobs_give_the_same_rows_at_parallelism_2_without_chaining_and_with_tiny_batches() {
    for job in jobs() {
        let one = outcome(&job, "parallelism.default=1");
        for setting in ["parallelism.default=2", "pipeline.operator-chaining.enabled=false", "job.batch-rows=1"] {
            assert_eq!(one, outcome(&job, setting), "{} with {setting}", job.path.display());
        }
    }
}
