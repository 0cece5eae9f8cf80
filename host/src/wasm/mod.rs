//! The plugin engine. Only this module names wasmtime.
