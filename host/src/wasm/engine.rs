//! wasmtime's engines (one for each stack size), the clock that interrupts guests, and the compiled modules of the
//! process.

use super::cache::{CompileCache, ModuleDigest, digest};
use super::limits::{Limits, MEMORY_MAX, show_bytes};
use super::module::{ModuleCore, PluginModule};
use crate::error::{Error, Result};
use dashmap::DashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wasmtime::{Config, Engine, EngineWeak, InstanceAllocationStrategy, Module, PoolingAllocationConfig, WasmFeatures};

/// Between two looks at the CPU clock of a running guest.
const TICK: Duration = Duration::from_millis(2);
/// Instances alive at a time in one process (and stack size): each reserves address space.
const MAX_INSTANCES: u32 = 1000;
pub(super) const MAX_TABLE_ELEMENTS: usize = 100_000;
/// Larger files are not even read.
const MAX_MODULE_BYTES: u64 = 64 << 20;
/// Compiled modules that are kept in memory although nobody may use them any more.
const MAX_MODULES: usize = 256;

/// Everything that plugins of this process share.
pub struct PluginEngine {
    engines: Arc<Engines>,
    cache: Option<CompileCache>,
    modules: DashMap<ModuleDigest, Arc<Mutex<Option<Arc<ModuleCore>>>>>,
}

impl PluginEngine {
    /// The engine of the process; made at the first call.
    pub fn shared() -> &'static PluginEngine {
        static SHARED: OnceLock<PluginEngine> = OnceLock::new();
        SHARED.get_or_init(|| PluginEngine::new(CompileCache::from_environment()))
    }

    pub(super) fn new(cache: Option<CompileCache>) -> PluginEngine {
        PluginEngine { engines: Arc::default(), cache, modules: DashMap::new() }
    }

    /// Reads, compiles (or finds compiled), checks and describes a plugin. Errors name the file and the offender.
    pub fn load_module(&self, path: &Path) -> Result<Arc<PluginModule>> {
        let bytes = read_module(path)?;
        let named = |why: String| Error::user(format!("plugin {}: {why}", path.display()));
        let core = self.core(&bytes).map_err(named)?;
        Ok(Arc::new(PluginModule::new(path, core)))
    }

    fn core(&self, bytes: &[u8]) -> std::result::Result<Arc<ModuleCore>, String> {
        let digest = digest(bytes);
        if self.modules.len() >= MAX_MODULES {
            self.modules.retain(|_, slot| Arc::strong_count(slot) > 1);
            self.modules.retain(|_, slot| match slot.try_lock() {
                Ok(core) => core.as_ref().is_some_and(|c| Arc::strong_count(c) > 1),
                Err(_) => true,
            });
        }
        // The lock of the one module: two tasks that need it compile it once, others are not held up.
        let slot = self.modules.entry(digest).or_default().clone();
        let mut core = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(core) = &*core {
            return Ok(core.clone());
        }
        let engine = self.engines.get(Limits::default().stack)?;
        let module = self.compile(&engine, &digest, bytes)?;
        let made = Arc::new(ModuleCore::new(self.engines.clone(), module, digest, bytes.len())?);
        *core = Some(made.clone());
        Ok(made)
    }

    fn compile(&self, engine: &Engine, digest: &ModuleDigest, bytes: &[u8]) -> std::result::Result<Module, String> {
        check_header(bytes)?;
        if let Some(module) = self.cache.as_ref().and_then(|c| c.load(engine, digest)) {
            return Ok(module);
        }
        let module =
            Module::new(engine, bytes).map_err(|e| format!("is not a module we can run: {}", e.root_cause()))?;
        if let Some(cache) = &self.cache {
            cache.store(engine, digest, &module);
        }
        Ok(module)
    }
}

impl std::fmt::Debug for PluginEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginEngine").field("modules", &self.modules.len()).finish_non_exhaustive()
    }
}

/// wasmtime's engines by stack limit.
#[derive(Default)]
pub(super) struct Engines(Mutex<Vec<(u64, Engine)>>);

impl Engines {
    /// The engine for instances with this much stack: wasmtime sets the stack per engine.
    pub fn get(&self, stack: u64) -> std::result::Result<Engine, String> {
        let mut engines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, engine)) = engines.iter().find(|(s, _)| *s == stack) {
            return Ok(engine.clone());
        }
        if engines.len() >= 8 {
            return Err("more than 8 different stack limits in one process".into());
        }
        let engine = new_engine(stack)?;
        engines.push((stack, engine.clone()));
        watch(&engine);
        Ok(engine)
    }
}

fn read_module(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |e: std::io::Error| Error::user(format!("plugin {}: {e}", path.display()));
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Error::user(format!("plugin {}: not a file", path.display())));
    }
    if meta.len() > MAX_MODULE_BYTES {
        let (is, may) = (show_bytes(meta.len()), show_bytes(MAX_MODULE_BYTES));
        return Err(Error::user(format!("plugin {}: {is} long, at most {may} are possible", path.display())));
    }
    std::fs::read(path).map_err(unreadable)
}

/// What is not a core module is named for what it is.
fn check_header(bytes: &[u8]) -> std::result::Result<(), String> {
    match bytes.get(..8) {
        Some(b"\0asm\x01\0\0\0") => Ok(()),
        Some(b"\0asm\x0d\0\x01\0") => {
            Err("is a WebAssembly component; this version runs core modules (ABI.md, carrier A)".into())
        }
        Some(_) if bytes.starts_with(b"\0asm") => Err("has an unknown WebAssembly version".into()),
        _ => Err("is not a WebAssembly module (its first bytes are not \\0asm)".into()),
    }
}

fn new_engine(stack: u64) -> std::result::Result<Engine, String> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false)
        .max_wasm_stack(stack as usize)
        // What other engines may lack has no place in a module that is to run anywhere (ABI.md, "Modules").
        .wasm_features(
            WasmFeatures::SIMD
                | WasmFeatures::RELAXED_SIMD
                | WasmFeatures::THREADS
                | WasmFeatures::MEMORY64
                | WasmFeatures::MULTI_MEMORY
                | WasmFeatures::TAIL_CALL
                | WasmFeatures::EXTENDED_CONST,
            false,
        );
    let mut pool = PoolingAllocationConfig::default();
    pool.total_core_instances(MAX_INSTANCES)
        .total_memories(MAX_INSTANCES)
        .total_tables(MAX_INSTANCES)
        .max_memory_size(MEMORY_MAX as usize)
        .max_core_instance_size(4 << 20)
        .table_elements(MAX_TABLE_ELEMENTS)
        .max_unused_warm_slots(16);
    let mut pooled = config.clone();
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    // The pool reserves address space; where that is limited (ulimit -v), instances are allocated one by one.
    Engine::new(&pooled)
        .or_else(|why| {
            tracing::warn!("no pool of plugin instances ({why:#}); they are allocated one by one");
            Engine::new(&config)
        })
        .map_err(|e| format!("the WebAssembly engine does not start: {e:#}"))
}

static WATCHED: Mutex<Vec<EngineWeak>> = Mutex::new(Vec::new());

/// Adds an engine to those whose epoch advances.
fn watch(engine: &Engine) {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner).push(engine.weak());
}

/// Starts the thread that advances the epoch of all engines, so that running guests look at their CPU time. Called
/// before an instance runs; programs that run no guest have no such thread.
pub(super) fn start_clock() -> std::result::Result<(), String> {
    static STARTED: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    let start = || {
        let tick = || {
            loop {
                std::thread::sleep(TICK);
                let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
                watched.retain(|weak| weak.upgrade().map(|e| e.increment_epoch()).is_some());
            }
        };
        let spawned = std::thread::Builder::new().name("plugin-epoch".into()).spawn(tick);
        spawned.map(drop).map_err(|e| format!("no thread for the clock that limits plugins: {e}"))
    };
    STARTED.get_or_init(start).clone()
}

/// CPU time of the calling thread.
pub(super) fn thread_cpu_time() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the answer; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wasm::testing::honest_bytes;

    #[test]
    fn a_module_is_compiled_once_per_cache_and_once_per_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("honest.wasm");
        std::fs::write(&file, honest_bytes()).unwrap();
        let engine = || PluginEngine::new(Some(CompileCache::open(folder.path()).unwrap()));
        let cached = || std::fs::read_dir(folder.path().join("modules")).unwrap().count();

        let first = engine();
        let (a, b) = (first.load_module(&file).unwrap(), first.load_module(&file).unwrap());
        assert!(Arc::ptr_eq(&a.core, &b.core));
        assert_eq!(cached(), 1);
        engine().load_module(&file).unwrap();
        assert_eq!(cached(), 1);

        // What somebody else's tool left there is never run: the module is compiled again.
        let entry = std::fs::read_dir(folder.path().join("modules")).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&entry, b"rubbish").unwrap();
        engine().load_module(&file).unwrap();
        assert!(std::fs::metadata(&entry).unwrap().len() > 1000);
    }

    #[test]
    fn processes_that_share_a_cache_do_not_disturb_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("honest.wasm");
        std::fs::write(&file, honest_bytes()).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let engine = PluginEngine::new(Some(CompileCache::open(folder.path()).unwrap()));
                    engine.load_module(&file).unwrap();
                });
            }
        });
        assert_eq!(std::fs::read_dir(folder.path().join("modules")).unwrap().count(), 1);
    }
}
