//! Tests that drive the binary and look at what it does.

mod architecture;
mod bad_input;
mod cli;
mod diagnostics;
mod failures;
mod files;
mod memory;
mod mysql;
mod parallel;
mod plugins;
mod postgres;
mod side_tables;
mod signals;
mod sqlite;
mod stand_ins;
mod surroundings;
