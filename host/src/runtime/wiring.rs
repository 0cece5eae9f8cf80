//! Which operators share a task, and the channels between tasks.

use super::channel::{ChannelLimits, Receiver, Sender, channel};
use crate::plan::graph::{JobGraph, OperatorId, Partitioning};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// Operators that share a task, first to last.
pub struct ChainPlan {
    pub operators: Vec<OperatorId>,
    pub parallelism: usize,
    /// The chain that feeds it, for all but source chains.
    pub input: Option<usize>,
}

/// Groups operators into chains: one follows the other in the same task where rows go straight on and both have the
/// same parallelism.
pub fn chain_up(graph: &JobGraph, chaining: bool) -> Vec<ChainPlan> {
    let mut chains: Vec<ChainPlan> = Vec::new();
    let mut chain_of: Vec<usize> = Vec::with_capacity(graph.operators.len());
    for (id, o) in graph.operators.iter().enumerate() {
        let joins = o.input.filter(|(from, p)| {
            chaining && *p == Partitioning::Forward && graph.operators[*from].parallelism == o.parallelism
        });
        match joins {
            Some((from, _)) => {
                let c = chain_of[from];
                chains[c].operators.push(id);
                chain_of.push(c);
            }
            None => {
                let input = o.input.map(|(from, _)| chain_of[from]);
                chains.push(ChainPlan { operators: vec![id], parallelism: o.parallelism, input });
                chain_of.push(chains.len() - 1);
            }
        }
    }
    chains
}

/// By chain and subtask.
pub type Ends<T> = HashMap<(usize, usize), T>;

/// The channels into a task, and what wakes it.
pub type GateInputs = (Vec<Receiver>, Arc<Notify>);

/// Channels from every subtask of a chain to every subtask of the chain it feeds.
pub fn wire(chains: &[ChainPlan], limits: ChannelLimits) -> (Ends<GateInputs>, Ends<Vec<Sender>>) {
    let mut inputs: Ends<GateInputs> = HashMap::new();
    let mut outputs: Ends<Vec<Sender>> = HashMap::new();
    for (to, chain) in chains.iter().enumerate() {
        let Some(from) = chain.input else { continue };
        for receiver in 0..chain.parallelism {
            let readable = Arc::new(Notify::new());
            let mut receivers = Vec::new();
            for sender in 0..chains[from].parallelism {
                let (tx, rx) = channel(limits, readable.clone());
                outputs.entry((from, sender)).or_default().push(tx);
                receivers.push(rx);
            }
            inputs.insert((to, receiver), (receivers, readable));
        }
    }
    (inputs, outputs)
}
