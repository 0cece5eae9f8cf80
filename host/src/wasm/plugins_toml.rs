//! `plugins.toml`: which wasm function stands for a class name of `CREATE SCALA FUNCTION f WITH a.b.C`.
//!
//! ```toml
//! ["com.acme.Mask"]
//! module = "plugins/mask.wasm"     # relative to this file
//! function = "mask"                # as the module exports it
//! on-error = "dead-letter"         # fail, dead-letter, null or skip; optional
//! memory-limit = "64 mb"           # and cpu-limit, stack-limit, output-limit; optional
//! config = { separator = ";" }     # handed to the plugin; optional
//! ```

use super::limits::{LIMIT_OPTIONS, Limits};
use crate::data::FailurePolicy;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const MAX_BYTES: u64 = 1 << 20;
const KEYS: [&str; 8] = [
    "module",
    "function",
    "on-error",
    "config",
    LIMIT_OPTIONS[0],
    LIMIT_OPTIONS[1],
    LIMIT_OPTIONS[2],
    LIMIT_OPTIONS[3],
];

/// One function of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginEntry {
    /// Absolute, or relative to the working folder as the file's own path is.
    pub module: PathBuf,
    pub function: String,
    pub limits: Limits,
    pub on_error: Option<FailurePolicy>,
    pub config: Vec<(String, String)>,
    /// Line of the entry in the file.
    pub line: usize,
}

/// A whole file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PluginsToml {
    pub path: PathBuf,
    pub entries: BTreeMap<String, PluginEntry>,
}

impl PluginsToml {
    /// Reads a file. The error lists all problems, one a line: `plugins.toml:3: ...`.
    pub fn load(path: &Path) -> Result<PluginsToml> {
        let unreadable = |e: std::io::Error| Error::user(format!("{}: {e}", path.display()));
        if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_BYTES {
            return Err(Error::user(format!("{}: longer than 1 MiB", path.display())));
        }
        Self::parse(path, &std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// As [`load`](Self::load), from text that was read from `path`.
    pub fn parse(path: &Path, text: &str) -> Result<PluginsToml> {
        let mut reader = Reader { text, folder: path.parent().unwrap_or(Path::new("")), problems: Vec::new() };
        let (document, errors) = DeTable::parse_recoverable(text);
        for e in errors {
            reader.problem(e.span().unwrap_or(0..0), e.message());
        }
        // Half-read text would only be blamed for what is missing in it.
        let well_formed = reader.problems.is_empty();
        let mut entries = BTreeMap::new();
        for (name, value) in document.get_ref().iter().filter(|_| well_formed) {
            let line = reader.line(name.span().start);
            if let Some(entry) = reader.entry(name.get_ref(), value, line) {
                entries.insert(name.get_ref().to_string(), entry);
            }
        }
        if reader.problems.is_empty() {
            return Ok(PluginsToml { path: path.to_path_buf(), entries });
        }
        reader.problems.sort();
        let lines: Vec<String> =
            reader.problems.iter().map(|(line, what)| format!("{}:{line}: {what}", path.display())).collect();
        Err(Error::user(lines.join("\n")))
    }

    /// The message for a class that is not in the file: what to add, and how to make the plugin.
    pub fn missing(path: &Path, class: &str) -> Error {
        let short = class.rsplit('.').next().unwrap_or(class).to_lowercase();
        Error::user(format!("class {class} has no plugin in {}", path.display())).with_hint(format!(
            "add [\"{class}\"] with module = \"{short}.wasm\" and function = \"{short}\"; `wasmill plugin new --lang rust {short}` makes such a plugin"
        ))
    }
}

struct Reader<'a> {
    text: &'a str,
    folder: &'a Path,
    problems: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
    }

    fn problem(&mut self, at: Range<usize>, what: impl Into<String>) {
        let line = self.line(at.start);
        self.problems.push((line, what.into()));
    }

    fn entry(&mut self, name: &str, value: &Spanned<DeValue>, line: usize) -> Option<PluginEntry> {
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(value.span(), format!("\"{name}\" must be a table with module and function"));
            return None;
        };
        let (mut module, mut function) = (None, None);
        let mut entry = PluginEntry {
            module: PathBuf::new(),
            function: String::new(),
            limits: Limits::default(),
            on_error: None,
            config: Vec::new(),
            line,
        };
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "module" => module = self.text_of("module", value),
                "function" => function = self.text_of("function", value),
                "on-error" => entry.on_error = self.on_error(value),
                "config" => entry.config = self.config(value),
                limit if LIMIT_OPTIONS.contains(&limit) => self.limit(&mut entry.limits, limit, value),
                unknown => {
                    let near = KEYS.iter().max_by(|a, b| strsim::jaro(a, unknown).total_cmp(&strsim::jaro(b, unknown)));
                    let hint = near.map(|k| format!("; did you mean '{k}'?")).unwrap_or_default();
                    self.problem(key.span(), format!("unknown key '{unknown}'{hint}"));
                }
            }
        }
        for (key, given) in [("module", module.is_some()), ("function", function.is_some())] {
            if !given && !table.iter().any(|(k, _)| k.get_ref() == key) {
                self.problems.push((line, format!("\"{name}\": the key '{key}' is missing")));
            }
        }
        entry.module = self.folder.join(module?);
        entry.function = function?;
        Some(entry)
    }

    fn text_of(&mut self, key: &str, value: &Spanned<DeValue>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(s) if !s.is_empty() => Some(s.to_string()),
            DeValue::String(_) => {
                self.problem(value.span(), format!("'{key}' is empty"));
                None
            }
            _ => {
                self.problem(value.span(), format!("'{key}' must be a string"));
                None
            }
        }
    }

    fn on_error(&mut self, value: &Spanned<DeValue>) -> Option<FailurePolicy> {
        let text = self.text_of("on-error", value)?;
        let policy = FailurePolicy::parse(&text);
        if policy.is_none() {
            self.problem(
                value.span(),
                format!("'on-error' is '{text}'; fail, dead-letter, null and skip are possible"),
            );
        }
        policy
    }

    fn limit(&mut self, limits: &mut Limits, key: &str, value: &Spanned<DeValue>) {
        if let Some(text) = self.text_of(key, value)
            && let Err(e) = limits.set(key, &text)
        {
            self.problem(value.span(), format!("'{key}': {e}"));
        }
    }

    fn config(&mut self, value: &Spanned<DeValue>) -> Vec<(String, String)> {
        let DeValue::Table(table) = value.get_ref() else {
            self.problem(value.span(), "'config' must be a table of strings");
            return Vec::new();
        };
        let mut config = Vec::new();
        for (key, value) in table {
            match value.get_ref() {
                DeValue::String(s) => config.push((key.get_ref().to_string(), s.to_string())),
                _ => self.problem(value.span(), format!("'config.{}' must be a string", key.get_ref())),
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PluginsToml> {
        PluginsToml::parse(Path::new("jobs/plugins.toml"), text)
    }

    #[test]
    fn entries_are_read_with_paths_relative_to_the_file() {
        let text = "[\"com.acme.Mask\"]\nmodule = \"p/mask.wasm\"\nfunction = \"mask\"\non-error = \"null\"\n\
                    cpu-limit = \"20 ms\"\nconfig = { a = \"b\" }\n\n\"x.Y\" = 3\n";
        let file = parse(&text.replace("\"x.Y\" = 3\n", "")).unwrap();
        let entry = &file.entries["com.acme.Mask"];
        assert_eq!(entry.module, Path::new("jobs/p/mask.wasm"));
        assert_eq!((entry.function.as_str(), entry.line), ("mask", 1));
        assert_eq!(entry.on_error, Some(FailurePolicy::Null));
        assert_eq!(entry.limits.cpu, std::time::Duration::from_millis(20));
        assert_eq!(entry.config, [("a".to_string(), "b".to_string())]);
    }

    #[test]
    fn all_problems_are_reported_with_their_lines() {
        let error = parse("[\"a.B\"]\nmodul = \"x\"\nfunction = 3\n\n[\"a.C\"]\nmodule = \"m\"\nfunction = \"f\"\nmemory-limit = \"x\"\non-error = \"no\"\n")
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "jobs/plugins.toml:1: \"a.B\": the key 'module' is missing\n\
             jobs/plugins.toml:2: unknown key 'modul'; did you mean 'module'?\n\
             jobs/plugins.toml:3: 'function' must be a string\n\
             jobs/plugins.toml:8: 'memory-limit': 'x' is not a size such as '64 mb'\n\
             jobs/plugins.toml:9: 'on-error' is 'no'; fail, dead-letter, null and skip are possible"
        );
    }

    #[test]
    fn text_that_is_no_toml_is_reported_with_its_line() {
        let error = parse("[\"a.B\"]\nmodule = \n").unwrap_err().to_string();
        assert!(error.starts_with("jobs/plugins.toml:2: "), "{error}");
    }

    #[test]
    fn a_missing_class_says_what_to_add() {
        let error = PluginsToml::missing(Path::new("plugins.toml"), "com.acme.Mask");
        assert_eq!(error.message, "class com.acme.Mask has no plugin in plugins.toml");
        assert!(error.hint.unwrap().contains("`wasmill plugin new --lang rust mask`"));
    }
}
