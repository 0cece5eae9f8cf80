//! Every file of `tests/diagnostics` through `wasmill check`: what its `-- expect:` lines name is printed, in that
//! order, and no other error or warning is. Lines `-- check:` name messages of what comes after the declarations (the
//! unit tests of the catalog, which read the same files, have no such stage).

use std::path::Path;
use wasmill_tests::{Sandbox, root};

/// `error[E0101] 4:12 text`
#[derive(Debug, PartialEq)]
struct Expected {
    kind: String,
    place: String,
    text: String,
}

fn expectations(text: &str) -> Vec<Expected> {
    let lines = text.lines().filter_map(|l| l.strip_prefix("-- expect: ").or(l.strip_prefix("-- check: ")));
    lines
        .map(|l| {
            let mut parts = l.splitn(3, ' ').map(str::to_string);
            let mut next = || parts.next().unwrap_or_else(|| panic!("directive {l:?}"));
            Expected { kind: next(), place: next(), text: next() }
        })
        .collect()
}

/// A printed message: its first line and everything up to the next one (source line, caret, hint).
fn messages(stderr: &str, file: &str) -> Vec<(String, String, String)> {
    let mut found: Vec<(String, String, String)> = Vec::new();
    for line in stderr.lines() {
        let head = line.strip_prefix(&format!("{file}:")).and_then(|rest| {
            let (place, message) = rest.split_once(": ")?;
            let (kind, _) = message.split_once(": ")?;
            kind.ends_with(']').then(|| (kind.to_string(), place.to_string(), line.to_string()))
        });
        match (head, found.last_mut()) {
            (Some(head), _) => found.push(head),
            (None, Some(last)) => last.2 += &format!("\n{line}"),
            (None, None) => panic!("not a message: {line}"),
        }
    }
    found
}

fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let sandbox = Sandbox::new();
    sandbox.write(&name, &text);
    let run = sandbox.wasmill(&["check", &name]);
    let expected = expectations(&text);
    let printed = messages(&run.stderr, &name);
    let code = if expected.iter().any(|e| e.kind.starts_with("error")) { 2 } else { 0 };
    if run.code != code {
        return Err(format!("exit {} instead of {code}", run.code));
    }
    // Of messages at the same place, the directives name the order of writing only.
    let mut left = printed.clone();
    for e in &expected {
        let fits = |m: &(String, String, String)| m.0 == e.kind && m.1 == e.place && m.2.contains(&e.text);
        match left.iter().position(fits) {
            Some(i) => drop(left.remove(i)),
            None => return Err(format!("{e:?} is not printed")),
        }
    }
    if let Some(extra) = left.first() {
        return Err(format!("not expected: {}", extra.2));
    }
    let places: Vec<(u32, u32)> = printed.iter().map(|m| place(&m.1)).collect();
    if !places.is_sorted() {
        return Err(format!("not in the order of the text: {places:?}"));
    }
    Ok(())
}

fn place(text: &str) -> (u32, u32) {
    let (line, column) = text.split_once(':').expect("line:column");
    (line.parse().expect("line"), column.parse().expect("column"))
}

#[test]
fn check_prints_each_diagnostic_with_code_place_and_text() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("tests/diagnostics"))
        .expect("tests/diagnostics")
        .map(|e| e.expect("entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "sql"))
        .collect();
    files.sort();
    assert!(files.len() >= 50, "only {} files", files.len());
    let wrong: Vec<String> =
        files.iter().filter_map(|f| check(f).err().map(|e| format!("{}: {e}", f.display()))).collect();
    assert!(wrong.is_empty(), "{} files:\n{}", wrong.len(), wrong.join("\n"));
}
