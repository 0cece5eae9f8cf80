use super::*;
use crate::data::FailurePolicy;
use crate::plan::graph::{OperatorKind, OperatorNode, Partitioning, StageSpec};

fn node(parallelism: usize, inputs: Vec<Edge>) -> OperatorNode {
    let stage = StageSpec { table: "t".into(), policy: FailurePolicy::Fail, limit: None };
    OperatorNode { name: "o".into(), parallelism, inputs, kind: OperatorKind::Union, stage, details: vec![] }
}

fn wiring(operators: Vec<OperatorNode>, chaining: bool) -> Wiring {
    chain_up(&JobGraph { name: "job".into(), operators }, chaining)
}

fn members(chain: &ChainPlan) -> Vec<(OperatorId, usize, Vec<usize>)> {
    chain.members.iter().map(|m| (m.operator, m.subtree, m.exchanges.clone())).collect()
}

#[test]
fn operators_that_read_the_same_one_share_its_task() {
    // 0 -> 1 -> 2, 0 -> 3 -> 4
    let follow = |from| node(2, vec![Edge::forward(from)]);
    let w = wiring(vec![node(2, vec![]), follow(0), follow(1), follow(0), follow(3)], true);
    assert_eq!(w.chains.len(), 1);
    assert_eq!(
        members(&w.chains[0]),
        vec![(0, 5, vec![]), (1, 2, vec![]), (2, 1, vec![]), (3, 2, vec![]), (4, 1, vec![])]
    );
    assert!(w.exchanges.is_empty());
}

#[test]
fn a_union_and_another_parallelism_begin_a_task() {
    // 0 and 1 -> 2 (union) -> 3 with one subtask; 0 -> 4 in the same task
    let operators = vec![
        node(2, vec![]),
        node(2, vec![]),
        node(2, vec![Edge::forward(0), Edge::forward(1)]),
        node(1, vec![Edge { from: 2, partitioning: Partitioning::Rebalance }]),
        node(2, vec![Edge::forward(0)]),
    ];
    let w = wiring(operators, true);
    let chains: Vec<_> = w.chains.iter().map(members).collect();
    assert_eq!(
        chains,
        vec![vec![(0, 2, vec![0]), (4, 1, vec![])], vec![(1, 1, vec![1])], vec![(2, 1, vec![2])], vec![(3, 1, vec![])]]
    );
    let channels = w.channels(ChannelLimits::default());
    // Straight on: from the subtask with the same number, of each input.
    assert_eq!(channels.inputs[&(2, 0)].0.len(), 2);
    assert_eq!(channels.outputs[&(0, 1)].len(), 1);
    assert_eq!(channels.inputs[&(3, 0)].0.len(), 2);
    assert_eq!(channels.outputs[&(2, 1)].len(), 1);
}

#[test]
fn without_chaining_every_operator_has_its_tasks() {
    let w = wiring(vec![node(2, vec![]), node(2, vec![Edge::forward(0)])], false);
    assert_eq!(w.chains.len(), 2);
    assert_eq!(w.channels(ChannelLimits::default()).inputs[&(1, 1)].0.len(), 1);
}
