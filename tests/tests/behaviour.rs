//! Tests that drive the binary and look at what it does.

mod architecture;
mod bad_input;
mod checkpoints;
mod cli;
mod diagnostics;
mod failures;
mod files;
mod memory;
mod parallel;
mod plugins;
mod restart;
mod side_tables;
mod signals;
mod sqlite;
mod stand_ins;
mod surroundings;
