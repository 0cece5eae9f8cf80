//! A checkpoint: where every source stands and what every sink needs to go on from there. In memory, as a manifest, in a
//! folder.

mod manifest;
mod store;

pub use manifest::Provenance;
pub use store::{CheckpointStore, Resume};

use crate::connectors::api::SourceSplit;
use crate::data::Epoch;
use crate::operators::OperatorSnapshot;
use crate::plan::graph::{OperatorKind, OperatorNode};

/// What a checkpoint holds of one operator, over all its subtasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OperatorState {
    pub name: String,
    /// What reads or writes the table: a connector, or a stand-in. Empty for operators without a table.
    pub access: String,
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
    /// From what the tasks gave. `operators`: all of the job, in order.
    pub fn assemble<'a>(
        epoch: Epoch,
        operators: impl Iterator<Item = &'a OperatorNode>,
        parts: Vec<Vec<OperatorSnapshot>>,
    ) -> Self {
        let empty =
            |o: &OperatorNode| OperatorState { name: o.name.clone(), access: access_of(o), ..Default::default() };
        let mut operators: Vec<OperatorState> = operators.map(empty).collect();
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

/// `kafka`, `stand-in`: whose splits and states these are.
pub fn access_of(operator: &OperatorNode) -> String {
    let described = match &operator.kind {
        OperatorKind::Source(table) => table.access.describe(),
        OperatorKind::Sink(sink) => sink.table.access.describe(),
        OperatorKind::Calc(_) | OperatorKind::Union | OperatorKind::Correlate(_) | OperatorKind::LookupJoin(_) => {
            String::new()
        }
    };
    described.split(' ').next().unwrap_or_default().to_string()
}
