//! Tests that drive the binary and look at what it does.

mod architecture;
mod bad_input;
mod chaos;
mod checkpoints;
mod cli;
mod diagnostics;
mod failures;
mod files;
mod formats;
mod kafka_outage;
mod kafka_read;
mod kafka_security;
mod kafka_support;
mod kafka_write;
mod memory;
mod mysql;
mod parallel;
mod plugins;
mod postgres;
mod restart;
mod seeds;
mod side_tables;
mod signals;
mod sqlite;
mod stand_ins;
mod surroundings;
