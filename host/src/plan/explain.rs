//! The operator graph as text.

use crate::plan::graph::{JobGraph, OperatorId, Partitioning};
use std::fmt::Write as _;

/// One block per pipeline, the sink first, inputs indented below it.
pub fn explain(graph: &JobGraph) -> String {
    let mut out = String::new();
    let consumed: Vec<OperatorId> = graph.operators.iter().filter_map(|o| o.input.map(|i| i.0)).collect();
    for id in (0..graph.operators.len()).filter(|i| !consumed.contains(i)) {
        render(graph, id, 0, &mut out);
    }
    out
}

fn render(graph: &JobGraph, id: OperatorId, depth: usize, out: &mut String) {
    let o = &graph.operators[id];
    let pad = "  ".repeat(depth);
    let _ = writeln!(out, "{pad}{} (parallelism {})", o.name, o.parallelism);
    for d in &o.details {
        let _ = writeln!(out, "{pad}    {d}");
    }
    if let Some((input, partitioning)) = o.input {
        if partitioning == Partitioning::Rebalance {
            let _ = writeln!(out, "{pad}  <- rebalance");
        }
        render(graph, input, depth + 1, out);
    }
}
