//! Tasks, channels and the control flow of a running job. A task is an OS thread that drives a chain of operators;
//! its I/O runs on a shared tokio runtime, so that a plugin that spins delays no other task.

mod attempt;
pub mod barrier;
pub mod channel;
pub mod checkpoint;
pub mod checkpoints;
pub mod coordinator;
pub mod element;
pub mod gate;
pub mod job;
mod opening;
mod output;
mod restart;
mod spawn;
mod task;
pub mod watermark;
mod wiring;

#[cfg(test)]
mod simulation_tests;
