//! One running instance of a plugin: calls with their limits, and the checks of everything that comes back.

use super::engine::{MAX_TABLE_ELEMENTS, start_clock, thread_cpu_time};
use super::limits::{Limits, show_bytes};
use super::module::ModuleCore;
use std::time::{Duration, Instant, SystemTime};
use wasmill_abi::{PROCESS_HEADER, RESPONSE_HEADER, Status, VERSION, VERSION_MARKER, names, write_bundle};
use wasmtime::{Instance, Memory, ResourceLimiter, Store, Trap, TypedFunc, UpdateDeadline};

/// Starting a language's run time may take longer than a call may.
const START_CPU_MIN: Duration = Duration::from_secs(2);
/// Longer texts of a guest are cut.
const TEXT_MAX: usize = 4096;

/// What the host keeps for one store.
pub(super) struct HostState {
    limits: Limits,
    memory_refused: bool,
    budget: Budget,
    log: LogBudget,
    random: u64,
    /// Wall clock at the start of the call; it stands still during the call.
    pub call_time_nanos: u64,
    plugin: std::sync::Arc<str>,
}

/// CPU time of the call in progress.
#[derive(Default)]
struct Budget {
    limit: Duration,
    /// The thread's CPU time at the first tick of the call: reading that clock at every call would cost more than
    /// a tick of tolerance is worth.
    started: Option<Duration>,
    exceeded: bool,
}

struct LogBudget {
    second: Instant,
    lines: u32,
}

impl HostState {
    /// A longer line of a plugin's log is cut.
    pub const LOG_LINE_MAX: usize = 4096;
    const LOG_LINES_PER_SECOND: u32 = 100;

    /// One line to the log: level 0 error, 1 warning, 2 info, 3 debug. Limited, so that a plugin cannot flood it.
    pub fn log(&mut self, level: i32, text: &str) {
        if self.log.second.elapsed() >= Duration::from_secs(1) {
            self.log = LogBudget { second: Instant::now(), lines: 0 };
        }
        self.log.lines += 1;
        if self.log.lines > Self::LOG_LINES_PER_SECOND {
            if self.log.lines == Self::LOG_LINES_PER_SECOND + 1 {
                tracing::warn!(target: "wasmill::plugin", plugin = &*self.plugin, "more log lines in this second are dropped");
            }
            return;
        }
        let text = cut(text, Self::LOG_LINE_MAX);
        let text = text.trim_end();
        let plugin = &*self.plugin;
        match level {
            0 => tracing::error!(target: "wasmill::plugin", plugin, "{text}"),
            1 => tracing::warn!(target: "wasmill::plugin", plugin, "{text}"),
            2 => tracing::info!(target: "wasmill::plugin", plugin, "{text}"),
            _ => tracing::debug!(target: "wasmill::plugin", plugin, "{text}"),
        }
    }

    /// SplitMix64 from a fixed seed: the same run gives the same numbers.
    pub fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// At each tick of the epoch: goes on while the call has CPU time left.
    fn tick(&mut self) -> UpdateDeadline {
        let now = thread_cpu_time();
        let started = *self.budget.started.get_or_insert(now);
        if now.saturating_sub(started) < self.budget.limit {
            return UpdateDeadline::Continue(1);
        }
        self.budget.exceeded = true;
        UpdateDeadline::Interrupt
    }
}

impl ResourceLimiter for HostState {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired as u64 <= self.limits.memory;
        self.memory_refused |= !fits;
        Ok(fits)
    }
    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ELEMENTS)
    }
}

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// The guest trapped or ran out of a limit; the instance is unusable.
    Trap(String),
    /// The guest answered with something that is no answer; the instance is not used again.
    Answer(String),
    /// The request cannot be expressed (a row too large, say); the instance is as before.
    Request(String),
    /// The guest refused the whole call, in its words; the instance is as before.
    Refused(String),
}

impl Fault {
    pub fn message(&self) -> &str {
        match self {
            Fault::Trap(m) | Fault::Answer(m) | Fault::Request(m) | Fault::Refused(m) => m,
        }
    }
    pub fn breaks_instance(&self) -> bool {
        matches!(self, Fault::Trap(_) | Fault::Answer(_))
    }
}

type CallFunc = TypedFunc<(u32, u32), u32>;

/// A call's function and the function that frees its answer.
struct Call {
    name: &'static str,
    func: CallFunc,
    post: Option<TypedFunc<u32, ()>>,
}

/// A store with one instance in it.
pub(super) struct PluginInstance {
    store: Store<HostState>,
    instance: Instance,
    memory: Memory,
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    process: Option<Call>,
    limits: Limits,
}

impl PluginInstance {
    /// Instantiates, initialises and checks the version marker. The error is for the user and names no file.
    pub fn start(core: &ModuleCore, limits: Limits) -> Result<PluginInstance, String> {
        start_clock()?;
        let pre = core.instance_pre(limits.stack)?;
        let state = HostState {
            limits,
            memory_refused: false,
            budget: Budget::default(),
            log: LogBudget { second: Instant::now(), lines: 0 },
            random: 0,
            call_time_nanos: 0,
            plugin: core.display_name(),
        };
        let mut store = Store::new(pre.module().engine(), state);
        store.limiter(|state| state);
        store.epoch_deadline_callback(|mut context| Ok(context.data_mut().tick()));
        begin_call(&mut store, limits.cpu.max(START_CPU_MIN));
        let instance = pre.instantiate(&mut store).map_err(|e| {
            let refused = store.data().memory_refused;
            match e.downcast_ref::<Trap>() {
                Some(_) => format!("its start function failed: {}", trap_text(&e, &mut store, None)),
                None if refused => {
                    format!("needs more memory than its limit of {} to start", show_bytes(limits.memory))
                }
                None => format!("cannot be instantiated: {e:#}"),
            }
        })?;
        let memory = instance.get_memory(&mut store, names::MEMORY).ok_or("export memory: is missing")?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut store, names::INITIALIZE) {
            initialize
                .call(&mut store, ())
                .map_err(|e| format!("_initialize failed: {}", trap_text(&e, &mut store, Some(&instance))))?;
        }
        let realloc = typed(&instance, &mut store, names::REALLOC)?;
        let process = Some(call(&instance, &mut store, names::PROCESS)?);
        let mut started = PluginInstance { store, instance, memory, realloc, process, limits };
        started.check_version()?;
        Ok(started)
    }

    fn check_version(&mut self) -> Result<(), String> {
        let marker: TypedFunc<(), u32> = typed(&self.instance, &mut self.store, names::MARKER)?;
        let found = marker.call(&mut self.store, ()).map_err(|e| {
            format!("{} failed: {}", names::MARKER, trap_text(&e, &mut self.store, Some(&self.instance)))
        })?;
        if found == VERSION_MARKER {
            return Ok(());
        }
        let (major, minor) = VERSION;
        Err(format!(
            "was made for plugin ABI {}.{}, this host runs {major}.{minor}; build it with an SDK of that version",
            found >> 16,
            found & 0xffff
        ))
    }

    /// The answer of `wmdescribe`.
    pub fn describe(&mut self) -> Result<Vec<u8>, String> {
        self.plain_call(names::DESCRIBE, &[]).map_err(|f| format!("{}: {}", names::DESCRIBE, f.message()))
    }

    /// The answer of `wmbind`: bundle of argument schema and result schema.
    pub fn bind(&mut self, parts: &[&[u8]]) -> Result<Vec<u8>, String> {
        let request = write_bundle(parts).map_err(|e| e.to_string())?;
        self.plain_call(names::BIND, &request).map_err(|f| f.message().to_string())
    }

    /// Opens a function; gives its handle. Parts: name, configuration, result schema, input schemas.
    pub fn open(&mut self, parts: &[&[u8]]) -> Result<u32, String> {
        let request = write_bundle(parts).map_err(|e| e.to_string())?;
        let answer = self.plain_call(names::OPEN, &request).map_err(|f| f.message().to_string())?;
        match <[u8; 4]>::try_from(&answer[..]) {
            Ok(word) => Ok(u32::from_le_bytes(word)),
            Err(_) => Err(format!("{}: answered {} bytes instead of a handle of 4", names::OPEN, answer.len())),
        }
    }

    fn plain_call(&mut self, name: &'static str, request: &[u8]) -> Result<Vec<u8>, Fault> {
        let call = call(&self.instance, &mut self.store, name).map_err(Fault::Answer)?;
        begin_call(&mut self.store, self.limits.cpu.max(START_CPU_MIN));
        let fill = |place: &mut [u8]| {
            place.copy_from_slice(request);
            Ok(())
        };
        self.run(&call, request.len(), fill, |payload| Ok(payload.to_vec()))
    }

    /// One `wmprocess`: `fill` writes the frame of `frame_len` bytes straight into the guest's memory, `read` takes
    /// the answer's payload out of it. `cpu` is what this call may use.
    pub fn process<R>(
        &mut self,
        handle: u32,
        frame_len: usize,
        cpu: Duration,
        fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
        read: impl FnOnce(&[u8]) -> Result<R, String>,
    ) -> Result<R, Fault> {
        begin_call(&mut self.store, cpu);
        let fill = |place: &mut [u8]| {
            let (head, frame) = place.split_at_mut(PROCESS_HEADER);
            head[..4].copy_from_slice(&handle.to_le_bytes());
            head[4..].fill(0);
            fill(frame)
        };
        // Taken out for the time of the call: cloning the functions would cost as much as calling one.
        let Some(call) = self.process.take() else {
            return Err(Fault::Answer(format!("{}: called from within itself", names::PROCESS)));
        };
        let result = self.run(&call, PROCESS_HEADER + frame_len, fill, read);
        self.process = Some(call);
        result
    }

    fn run<R>(
        &mut self,
        call: &Call,
        request_len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), String>,
        read: impl FnOnce(&[u8]) -> Result<R, String>,
    ) -> Result<R, Fault> {
        let request = self.allocate(request_len)?;
        let Some(place) = slice(self.memory.data_mut(&mut self.store), request, request_len) else {
            return Err(self.bad_pointer(names::REALLOC, request, request_len));
        };
        fill(place).map_err(Fault::Request)?;
        let answer = call.func.call(&mut self.store, (request, request_len as u32)).map_err(|e| self.trap(&e))?;
        let result = self.answer(call.name, answer).and_then(|(start, len)| {
            let response = &self.memory.data(&self.store)[start..start + len];
            match status(response)? {
                Status::Ok => read(&response[RESPONSE_HEADER..]).map_err(Fault::Answer),
                other => Err(Fault::Refused(refusal(call.name, other, &response[RESPONSE_HEADER..]))),
            }
        });
        if let Some(post) = &call.post
            && !matches!(result, Err(Fault::Answer(_)))
        {
            post.call(&mut self.store, answer).map_err(|e| self.trap(&e))?;
        }
        result
    }

    fn allocate(&mut self, len: usize) -> Result<u32, Fault> {
        if len as u64 > self.limits.memory {
            return Err(Fault::Request(format!(
                "{len} bytes for one call are more than the memory limit of {}",
                show_bytes(self.limits.memory)
            )));
        }
        self.realloc.call(&mut self.store, (0, 0, 8, len as u32)).map_err(|e| self.trap(&e))
    }

    /// Where the answer lies: the pair at `at`, checked against the memory and the output limit.
    fn answer(&self, name: &str, at: u32) -> Result<(usize, usize), Fault> {
        let memory = self.memory.data(&self.store);
        let word = |at: usize| memory.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        let (Some(start), Some(len)) = (word(at as usize), word(at as usize + 4)) else {
            return Err(self.bad_pointer(name, at, 8));
        };
        let (start, len) = (start as usize, len as usize);
        if len as u64 > self.limits.output {
            return Err(Fault::Answer(format!(
                "{name}: an answer of {len} bytes is over the output limit of {}",
                show_bytes(self.limits.output)
            )));
        }
        if len < RESPONSE_HEADER {
            return Err(Fault::Answer(format!("{name}: an answer of {len} bytes has no status word")));
        }
        match start.checked_add(len) {
            Some(end) if end <= memory.len() => Ok((start, len)),
            _ => Err(self.bad_pointer(name, start as u32, len)),
        }
    }

    fn bad_pointer(&self, name: &str, start: u32, len: usize) -> Fault {
        let size = self.memory.data_size(&self.store);
        Fault::Answer(format!("{name}: {len} bytes at {start} lie outside of its memory of {size} bytes"))
    }

    fn trap(&mut self, e: &wasmtime::Error) -> Fault {
        Fault::Trap(trap_text(e, &mut self.store, Some(&self.instance)))
    }
}

fn begin_call(store: &mut Store<HostState>, cpu: Duration) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let state = store.data_mut();
    state.call_time_nanos = now.as_nanos() as u64;
    state.memory_refused = false;
    state.budget = Budget { limit: cpu, started: None, exceeded: false };
    store.set_epoch_deadline(1);
}

fn typed<P: wasmtime::WasmParams, R: wasmtime::WasmResults>(
    instance: &Instance,
    store: &mut Store<HostState>,
    name: &str,
) -> Result<TypedFunc<P, R>, String> {
    instance.get_typed_func(store, name).map_err(|e| format!("export {name}: {e:#}"))
}

fn call(instance: &Instance, store: &mut Store<HostState>, name: &'static str) -> Result<Call, String> {
    let func = typed(instance, store, name)?;
    let post = instance.get_typed_func(&mut *store, &format!("cabi_post_{name}")).ok();
    Ok(Call { name, func, post })
}

fn slice(memory: &mut [u8], start: u32, len: usize) -> Option<&mut [u8]> {
    let start = start as usize;
    memory.get_mut(start..start.checked_add(len)?)
}

fn status(response: &[u8]) -> Result<Status, Fault> {
    let word = response.get(..4).and_then(|b| b.try_into().ok()).map_or(u32::MAX, u32::from_le_bytes);
    Status::from_word(word).ok_or_else(|| Fault::Answer(format!("an answer with the unknown status {word}")))
}

fn refusal(name: &str, status: Status, text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = cut(&text, TEXT_MAX);
    match (status, text.trim()) {
        (Status::Refused, "") => format!("{name}: refused without a reason"),
        (Status::Refused, text) => text.to_string(),
        (other, text) => format!("{name}: {other:?}: {text}"),
    }
}

/// At most `max` bytes, at the boundary of a character.
pub(super) fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let end = (0..=max).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    &text[..end]
}

/// A trap in words, with the guest's own panic text where it left one.
fn trap_text(e: &wasmtime::Error, store: &mut Store<HostState>, instance: Option<&Instance>) -> String {
    let limits = store.data().limits;
    let mut text = match e.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) if store.data().budget.exceeded => {
            format!("used more than {:?} of CPU time", store.data().budget.limit)
        }
        Some(Trap::StackOverflow) => format!("call stack exhausted ({})", show_bytes(limits.stack)),
        Some(trap) => trap.to_string().trim_start_matches("wasm trap: ").trim_start_matches("wasm ").to_string(),
        None => cut(&e.root_cause().to_string(), TEXT_MAX).to_string(),
    };
    if store.data().memory_refused {
        text.push_str(&format!(", after memory over its limit of {} was refused", show_bytes(limits.memory)));
    }
    if let Some(panic) = instance.and_then(|i| panic_text(i, store)) {
        text = format!("{panic} ({text})");
    }
    text
}

/// The text at the exported global `wmpanic`. The instance is never run again, but its memory can be read.
fn panic_text(instance: &Instance, store: &mut Store<HostState>) -> Option<String> {
    let at = instance.get_global(&mut *store, names::PANIC)?.get(&mut *store).i32()? as u32 as usize;
    let memory = instance.get_memory(&mut *store, names::MEMORY)?.data(&*store);
    let word = |at: usize| Some(u32::from_le_bytes(memory.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize);
    let (start, len) = (word(at)?, word(at + 4)?);
    let bytes = memory.get(start..start.checked_add(len.min(TEXT_MAX))?)?;
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
