//! A plugin that passed all checks of its file.

use super::cache::ModuleDigest;
use super::decoder::DecoderPlugin;
use super::engine::Engines;
use super::formatter::FormatterPlugin;
use super::imports::{self, same_type, show_type};
use super::instance::{HostState, PluginInstance};
use super::limits::{Limits, PluginConfig, show_bytes};
use super::manifest::{Function, Kind, Manifest};
use super::scalar::ScalarPlugin;
use crate::data::{FailurePolicy, TableSchema};
use crate::error::{Error, Result};
use crate::expr::function::ScalarFunction;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wasmill_abi::names;
use wasmtime::{ExternType, FuncType, InstancePre, Module, ValType};

/// What depends on a module's bytes alone; shared by all files and jobs with the same bytes.
pub(super) struct ModuleCore {
    pub digest: ModuleDigest,
    pub size: usize,
    pub module: Module,
    pub manifest: Manifest,
    engines: Arc<Engines>,
    /// Ready to be instantiated, per stack limit.
    prepared: Mutex<Vec<(u64, InstancePre<HostState>)>>,
}

impl ModuleCore {
    /// Checks exports and imports, then runs the module once for its version and description.
    pub fn new(
        engines: Arc<Engines>,
        module: Module,
        digest: ModuleDigest,
        size: usize,
    ) -> std::result::Result<ModuleCore, String> {
        check_exports(&module)?;
        imports::check(&module)?;
        let limits = Limits::default();
        let mut core =
            ModuleCore { digest, size, module, manifest: empty_manifest(), engines, prepared: Mutex::default() };
        core.prepare(limits.stack)?;
        core.manifest = Manifest::parse(&PluginInstance::start(&core, limits)?.describe()?)?;
        if core.manifest.functions.iter().any(|f| f.is_generic()) && core.module.get_export(names::BIND).is_none() {
            return Err(format!("export {}: is missing, but a function has the type ANY", names::BIND));
        }
        Ok(core)
    }

    pub fn hex_digest(&self) -> String {
        self.digest.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// For the log.
    pub fn display_name(&self) -> Arc<str> {
        match self.manifest.name.as_str() {
            "" => self.hex_digest()[..12].into(),
            name => name.into(),
        }
    }

    /// Initial and maximal size of the memory in bytes.
    pub fn memory(&self) -> Option<(u64, Option<u64>)> {
        let memory = self.module.get_export(names::MEMORY)?;
        let memory = memory.memory()?;
        Some((memory.minimum().saturating_mul(65_536), memory.maximum().map(|n| n.saturating_mul(65_536))))
    }

    /// Makes instances with this stack limit possible.
    fn prepare(&self, stack: u64) -> std::result::Result<(), String> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.iter().any(|(s, _)| *s == stack) {
            return Ok(());
        }
        let engine = self.engines.get(stack)?;
        let module = if wasmtime::Engine::same(self.module.engine(), &engine) {
            self.module.clone()
        } else {
            let code = self.module.serialize().map_err(|e| format!("{e:#}"))?;
            // SAFETY: wasmtime itself made these bytes a moment ago.
            unsafe { Module::deserialize(&engine, code) }.map_err(|e| format!("{e:#}"))?
        };
        let linker = imports::linker(&engine).map_err(|e| format!("{e:#}"))?;
        let pre = linker.instantiate_pre(&module).map_err(|e| format!("{e:#}"))?;
        prepared.push((stack, pre));
        Ok(())
    }

    pub fn instance_pre(&self, stack: u64) -> std::result::Result<InstancePre<HostState>, String> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let found = prepared.iter().find(|(s, _)| *s == stack);
        found.map(|(_, pre)| pre.clone()).ok_or_else(|| format!("no engine with a stack of {}", show_bytes(stack)))
    }
}

fn empty_manifest() -> Manifest {
    Manifest { name: String::new(), version: String::new(), functions: vec![], features: vec![], capabilities: vec![] }
}

/// Everything that ABI.md requires is exported with its type; the error names the offender.
fn check_exports(module: &Module) -> std::result::Result<(), String> {
    let i32s = |n: usize| vec![ValType::I32; n];
    let function = |params: usize, results: usize| FuncType::new(module.engine(), i32s(params), i32s(results));
    match module.get_export(names::MEMORY) {
        Some(ExternType::Memory(_)) => {}
        Some(other) => return Err(format!("export memory: is {}, must be a memory", imports::kind_of(&other))),
        None => return Err("export memory: is missing; a plugin exports its memory".into()),
    }
    if module.get_export(names::MARKER).is_none() {
        return Err(format!("export {}: is missing, so it is not a Wasmill plugin", names::MARKER));
    }
    let required = [(names::MARKER, function(0, 1)), (names::REALLOC, function(4, 1))]
        .into_iter()
        .chain(names::REQUIRED_CALLS.map(|name| (name, function(2, 1))));
    for (name, wanted) in required {
        check_function(module, name, &wanted)?
            .then_some(())
            .ok_or_else(|| format!("export {name}: is missing, must be a function {}", show_type(&wanted)))?;
    }
    for name in names::OPTIONAL_CALLS {
        check_function(module, name, &function(2, 1))?;
    }
    check_function(module, names::INITIALIZE, &function(0, 0))?;
    for name in names::REQUIRED_CALLS.iter().chain(&names::OPTIONAL_CALLS) {
        check_function(module, &format!("cabi_post_{name}"), &function(1, 0))?;
    }
    Ok(())
}

/// Whether the export is there; an error if it is there with another type.
fn check_function(module: &Module, name: &str, wanted: &FuncType) -> std::result::Result<bool, String> {
    match module.get_export(name) {
        None => Ok(false),
        Some(ExternType::Func(ty)) if same_type(&ty, wanted) => Ok(true),
        Some(ExternType::Func(ty)) => {
            Err(format!("export {name}: its type is {}, must be {}", show_type(&ty), show_type(wanted)))
        }
        Some(other) => Err(format!("export {name}: is {}, must be a function", imports::kind_of(&other))),
    }
}

/// A loaded plugin file.
pub struct PluginModule {
    path: PathBuf,
    pub(super) core: Arc<ModuleCore>,
}

impl std::fmt::Debug for PluginModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginModule").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PluginModule {
    pub(super) fn new(path: &Path, core: Arc<ModuleCore>) -> PluginModule {
        PluginModule { path: path.to_path_buf(), core }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// SHA-256 of the file in hexadecimal.
    pub fn digest(&self) -> String {
        self.core.hex_digest()
    }

    /// A scalar function of this plugin under a SQL name. The types are decided by `bind`, which also opens the
    /// function once, so that a configuration that it refuses is reported at submit.
    pub fn scalar(
        &self,
        exported: &str,
        sql_name: &str,
        limits: Limits,
        on_error: Option<FailurePolicy>,
        config: PluginConfig,
    ) -> Result<Arc<dyn ScalarFunction>> {
        let function = self.function(exported, Kind::Scalar)?;
        self.ready(&limits)?;
        Ok(Arc::new(ScalarPlugin::new(self.core.clone(), function, sql_name, limits, on_error, config)))
    }

    /// A formatter of this plugin for the rows of `schema`; without a name it must be the plugin's only formatter.
    /// Opens it once, so that columns or a configuration that it refuses are reported at submit.
    pub fn formatter(
        &self,
        exported: Option<&str>,
        schema: &TableSchema,
        config: PluginConfig,
        limits: Limits,
    ) -> Result<FormatterPlugin> {
        let function = self.function_or_only(exported, Kind::Formatter)?;
        self.ready(&limits)?;
        FormatterPlugin::new(self.core.clone(), &function, schema, limits, &config).map_err(|e| self.error(e))
    }

    /// A decoder of this plugin for records that become rows of `schema`; without a name it must be the plugin's only
    /// decoder. Opens it once, as [`Self::formatter`] does.
    pub fn decoder(
        &self,
        exported: Option<&str>,
        schema: &TableSchema,
        config: PluginConfig,
        limits: Limits,
    ) -> Result<DecoderPlugin> {
        let function = self.function_or_only(exported, Kind::Decoder)?;
        self.ready(&limits)?;
        DecoderPlugin::new(self.core.clone(), &function, schema, limits, &config).map_err(|e| self.error(e))
    }

    fn function_or_only(&self, exported: Option<&str>, kind: Kind) -> Result<Function> {
        let manifest = &self.core.manifest;
        let of_kind: Vec<&Function> = manifest.functions.iter().filter(|f| f.kind == kind).collect();
        match (exported, &of_kind[..]) {
            (Some(name), _) => self.function(name, kind),
            (None, [only]) => Ok((*only).clone()),
            (None, []) => Err(self.error(format!("has no {}", kind.as_str()))),
            (None, _) => {
                let (kind, names) = (kind.as_str(), manifest.names(kind));
                Err(self.error(format!("has several {kind}s ({names}); name one with 'wasm.function'")))
            }
        }
    }

    fn function(&self, name: &str, kind: Kind) -> Result<Function> {
        let manifest = &self.core.manifest;
        let Some(function) = manifest.functions.iter().find(|f| f.name == name) else {
            let message =
                format!("has no function '{name}'; its {} functions are: {}", kind.as_str(), manifest.names(kind));
            return Err(self.error(message));
        };
        if function.kind != kind {
            let (is, must) = (function.kind.as_str(), kind.as_str());
            return Err(self.error(format!("'{name}' is a {is} function, a {must} function is needed here")));
        }
        Ok(function.clone())
    }

    fn ready(&self, limits: &Limits) -> Result<()> {
        if let Some((minimum, _)) = self.core.memory()
            && minimum > limits.memory
        {
            let (needs, may) = (show_bytes(minimum), show_bytes(limits.memory));
            return Err(self.error(format!("needs {needs} of memory to start, its limit is {may}")));
        }
        self.core.prepare(limits.stack).map_err(|e| self.error(e))
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::user(format!("plugin {}: {what}", self.path.display()))
    }
}
