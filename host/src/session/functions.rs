//! The functions that a job declares: finds their plugins and loads them.

use crate::catalog::Catalog;
use crate::data::FailurePolicy;
use crate::diagnostic::{Diagnostic, Span};
use crate::error::{Error, Result};
use crate::expr::function::ScalarFunction;
use crate::sql::ast::{CreateFunction, FunctionKind, FunctionSource};
use crate::sql::codes;
use crate::wasm::{Limits, PluginEngine, PluginsToml};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Default)]
pub struct Loaded {
    pub functions: Vec<Arc<dyn ScalarFunction>>,
    /// Declared, but not to be had (reported).
    pub failed: Vec<String>,
}

/// Loads every declared function; what fails is reported at its declaration.
pub fn load(catalog: &Catalog, base_dir: &Path, plugins: Option<&Path>, out: &mut Vec<Diagnostic>) -> Loaded {
    let mut loaded = Loaded::default();
    let mut manifest = Manifest::new(base_dir, plugins);
    for declared in catalog.functions.values() {
        match load_one(declared, base_dir, &mut manifest) {
            Ok(f) => loaded.functions.push(f),
            Err(d) => {
                out.push(*d);
                loaded.failed.push(declared.name.value.clone());
            }
        }
    }
    loaded
}

/// plugins.toml, read when the first class name asks for it.
struct Manifest {
    path: PathBuf,
    given: bool,
    read: Option<Result<Option<Arc<PluginsToml>>, String>>,
}

impl Manifest {
    fn new(base_dir: &Path, plugins: Option<&Path>) -> Self {
        let path = plugins.map_or_else(|| base_dir.join("plugins.toml"), Path::to_path_buf);
        Self { path, given: plugins.is_some(), read: None }
    }

    /// None: there is no such file (and none was asked for).
    fn get(&mut self) -> Result<Option<Arc<PluginsToml>>, String> {
        let (path, given) = (&self.path, self.given);
        self.read
            .get_or_insert_with(|| {
                if !given && !path.exists() {
                    return Ok(None);
                }
                PluginsToml::load(path).map(|m| Some(Arc::new(m))).map_err(|e| e.message)
            })
            .clone()
    }
}

fn load_one(
    f: &CreateFunction,
    base_dir: &Path,
    manifest: &mut Manifest,
) -> std::result::Result<Arc<dyn ScalarFunction>, Box<Diagnostic>> {
    if matches!(f.kind, FunctionKind::Table | FunctionKind::Aggregate) {
        let kind = if f.kind == FunctionKind::Table { "table" } else { "aggregate" };
        return Err(Box::new(Diagnostic::error(
            codes::UNSUPPORTED_STATEMENT,
            f.name.span,
            format!("not supported yet: {kind} function '{}'", f.name.value),
        )));
    }
    match &f.source {
        FunctionSource::Wasm { exported, path, exported_span, path_span } => {
            let options = f.options.entries.iter().map(|o| (o.key.as_str(), o.value.as_str()));
            let (on_error, rest) = take_on_error(options).map_err(|m| at(f.options.span, m))?;
            let (limits, config) = Limits::from_options(rest).map_err(|m| at(f.options.span, m.join("; ")))?;
            let file = base_dir.join(path);
            let module = PluginEngine::shared().load_module(&file).map_err(|e| error_at(*path_span, &e))?;
            module.scalar(exported, &f.name.value, limits, on_error, config).map_err(|e| error_at(*exported_span, &e))
        }
        FunctionSource::Class { class, span } => {
            let found = manifest.get().map_err(|m| at(*span, m))?;
            let entry = found
                .as_ref()
                .and_then(|m| m.entries.get(class))
                .ok_or_else(|| unknown_class(f, class, *span, manifest))?;
            let module = PluginEngine::shared().load_module(&entry.module).map_err(|e| error_at(*span, &e))?;
            module
                .scalar(&entry.function, &f.name.value, entry.limits, entry.on_error, entry.config.clone())
                .map_err(|e| error_at(*span, &e))
        }
    }
}

type Options<'a> = Vec<(&'a str, &'a str)>;

/// `on-error` is the host's, the rest are limits and the plugin's own.
fn take_on_error<'a>(
    options: impl Iterator<Item = (&'a str, &'a str)>,
) -> std::result::Result<(Option<FailurePolicy>, Options<'a>), String> {
    let mut policy = None;
    let mut rest = Vec::new();
    for (key, value) in options {
        if key == "on-error" {
            policy =
                Some(FailurePolicy::parse(value).ok_or_else(|| {
                    format!("option 'on-error' = '{value}': expected fail, dead-letter, null or skip")
                })?);
        } else {
            rest.push((key, value));
        }
    }
    Ok((policy, rest))
}

fn at(span: Span, message: impl Into<String>) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::FUNCTION_LOAD, span, message))
}

fn error_at(span: Span, e: &Error) -> Box<Diagnostic> {
    let d = Diagnostic::error(codes::FUNCTION_LOAD, span, e.message.clone());
    Box::new(match &e.hint {
        Some(h) => d.hint(h.clone()),
        None => d,
    })
}

fn unknown_class(f: &CreateFunction, class: &str, span: Span, manifest: &Manifest) -> Box<Diagnostic> {
    let file = manifest.path.display();
    let name = &f.name.value;
    Box::new(
        Diagnostic::error(codes::UNKNOWN_FUNCTION, span, format!("class '{class}' is not in {file}")).hint(format!(
            "classes run as WebAssembly: write a plugin (`wasmill plugin new {name}`), build it, and add to {file}:\n    [\"{class}\"]\n    module = \"{name}.wasm\"\n    function = \"{name}\""
        )),
    )
}
