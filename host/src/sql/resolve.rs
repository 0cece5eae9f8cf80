//! WITH options against option tables: aliases, types, required ones, unknown ones.

use super::ast::{WithOption, WithOptions};
use super::codes;
use super::option_value::parse_value;
use super::options::{Dialect, OptionEntry, OptionSpec, OptionType, OptionValue, ResolvedOptions};
use super::suggest::nearest;
use crate::diagnostic::{Diagnostic, is_secret_key};

/// Resolves the options of one table against one set of option tables.
pub fn resolve(
    specs: &[&[OptionSpec]],
    dialect: Dialect,
    with: &WithOptions,
    table: &str,
    out: &mut Vec<Diagnostic>,
) -> ResolvedOptions {
    let mut resolver = Resolver::new(dialect, with, table, out);
    let options = resolver.take(specs, &[""]);
    resolver.finish();
    options
}

/// Several option tables (connector, format) take their options out of one WITH clause; what none of them took is
/// unknown.
pub struct Resolver<'a> {
    dialect: Dialect,
    with: &'a WithOptions,
    table: &'a str,
    out: &'a mut Vec<Diagnostic>,
    used: Vec<bool>,
    /// Every key that could have been written.
    known: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub fn new(dialect: Dialect, with: &'a WithOptions, table: &'a str, out: &'a mut Vec<Diagnostic>) -> Self {
        Self { dialect, with, table, out, used: vec![false; with.entries.len()], known: Vec::new() }
    }

    /// Marks a key as known and used (the one that names the connector).
    pub fn take_key(&mut self, key: &str) {
        self.known.push(key.to_string());
        for (i, e) in self.with.entries.iter().enumerate() {
            if self.same(&e.key, key) {
                self.used[i] = true;
            }
        }
    }

    /// Takes the options of these tables. Each spelling is tried behind each of the prefixes (`""`, `json.`).
    pub fn take(&mut self, specs: &[&[OptionSpec]], prefixes: &[&str]) -> ResolvedOptions {
        let mut resolved = ResolvedOptions::default();
        let all = || specs.iter().flat_map(|s| s.iter());
        // Exact names first: `key.fields` is no member of the prefix `key.`.
        for spec in all().filter(|s| s.kind != OptionType::Prefix) {
            self.take_one(spec, prefixes, &mut resolved);
        }
        for spec in all().filter(|s| s.kind == OptionType::Prefix) {
            self.take_prefix(spec, prefixes, &mut resolved);
        }
        for spec in all() {
            self.complete(spec, prefixes, &mut resolved);
        }
        resolved
    }

    /// Reports what nobody took.
    pub fn finish(self) {
        for (i, e) in self.with.entries.iter().enumerate() {
            if !self.used[i] {
                let d = self.unknown(e);
                self.out.push(d);
            }
        }
    }

    fn same(&self, written: &str, spelling: &str) -> bool {
        written == spelling || (self.dialect == Dialect::DtStack && written.eq_ignore_ascii_case(spelling))
    }

    /// The spellings of an option in this dialect with their prefixes.
    fn spellings(&self, spec: &OptionSpec, prefixes: &[&str]) -> Vec<String> {
        spec.spelled(self.dialect).flat_map(|s| prefixes.iter().map(move |p| format!("{p}{s}"))).collect()
    }

    fn take_one(&mut self, spec: &OptionSpec, prefixes: &[&str], resolved: &mut ResolvedOptions) {
        let spellings = self.spellings(spec, prefixes);
        for (i, e) in self.with.entries.iter().enumerate() {
            if self.used[i] || !spellings.iter().any(|s| self.same(&e.key, s)) {
                continue;
            }
            self.used[i] = true;
            if let Some(first) = resolved.entries.get(spec.name) {
                let message = format!("options {} and {} mean the same", first.key, e.key);
                self.out.push(Diagnostic::error(codes::DUPLICATE_OPTION, e.key_span, message));
            } else if let Some(entry) = self.read(spec, e) {
                resolved.entries.insert(spec.name, entry);
            }
        }
        self.known.extend(spellings);
    }

    fn read(&mut self, spec: &OptionSpec, e: &WithOption) -> Option<OptionEntry> {
        if let OptionType::Ignored(why) = spec.kind {
            let message = format!("option {} has no effect here: {why}", e.key);
            self.out.push(Diagnostic::warning(codes::W_IGNORED_OPTION, e.key_span, message));
            return None;
        }
        // An empty required option is a missing one; that is said when all are read.
        if e.value.trim().is_empty() && spec.required.contains(&self.dialect) {
            return None;
        }
        let value = match parse_value(spec.kind, &e.value) {
            Ok(v) => v,
            Err(form) => self.lenient(spec, e).or_else(|| {
                let shown = if spec.sensitive { String::new() } else { format!(", not '{}'", shorten(&e.value)) };
                let message = format!("option {} must be {form}{shown}", e.key);
                self.out.push(Diagnostic::error(codes::BAD_OPTION_VALUE, e.value_span, message));
                None
            })?,
        };
        if matches!(spec.kind, OptionType::List) && e.value.contains('，') {
            let message = format!("full-width commas in option {} separate its entries", e.key);
            self.out.push(Diagnostic::warning(codes::W_OPTION_VALUE, e.value_span, message).hint("write ,"));
        }
        let sensitive = spec.sensitive;
        Some(OptionEntry {
            value,
            text: e.value.clone(),
            key: e.key.clone(),
            span: Some(e.key_span.to(e.value_span)),
            sensitive,
        })
    }

    /// flinkStreamSQL takes the first character of a longer delimiter.
    fn lenient(&mut self, spec: &OptionSpec, e: &WithOption) -> Option<OptionValue> {
        let first = e.value.chars().next()?;
        if self.dialect != Dialect::DtStack || spec.kind != OptionType::Char {
            return None;
        }
        let message = format!("only the first character of option {} counts", e.key);
        self.out.push(Diagnostic::warning(codes::W_OPTION_VALUE, e.value_span, message));
        Some(OptionValue::Char(first))
    }

    fn take_prefix(&mut self, spec: &OptionSpec, prefixes: &[&str], resolved: &mut ResolvedOptions) {
        for start in self.spellings(spec, prefixes) {
            for (i, e) in self.with.entries.iter().enumerate() {
                let rest = e
                    .key
                    .get(start.len()..)
                    .filter(|_| e.key.get(..start.len()).is_some_and(|head| self.same(head, &start)));
                if let Some(rest) = rest.filter(|r| !r.is_empty() && !self.used[i]) {
                    self.used[i] = true;
                    let members = resolved.prefixed.entry(spec.name).or_default();
                    members.insert(rest.to_string(), e.value.clone());
                }
            }
        }
    }

    /// Defaults, and required options that are not there.
    fn complete(&mut self, spec: &OptionSpec, prefixes: &[&str], resolved: &mut ResolvedOptions) {
        if resolved.entries.contains_key(spec.name) {
            return;
        }
        let Some(key) = self.spellings(spec, prefixes).into_iter().next() else { return };
        let written = self.with.entries.iter().find(|e| self.same(&e.key, &key));
        if spec.required.contains(&self.dialect) {
            let (span, message) = match written {
                Some(e) if e.value.trim().is_empty() => {
                    (e.key_span.to(e.value_span), format!("option {key} of table {} is empty", self.table))
                }
                // Given, and already reported as unreadable.
                Some(_) => return,
                None => (self.with.span, format!("table {} needs the option {key}", self.table)),
            };
            self.out.push(Diagnostic::error(codes::MISSING_OPTION, span, message).hint(spec.doc));
            return;
        }
        if written.is_some() {
            return;
        }
        let default = spec.default.iter().find(|(d, _)| *d == self.dialect).map(|(_, v)| *v);
        if let Some((text, Ok(value))) = default.map(|d| (d, parse_value(spec.kind, d))) {
            let entry = OptionEntry { value, text: text.to_string(), key, span: None, sensitive: spec.sensitive };
            resolved.entries.insert(spec.name, entry);
        }
    }

    fn unknown(&self, e: &WithOption) -> Diagnostic {
        let near = nearest(&e.key, self.known.iter().map(String::as_str).filter(|k| !k.is_empty()));
        // `startup-mode` for `connector.startup-mode`, as some documents have it.
        let end = format!(".{}", e.key);
        let near = near.or_else(|| self.known.iter().map(String::as_str).find(|k| k.ends_with(&end)));
        if self.dialect == Dialect::DtStack {
            let message = format!("unknown option {} is ignored", e.key);
            let d = Diagnostic::warning(codes::W_UNKNOWN_OPTION, e.key_span, message);
            return match near {
                Some(k) => d.hint(format!("did you mean {k}?")),
                None => d,
            };
        }
        let d = Diagnostic::error(codes::UNKNOWN_OPTION, e.key_span, format!("unknown option {}", e.key));
        match near {
            Some(k) if k.eq_ignore_ascii_case(&e.key) => d.hint(format!("option names are case-sensitive: {k}")),
            Some(k) => d.hint(format!("did you mean {k}?")),
            None => d.hint(format!("table {} takes: {}", self.table, list_keys(&self.known))),
        }
    }
}

/// The first keys in alphabetical order, secrets' names included (their values are not here).
fn list_keys(known: &[String]) -> String {
    const SHOWN_MAX: usize = 30;
    let mut keys: Vec<&str> = known.iter().map(String::as_str).filter(|k| !k.is_empty()).collect();
    keys.sort_unstable();
    keys.dedup();
    let more = if keys.len() > SHOWN_MAX { ", .." } else { "" };
    keys.truncate(SHOWN_MAX);
    format!("{}{more}", keys.join(", "))
}

/// A value in a message: not too long, and nothing that looks like a secret.
fn shorten(value: &str) -> String {
    if is_secret_key(value) {
        return "******".to_string();
    }
    let mut short: String = value.chars().take(40).collect();
    if short.len() < value.len() {
        short.push_str("..");
    }
    short
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
