//! A checkpoint: where every source stands and what every sink needs to go on from there. In memory, as a manifest, in a
//! folder.

mod manifest;
mod store;

pub use manifest::Provenance;
pub use store::{CheckpointStore, Resume};

use crate::connectors::api::SourceSplit;
use crate::data::Epoch;
use crate::operators::OperatorSnapshot;

/// What a checkpoint holds of one operator, over all its subtasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorState {
    pub name: String,
    /// Sources: what the subtasks had not read to the end, with positions.
    pub splits: Vec<SourceSplit>,
    /// Sources: what no subtask had taken.
    pub unassigned: Vec<SourceSplit>,
    /// Sinks: what the writers gave.
    pub states: Vec<serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    pub epoch: Epoch,
    /// All operators of the job, in its order.
    pub operators: Vec<OperatorState>,
}

impl Checkpoint {
    /// From what the tasks gave. `operators`: all names, in order.
    pub fn assemble<'a>(
        epoch: Epoch,
        operators: impl Iterator<Item = &'a str>,
        parts: Vec<Vec<OperatorSnapshot>>,
    ) -> Self {
        let mut operators: Vec<OperatorState> =
            operators.map(|name| OperatorState { name: name.to_string(), ..OperatorState::default() }).collect();
        for snapshot in parts.into_iter().flatten() {
            if let Some(o) = operators.iter_mut().find(|o| o.name == snapshot.operator) {
                o.splits.extend(snapshot.splits);
                o.states.extend(snapshot.state);
            }
        }
        Self { epoch, operators }
    }

    pub fn operator(&self, name: &str) -> Option<&OperatorState> {
        self.operators.iter().find(|o| o.name == name)
    }
}

impl OperatorState {
    /// Whether something would be lost without it.
    pub fn is_empty(&self) -> bool {
        self.splits.is_empty() && self.unassigned.is_empty() && self.states.is_empty()
    }
}
