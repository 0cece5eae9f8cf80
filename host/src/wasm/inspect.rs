//! What `wasmill plugin inspect` prints.

use super::PluginEngine;
use super::imports::show_type;
use super::limits::show_bytes;
use super::module::ModuleCore;
use crate::error::Result;
use std::fmt::Write as _;
use std::path::Path;
use wasmill_abi::VERSION;

/// A report on a plugin file, for people. A file that would be refused is an error that says why.
pub fn inspect(path: &Path) -> Result<String> {
    inspect_with(PluginEngine::shared(), path)
}

pub(super) fn inspect_with(engine: &PluginEngine, path: &Path) -> Result<String> {
    let module = engine.load_module(path)?;
    let core = &module.core;
    let mut out = String::new();
    let mut line = |what: &str, text: String| {
        let _ = writeln!(out, "{what:<12} {text}");
    };
    let manifest = &core.manifest;
    line("file", path.display().to_string());
    line("sha-256", core.hex_digest());
    line("size", format!("{} bytes", core.size));
    line("plugin", format!("{} {}", or(&manifest.name, "(no name)"), manifest.version).trim_end().to_string());
    line("ABI", format!("{}.{}, carrier A (core module)", VERSION.0, VERSION.1));
    line("memory", memory(core));
    for (i, function) in manifest.functions.iter().enumerate() {
        let tail = if function.deterministic { "" } else { ", not deterministic" };
        let head = if i == 0 { "functions" } else { "" };
        line(head, format!("{:<10} {}{tail}", function.kind.as_str(), function.signature()));
    }
    let imports = imports(core);
    if imports.is_empty() {
        line("imports", "none".into());
    }
    for (i, import) in imports.into_iter().enumerate() {
        line(if i == 0 { "imports" } else { "" }, import);
    }
    line("verdict", "runs here; it is given no capability (no file, socket, environment or clock of its own)".into());
    Ok(out)
}

fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

fn memory(core: &ModuleCore) -> String {
    match core.memory() {
        Some((min, Some(max))) => format!("{} at start, {} at most", show_bytes(min), show_bytes(max)),
        Some((min, None)) => format!("{} at start, no maximum of its own", show_bytes(min)),
        None => "none".into(),
    }
}

fn imports(core: &ModuleCore) -> Vec<String> {
    core.module
        .imports()
        .map(|i| {
            let ty = i.ty().func().map(show_type).unwrap_or_default();
            let note = if i.module().starts_with("wasi") { " (stub)" } else { "" };
            format!("{}.{} {ty}{note}", i.module(), i.name())
        })
        .collect()
}
