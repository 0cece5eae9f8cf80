//! The plugin engine: compiles, checks, limits and runs guests of the ABI in guest-sdk/abi/ABI.md (carrier A, core
//! modules). Only this module names wasmtime.
//!
//! The way in: [`PluginEngine::shared`] -> `load_module` -> [`PluginModule::scalar`], [`PluginModule::formatter`] or
//! [`PluginModule::decoder`].

mod cache;
mod columns;
mod decoder;
mod engine;
mod formatter;
mod imports;
mod inspect;
mod instance;
mod limits;
mod manifest;
mod module;
mod plugins_toml;
mod rows;
mod scaffold;
mod scalar;
mod types;

pub use decoder::DecoderPlugin;
pub use engine::PluginEngine;
pub use formatter::FormatterPlugin;
pub use inspect::inspect;
pub use limits::{LIMIT_OPTIONS, Limits, PluginConfig};
pub use module::PluginModule;
pub use plugins_toml::{PluginEntry, PluginsToml};
pub use scaffold::{Scaffold, ScaffoldKind, scaffold};

#[cfg(test)]
mod decoder_tests;
#[cfg(test)]
mod guest_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod testing;
