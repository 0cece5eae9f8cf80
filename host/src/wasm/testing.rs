//! Guests for tests, from WebAssembly text.

use super::{Limits, PluginEngine, PluginModule};
use crate::data::RowError;
use crate::error::Result;
use crate::expr::function::{BoundCall, ScalarFunction, ScalarInstance};
use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub(super) fn engine() -> &'static PluginEngine {
    static ENGINE: OnceLock<PluginEngine> = OnceLock::new();
    ENGINE.get_or_init(|| PluginEngine::new(None))
}

pub(super) fn hostile_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../plugins/hostile")
}

/// A module of plugins/hostile, put together as its guest.wat says; `honest` is the one without a misdeed.
pub(super) fn load(name: &str) -> Result<Arc<PluginModule>> {
    load_wat(name, &text_of(&hostile_folder(), name))
}

/// A module of plugins/hostile/decoder.
pub(super) fn load_decoder(name: &str) -> Result<Arc<PluginModule>> {
    load_wat(name, &text_of(&hostile_folder().join("decoder"), name))
}

/// The honest guest as a binary module.
pub(super) fn honest_bytes() -> Vec<u8> {
    wat::parse_str(text_of(&hostile_folder(), "honest")).unwrap()
}

fn text_of(folder: &Path, name: &str) -> String {
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect(file);
    let own = if name == "honest" { String::new() } else { read(name) };
    let own_names: Vec<&str> = own.lines().filter_map(defined_name).collect();
    let defaults: String = read("defaults.wat")
        .split("\n\n")
        .filter(|paragraph| !paragraph.lines().filter_map(defined_name).any(|n| own_names.contains(&n)))
        .map(|paragraph| format!("{paragraph}\n\n"))
        .collect();
    format!("(module\n{own}\n{}\n{defaults})", read("guest.wat"))
}

/// `$row` of `(func $row ..`.
fn defined_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("(func $").or_else(|| line.strip_prefix("(memory $"))?;
    rest.split([' ', ')']).next()
}

pub(super) fn load_wat(name: &str, text: &str) -> Result<Arc<PluginModule>> {
    let bytes = wat::parse_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{}.wasm", name.trim_end_matches(".wat")));
    std::fs::write(&path, bytes).unwrap();
    engine().load_module(&path)
}

/// The message of a refusal, without the folder.
pub(super) fn refusal(name: &str) -> String {
    let message = load(name).err().unwrap_or_else(|| panic!("{name} was not refused")).message;
    message.split_once(".wasm: ").map(|(_, m)| m.to_string()).unwrap_or(message)
}

/// The module's function `f(BIGINT) -> BIGINT`, bound and instantiated.
pub(super) fn instance(module: &PluginModule, limits: Limits) -> Box<dyn ScalarInstance> {
    let function = module.scalar("f", "f", limits, None, vec![]).unwrap();
    function.instantiate(&bound(&*function)).unwrap()
}

pub(super) fn bound(function: &dyn ScalarFunction) -> BoundCall {
    function.bind(&[DataType::Int64]).unwrap()
}

pub(super) fn call(instance: &mut dyn ScalarInstance, values: &[Option<i64>]) -> (ArrayRef, Vec<RowError>) {
    let mut errors = Vec::new();
    let argument: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let result = instance.call(&[argument], values.len(), &mut errors).unwrap();
    (result, errors)
}
