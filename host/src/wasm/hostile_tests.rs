//! Every module of plugins/hostile: its exact message, and that the rows beside it and a fresh instance go on.

use super::Limits;
use super::testing::*;
use crate::data::Reason;
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Modules that break at the value 13, and what the row's error says.
const BROKEN_ROWS: [(&str, &str); 18] = [
    ("spin.wat", "used more than 20ms of CPU time"),
    ("memory-bomb.wat", "`unreachable` instruction executed, after memory over its limit of 4 MiB was refused"),
    ("recursion.wat", "call stack exhausted (512 KiB)"),
    ("unreachable.wat", "`unreachable` instruction executed"),
    ("bad-load.wat", "out of bounds memory access"),
    ("divide-by-zero.wat", "integer divide by zero"),
    ("answer-outside.wat", "wmprocess: 1000 bytes at 131000 lie outside of its memory of 131072 bytes"),
    ("answer-nowhere.wat", "wmprocess: 8 bytes at 4294967292 lie outside of its memory of 131072 bytes"),
    ("answer-huge.wat", "wmprocess: an answer of 2147483647 bytes is over the output limit of 64 MiB"),
    ("answer-short.wat", "wmprocess: an answer of 4 bytes has no status word"),
    ("answer-status.wat", "an answer with the unknown status 77"),
    ("lying-rows.wat", "frame: 2 rows in answer to 1"),
    ("lying-buffer.wat", "column result (BIGINT): data: 8 bytes at 2147483640 lie outside of the 88 bytes given"),
    ("lying-type.wat", "column result (BIGINT): its node has type code 10 and 0 children"),
    ("lying-schema.wat", "frame: schema fingerprint 0000000000000001, 7acd57358f7ab6cc was opened"),
    ("wasi-exit.wat", "the plugin called proc_exit(0)"),
    ("log-flood.wat", ""),
    ("honest", ""),
];

/// Modules that are refused when they are loaded, and why.
const REFUSED: [(&str, &str); 9] = [
    ("wrong-version.wat", "was made for plugin ABI 9.1, this host runs 0.1; build it with an SDK of that version"),
    ("unknown-import.wat", "import env.system: no such import is offered to plugins"),
    (
        "reserved-import.wat",
        "import wasmill:plugin/host@0.1.0.http: the name is reserved, this version does not offer it yet",
    ),
    ("import-type.wat", "import wasmill:plugin/host@0.1.0.log: its type is (i64), must be (i32, i32, i32)"),
    ("big-memory.wat", "needs more memory than its limit of 64 MiB to start"),
    ("start-trap.wat", "its start function failed: `unreachable` instruction executed"),
    ("wrong-call-type.wat", "export wmbind: its type is (i64) -> i32, must be (i32, i32) -> i32"),
    ("simd.wat", "is not a module we can run: SIMD support is not enabled (at offset 0xb)"),
    ("open-trap.wat", ""),
];

/// Modules whose WASI calls our stubs answer: what a row becomes.
const STUBBED: [(&str, i64); 3] = [("wasi-file.wat", 808), ("wasi-socket.wat", 808), ("wasi-environment.wat", 0)];

fn limits() -> Limits {
    Limits { cpu: Duration::from_millis(20), memory: 4 << 20, ..Limits::default() }
}

#[test]
fn every_hostile_module_has_a_test() {
    let files: BTreeSet<String> = std::fs::read_dir(hostile_folder())
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".wat") && n != "guest.wat" && n != "defaults.wat")
        .collect();
    let tested = BROKEN_ROWS.iter().map(|t| t.0).chain(REFUSED.iter().map(|t| t.0)).chain(STUBBED.iter().map(|t| t.0));
    let tested: BTreeSet<String> = tested.filter(|n| *n != "honest").map(String::from).collect();
    assert_eq!(files, tested);
}

#[test]
fn a_broken_row_is_refused_and_all_others_go_on() {
    // 1,500 rows: two calls, the bad rows in both.
    let values: Vec<Option<i64>> = (0..1500)
        .map(|i| match i {
            700 | 1400 => Some(13),
            _ if i % 7 == 0 => None,
            _ => Some(i + 1000),
        })
        .collect();
    for (name, message) in BROKEN_ROWS {
        let module = load(name).unwrap();
        let mut instance = instance(&module, limits());
        let (result, errors) = call(&mut *instance, &values);
        let result = result.as_primitive::<Int64Type>();
        let bad: &[u32] = if message.is_empty() { &[] } else { &[700, 1400] };
        assert_eq!(errors.iter().map(|e| e.row).collect::<Vec<_>>(), bad, "{name}");
        for error in &errors {
            assert_eq!((error.message.as_str(), error.reason), (message, Reason::PluginTrap), "{name}");
            assert_eq!(error.function.as_deref(), Some("f"), "{name}");
        }
        for (row, value) in values.iter().enumerate() {
            let expected = if bad.contains(&(row as u32)) { None } else { *value };
            let found = result.is_valid(row).then(|| result.value(row));
            assert_eq!(found, expected, "{name} row {row}");
        }
        // the same runner, the next batch
        let (next, errors) = call(&mut *instance, &[Some(1), Some(2)]);
        assert_eq!((next.len(), next.null_count(), errors.len()), (2, 0, 0), "{name}");
    }
}

#[test]
fn refused_modules_name_the_offender() {
    for (name, why) in REFUSED.into_iter().filter(|(_, why)| !why.is_empty()) {
        let message = refusal(name);
        assert_eq!(message, why, "{name}");
    }
}

#[test]
fn a_function_that_cannot_be_opened_is_refused_when_it_is_bound() {
    let module = load("open-trap.wat").unwrap();
    let function = module.scalar("f", "f", limits(), None, vec![]).unwrap();
    let error = function.bind(&[arrow::datatypes::DataType::Int64]).unwrap_err();
    assert_eq!(error, "f: `unreachable` instruction executed");
}

#[test]
fn wasi_is_a_stub_without_files_sockets_and_environment() {
    for (name, expected) in STUBBED {
        let module = load(name).unwrap();
        let mut instance = instance(&module, limits());
        let (result, errors) = call(&mut *instance, &[Some(1), Some(2)]);
        assert_eq!(errors, [], "{name}");
        assert_eq!(result.as_primitive::<Int64Type>().values()[..], [expected, expected], "{name}");
    }
}

#[test]
fn a_spinning_guest_delays_no_other_thread() {
    let module = load("spin.wat").unwrap();
    let limits = Limits { cpu: Duration::from_millis(200), ..limits() };
    let spinner = {
        let mut instance = instance(&module, limits);
        std::thread::spawn(move || call(&mut *instance, &[Some(13)]).1)
    };
    let mut other = instance(&module, limits);
    let started = Instant::now();
    let mut calls = 0;
    while started.elapsed() < Duration::from_millis(100) {
        assert_eq!(call(&mut *other, &[Some(1)]).1, []);
        calls += 1;
    }
    assert!(calls > 100, "{calls} calls beside a spinning guest");
    assert_eq!(spinner.join().unwrap()[0].message, "used more than 200ms of CPU time");
}

#[test]
fn a_memory_that_does_not_fit_the_functions_limit_is_refused() {
    let module = load("honest").unwrap();
    let error = module.scalar("f", "f", Limits { memory: 64 << 10, ..limits() }, None, vec![]).unwrap_err();
    assert!(error.message.ends_with("needs 128 KiB of memory to start, its limit is 64 KiB"), "{error}");
}

#[test]
fn another_stack_limit_is_kept() {
    let module = load("recursion.wat").unwrap();
    let mut instance = instance(&module, Limits { stack: 128 << 10, ..limits() });
    assert_eq!(call(&mut *instance, &[Some(13)]).1[0].message, "call stack exhausted (128 KiB)");
}

#[test]
fn files_that_are_no_plugins_are_named_for_what_they_are() {
    let refused = |text: &str| load_wat("x.wat", text).unwrap_err().message;
    let folder = tempfile::tempdir().unwrap();
    let refused_bytes = |bytes: &[u8]| {
        let path = folder.path().join("x.wasm");
        std::fs::write(&path, bytes).unwrap();
        engine().load_module(&path).unwrap_err().message
    };
    assert!(refused("(module)").ends_with("export memory: is missing; a plugin exports its memory"));
    assert!(
        refused(r#"(module (memory (export "memory") 1))"#)
            .ends_with("export wmabi: is missing, so it is not a Wasmill plugin")
    );
    assert!(refused_bytes(b"PK\x03\x04").ends_with("is not a WebAssembly module (its first bytes are not \\0asm)"));
    assert!(refused_bytes(b"").ends_with("is not a WebAssembly module (its first bytes are not \\0asm)"));
    assert!(refused_bytes(b"\0asm\x0d\0\x01\0").contains("is a WebAssembly component"));
    assert!(refused_bytes(b"\0asm\x01\0\0\0\xff").contains("is not a module we can run"));
    let missing = engine().load_module(std::path::Path::new("/nowhere/x.wasm")).unwrap_err();
    assert!(missing.message.starts_with("plugin /nowhere/x.wasm: "), "{missing}");
}
