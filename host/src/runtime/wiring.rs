//! Which operators share a task, and the channels between tasks.

use super::channel::{ChannelLimits, Receiver, Sender, channel};
use crate::plan::graph::{Edge, JobGraph, OperatorId};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// Operators that share a task. The first one is its head, all others follow one of them.
pub struct ChainPlan {
    /// Each with those that follow it right after it.
    pub members: Vec<Member>,
    pub parallelism: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub operator: OperatorId,
    /// How many members there are from this one to the last that follows it.
    pub subtree: usize,
    /// Those that read it in another task: numbers of exchanges.
    pub exchanges: Vec<usize>,
}

impl ChainPlan {
    pub fn head(&self) -> OperatorId {
        self.members[0].operator
    }
}

/// An edge between tasks.
pub struct Exchange {
    pub edge: Edge,
    /// The chain that reads it.
    pub to: usize,
}

pub struct Wiring {
    pub chains: Vec<ChainPlan>,
    pub exchanges: Vec<Exchange>,
    chain_of: Vec<usize>,
}

/// Groups operators into chains: one follows another in the same task where all its rows come straight from there and
/// both have the same parallelism.
pub fn chain_up(graph: &JobGraph, chaining: bool) -> Wiring {
    let operators = &graph.operators;
    let mut followers: Vec<Vec<OperatorId>> = vec![vec![]; operators.len()];
    let mut heads = Vec::new();
    for (id, o) in operators.iter().enumerate() {
        match o.inputs.as_slice() {
            [only]
                if chaining && only.partitioning.is_forward() && operators[only.from].parallelism == o.parallelism =>
            {
                followers[only.from].push(id);
            }
            _ => heads.push(id),
        }
    }
    let mut chain_of = vec![0; operators.len()];
    let mut chains = Vec::with_capacity(heads.len());
    for (chain, head) in heads.iter().enumerate() {
        let mut members = Vec::new();
        add_members(*head, &followers, &mut members);
        members.iter().for_each(|m: &Member| chain_of[m.operator] = chain);
        chains.push(ChainPlan { members, parallelism: operators[*head].parallelism });
    }
    let mut exchanges = Vec::new();
    for (to, head) in heads.iter().enumerate() {
        for edge in &operators[*head].inputs {
            let number = exchanges.len();
            exchanges.push(Exchange { edge: edge.clone(), to });
            let from = &mut chains[chain_of[edge.from]];
            if let Some(member) = from.members.iter_mut().find(|m| m.operator == edge.from) {
                member.exchanges.push(number);
            }
        }
    }
    Wiring { chains, exchanges, chain_of }
}

fn add_members(operator: OperatorId, followers: &[Vec<OperatorId>], members: &mut Vec<Member>) {
    let at = members.len();
    members.push(Member { operator, subtree: 0, exchanges: vec![] });
    for f in &followers[operator] {
        add_members(*f, followers, members);
    }
    members[at].subtree = members.len() - at;
}

/// The channels into a task, and what wakes it.
pub type GateInputs = (Vec<Receiver>, Arc<Notify>);

/// The ends of all channels: by chain and subtask, and by exchange and subtask.
pub struct Channels {
    pub inputs: HashMap<(usize, usize), GateInputs>,
    pub outputs: HashMap<(usize, usize), Vec<Sender>>,
}

impl Wiring {
    /// Channels for every exchange: from each subtask to each, or where rows go straight on and there are as many on both
    /// sides, to the one with the same number.
    pub fn channels(&self, limits: ChannelLimits) -> Channels {
        let mut channels = Channels { inputs: HashMap::new(), outputs: HashMap::new() };
        for (number, exchange) in self.exchanges.iter().enumerate() {
            let senders = self.chains[self.chain_of[exchange.edge.from]].parallelism;
            let receivers = self.chains[exchange.to].parallelism;
            let straight = exchange.edge.partitioning.is_forward() && senders == receivers;
            for receiver in 0..receivers {
                let (gate, readable) = channels.inputs.entry((exchange.to, receiver)).or_default();
                for sender in (0..senders).filter(|s| !straight || *s == receiver) {
                    let (tx, rx) = channel(limits, readable.clone());
                    channels.outputs.entry((number, sender)).or_default().push(tx);
                    gate.push(rx);
                }
            }
        }
        channels
    }
}

#[cfg(test)]
#[path = "wiring_tests.rs"]
mod tests;
