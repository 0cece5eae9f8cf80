//! What a guest may import: our own `log`, and the names of WASI preview 1 for guests whose language's run time wants
//! them. The WASI functions are stubs: no file, no socket, no environment; the clock stands still during a call,
//! random numbers are seeded, standard output is the log.

use super::instance::HostState;
use wasmill_abi::names;
use wasmtime::{Caller, Engine, Extern, ExternType, FuncType, Linker, Module, Val, ValType};

const WASI: &str = "wasi_snapshot_preview1";

/// errno values of WASI preview 1.
mod errno {
    pub const SUCCESS: i32 = 0;
    pub const BADF: i32 = 8;
    pub const FAULT: i32 = 21;
    pub const NOTSUP: i32 = 58;
}

/// Names and parameters (i: i32, I: i64) of WASI preview 1. All but `proc_exit` return an errno.
const WASI_FUNCTIONS: [(&str, &str); 45] = [
    ("args_get", "ii"),
    ("args_sizes_get", "ii"),
    ("clock_res_get", "ii"),
    ("clock_time_get", "iIi"),
    ("environ_get", "ii"),
    ("environ_sizes_get", "ii"),
    ("fd_advise", "iIIi"),
    ("fd_allocate", "iII"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ii"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "iII"),
    ("fd_filestat_get", "ii"),
    ("fd_filestat_set_size", "iI"),
    ("fd_filestat_set_times", "iIIi"),
    ("fd_pread", "iiiIi"),
    ("fd_prestat_dir_name", "iii"),
    ("fd_prestat_get", "ii"),
    ("fd_pwrite", "iiiIi"),
    ("fd_read", "iiii"),
    ("fd_readdir", "iiiIi"),
    ("fd_renumber", "ii"),
    ("fd_seek", "iIii"),
    ("fd_sync", "i"),
    ("fd_tell", "ii"),
    ("fd_write", "iiii"),
    ("path_create_directory", "iii"),
    ("path_filestat_get", "iiiii"),
    ("path_filestat_set_times", "iiiiIIi"),
    ("path_link", "iiiiiii"),
    ("path_open", "iiiiiIIii"),
    ("path_readlink", "iiiiii"),
    ("path_remove_directory", "iii"),
    ("path_rename", "iiiiii"),
    ("path_symlink", "iiiii"),
    ("path_unlink_file", "iii"),
    ("poll_oneoff", "iiii"),
    ("proc_exit", "i"),
    ("proc_raise", "i"),
    ("random_get", "ii"),
    ("sched_yield", ""),
    ("sock_accept", "iii"),
    ("sock_recv", "iiiiii"),
    ("sock_send", "iiiii"),
];
const SOCK_SHUTDOWN: (&str, &str) = ("sock_shutdown", "ii");

fn wasi_functions() -> impl Iterator<Item = (&'static str, &'static str)> {
    WASI_FUNCTIONS.into_iter().chain([SOCK_SHUTDOWN])
}

fn value_types(letters: &str) -> Vec<ValType> {
    letters.chars().map(|c| if c == 'I' { ValType::I64 } else { ValType::I32 }).collect()
}

fn wasi_type(engine: &Engine, name: &str, letters: &str) -> FuncType {
    let results = if name == "proc_exit" { vec![] } else { vec![ValType::I32] };
    FuncType::new(engine, value_types(letters), results)
}

fn log_type(engine: &Engine) -> FuncType {
    FuncType::new(engine, value_types("iii"), [])
}

/// `(i32, i32) -> i32`
pub(super) fn show_type(ty: &FuncType) -> String {
    let list = |types: &mut dyn Iterator<Item = ValType>| types.map(|t| t.to_string()).collect::<Vec<_>>().join(", ");
    let (params, results) = (list(&mut ty.params()), list(&mut ty.results()));
    if results.is_empty() { format!("({params})") } else { format!("({params}) -> {results}") }
}

pub(super) fn same_type(a: &FuncType, b: &FuncType) -> bool {
    show_type(a) == show_type(b)
}

/// Every import is one that we offer, with its type; the error names the offender.
pub(super) fn check(module: &Module) -> Result<(), String> {
    module.imports().try_for_each(|import| {
        let (from, name) = (import.module(), import.name());
        let offered = match from {
            names::HOST if name == names::LOG => log_type(module.engine()),
            names::HOST if names::RESERVED_IMPORTS.contains(&name) => {
                return Err(format!("import {from}.{name}: the name is reserved, this version does not offer it yet"));
            }
            WASI => match wasi_functions().find(|(n, _)| *n == name) {
                Some((n, letters)) => wasi_type(module.engine(), n, letters),
                None => return Err(format!("import {from}.{name}: WASI preview 1 has no such function")),
            },
            _ => return Err(format!("import {from}.{name}: no such import is offered to plugins")),
        };
        match import.ty() {
            ExternType::Func(ty) if same_type(&ty, &offered) => Ok(()),
            ExternType::Func(ty) => {
                let (is, must) = (show_type(&ty), show_type(&offered));
                Err(format!("import {from}.{name}: its type is {is}, must be {must}"))
            }
            other => Err(format!("import {from}.{name}: is {}, must be a function", kind_of(&other))),
        }
    })
}

pub(super) fn kind_of(ty: &ExternType) -> &'static str {
    match ty {
        ExternType::Func(_) => "a function",
        ExternType::Global(_) => "a global",
        ExternType::Table(_) => "a table",
        ExternType::Memory(_) => "a memory",
        ExternType::Tag(_) => "a tag",
    }
}

/// Everything that [`check`] lets through.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine);
    linker.func_new(names::HOST, names::LOG, log_type(engine), |mut caller, args, _| {
        let (level, place) = (args[0].unwrap_i32(), (args[1].unwrap_i32(), args[2].unwrap_i32()));
        let text = read(&mut caller, place).map(|b| String::from_utf8_lossy(b).into_owned());
        caller.data_mut().log(level, text.as_deref().unwrap_or("(a log text outside of the memory)"));
        Ok(())
    })?;
    for (name, letters) in wasi_functions() {
        linker.func_new(WASI, name, wasi_type(engine, name, letters), move |mut caller, args, results| {
            let answer = wasi(&mut caller, name, args)?;
            if let Some(result) = results.first_mut() {
                *result = Val::I32(answer);
            }
            Ok(())
        })?;
    }
    Ok(linker)
}

fn wasi(caller: &mut Caller<'_, HostState>, name: &str, args: &[Val]) -> wasmtime::Result<i32> {
    let arg = |i: usize| args.get(i).map_or(0, |v| v.i32().unwrap_or(0));
    let done = |written: Option<()>| written.map_or(errno::FAULT, |()| errno::SUCCESS);
    Ok(match name {
        "args_get" | "environ_get" | "sched_yield" => errno::SUCCESS,
        "args_sizes_get" | "environ_sizes_get" => {
            done(write(caller, arg(0), &[0; 4]).and_then(|()| write(caller, arg(1), &[0; 4])))
        }
        "clock_res_get" => done(write(caller, arg(1), &1_000_000u64.to_le_bytes())),
        "clock_time_get" => {
            let now = caller.data().call_time_nanos;
            done(write(caller, arg(2), &now.to_le_bytes()))
        }
        "random_get" => done(random(caller, arg(0), arg(1))),
        "fd_write" => fd_write(caller, arg(0), arg(1), arg(2), arg(3)),
        "fd_fdstat_get" if (1..=2).contains(&arg(0)) => {
            let mut stat = [0u8; 24];
            stat[0] = 2; // a character device, so that nobody buffers or seeks
            done(write(caller, arg(1), &stat))
        }
        "poll_oneoff" | "proc_raise" => errno::NOTSUP,
        "proc_exit" => return Err(wasmtime::Error::msg(format!("the plugin called proc_exit({})", arg(0)))),
        // Everything else needs a file or a socket, and there is none.
        _ => errno::BADF,
    })
}

fn memory<'a>(caller: &'a mut Caller<'_, HostState>) -> Option<(&'a mut [u8], &'a mut HostState)> {
    match caller.get_export(names::MEMORY) {
        Some(Extern::Memory(memory)) => Some(memory.data_and_store_mut(caller)),
        _ => None,
    }
}

fn range(start: i32, len: i32) -> Option<std::ops::Range<usize>> {
    let start = start as u32 as usize;
    Some(start..start.checked_add(len as u32 as usize)?)
}

fn read<'a>(caller: &'a mut Caller<'_, HostState>, (start, len): (i32, i32)) -> Option<&'a [u8]> {
    memory(caller)?.0.get(range(start, len)?)
}

fn write(caller: &mut Caller<'_, HostState>, start: i32, bytes: &[u8]) -> Option<()> {
    memory(caller)?.0.get_mut(range(start, bytes.len() as i32)?)?.copy_from_slice(bytes);
    Some(())
}

fn random(caller: &mut Caller<'_, HostState>, start: i32, len: i32) -> Option<()> {
    let (memory, state) = memory(caller)?;
    memory.get_mut(range(start, len)?)?.chunks_mut(8).for_each(|chunk| {
        let word = state.next_random().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    });
    Some(())
}

/// Gathers the pieces that standard output and error are written in and logs them.
fn fd_write(caller: &mut Caller<'_, HostState>, fd: i32, pieces: i32, count: i32, written: i32) -> i32 {
    if !(1..=2).contains(&fd) {
        return errno::BADF;
    }
    let gather = |caller: &mut Caller<'_, HostState>| {
        let word = |b: &[u8]| b.try_into().ok().map(i32::from_le_bytes);
        let table = read(caller, (pieces, count.checked_mul(8)?))?.to_vec();
        let mut text = Vec::new();
        let mut total = 0u32;
        for entry in table.chunks_exact(8) {
            let bytes = read(caller, (word(&entry[..4])?, word(&entry[4..])?))?;
            total = total.checked_add(bytes.len() as u32)?;
            let room = HostState::LOG_LINE_MAX.saturating_sub(text.len());
            text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        write(caller, written, &total.to_le_bytes())?;
        caller.data_mut().log(if fd == 2 { 3 } else { 2 }, &String::from_utf8_lossy(&text));
        Some(())
    };
    gather(caller).map_or(errno::FAULT, |()| errno::SUCCESS)
}
