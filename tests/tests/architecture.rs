//! The dependency direction of ARCHITECTURE.md, read off the `use crate::` lines.

use std::collections::BTreeSet;
use std::path::Path;
use wasmill_tests::root;

/// Module -> modules it may name. A module may always name itself.
const ALLOWED: &[(&str, &[&str])] = &[
    ("data", &["error"]),
    ("error", &[]),
    ("files", &[]),
    ("diagnostic", &[]),
    ("metrics", &[]),
    ("sql", &["diagnostic", "data"]),
    ("expr", &["data", "error", "diagnostic", "sql"]),
    ("formats", &["data", "error", "sql"]),
    ("connectors", &["data", "error", "files", "formats", "metrics", "sql"]),
    ("wasm", &["data", "error", "formats", "connectors", "expr", "sql"]),
    ("catalog", &["connectors", "formats", "sql", "data", "diagnostic", "error"]),
    ("operators", &["connectors", "formats", "data", "error", "expr", "files", "wasm", "metrics"]),
    ("plan", &["catalog", "connectors", "formats", "data", "diagnostic", "error", "expr", "sql"]),
    ("runtime", &["operators", "plan", "connectors", "data", "error", "expr", "metrics"]),
    ("session", &["catalog", "connectors", "data", "diagnostic", "error", "expr", "formats", "plan", "sql", "wasm"]),
    (
        "cli",
        &[
            "session",
            "connectors",
            "runtime",
            "operators",
            "plan",
            "data",
            "diagnostic",
            "error",
            "metrics",
            "sql",
            "wasm",
        ],
    ),
];

/// (crate, modules that alone may name it)
const ONLY_IN: &[(&str, &[&str])] = &[
    ("datafusion_", &["plan", "expr"]),
    ("wasmtime", &["wasm"]),
    ("sqlx", &["connectors"]),
    ("kudu_rs", &["connectors"]),
];

fn rust_files(folder: &Path, out: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("source folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let name = path.strip_prefix(root().join("host/src")).expect("under src").display().to_string();
            out.push((name, std::fs::read_to_string(&path).expect("source file")));
        }
    }
}

/// `(file, code)`; the part of a file after `#[cfg(test)]` may use what it likes.
fn sources() -> Vec<(String, String)> {
    let mut files = Vec::new();
    rust_files(&root().join("host/src"), &mut files);
    let test_only = |name: &str| ["tests.rs", "testing.rs", "golden.rs"].iter().any(|end| name.ends_with(end));
    files.retain(|(name, _)| !test_only(name) && !name.contains("/tests/"));
    for (_, text) in &mut files {
        if let Some(at) = text.find("#[cfg(test)]\nmod tests {") {
            text.truncate(at);
        }
    }
    files
}

fn module_of(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or(file)
}

#[test]
fn modules_depend_only_in_the_allowed_direction() {
    let mut wrong = BTreeSet::new();
    for (file, text) in sources() {
        let module = module_of(&file);
        let Some((_, allowed)) = ALLOWED.iter().find(|(m, _)| *m == module) else {
            if module != "lib" && module != "main" {
                wrong.insert(format!("{file}: module '{module}' is not in the table"));
            }
            continue;
        };
        for part in text.split("crate::").skip(1) {
            let target: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if target != module && !target.is_empty() && !allowed.contains(&target.as_str()) {
                wrong.insert(format!("{file}: {module} must not name {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `local`, `lookup_options`, `native_format`, `predicate` and `row_batch` are parts that connectors share.
#[test]
fn a_connector_names_no_other_connector() {
    let mut wrong = BTreeSet::new();
    for (file, text) in sources() {
        let mut parts = file.split('/');
        let (Some("connectors"), Some(own), Some(_)) = (parts.next(), parts.next(), parts.next()) else { continue };
        for part in text.split("crate::connectors::").skip(1) {
            let target: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !["api", "local", "lookup_options", "native_format", "predicate", "row_batch"].contains(&target.as_str())
                && target != own
            {
                wrong.insert(format!("{file} names connectors::{target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_big_library_has_one_door() {
    let mut wrong = BTreeSet::new();
    for (file, text) in sources() {
        for (library, modules) in ONLY_IN {
            let named =
                text.lines().any(|l| !l.trim_start().starts_with("//") && l.contains(library) && l.contains("::"));
            if named && !modules.contains(&module_of(&file)) {
                wrong.insert(format!("{file} names {library}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn sql_does_no_io() {
    for (file, text) in sources() {
        if module_of(&file) == "sql" {
            for io in ["std::fs", "std::net", "tokio", "std::process"] {
                assert!(!text.contains(io), "{file} names {io}");
            }
        }
    }
}
