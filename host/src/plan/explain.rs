//! The operator graph as text.

use crate::expr::program::{ProgramPlan, StepPlan};
use crate::plan::graph::{JobGraph, OperatorId, Partitioning};
use std::fmt::Write as _;

/// One block per sink, its inputs indented below it. What several read is shown once; after that by its name.
pub fn explain(graph: &JobGraph) -> String {
    let mut out = String::new();
    let consumed: Vec<OperatorId> = graph.operators.iter().flat_map(|o| o.inputs.iter().map(|e| e.from)).collect();
    let mut shown = vec![false; graph.operators.len()];
    for id in (0..graph.operators.len()).filter(|i| !consumed.contains(i)) {
        render(graph, id, 0, &mut shown, &mut out);
    }
    out
}

fn render(graph: &JobGraph, id: OperatorId, depth: usize, shown: &mut [bool], out: &mut String) {
    let o = &graph.operators[id];
    let pad = "  ".repeat(depth);
    if std::mem::replace(&mut shown[id], true) {
        let _ = writeln!(out, "{pad}{} (shared, shown above)", o.name);
        return;
    }
    let _ = writeln!(out, "{pad}{} (parallelism {})", o.name, o.parallelism);
    for d in &o.details {
        let _ = writeln!(out, "{pad}    {d}");
    }
    for edge in &o.inputs {
        match &edge.partitioning {
            Partitioning::Forward => {}
            Partitioning::Rebalance => drop(writeln!(out, "{pad}  <- rebalance")),
            Partitioning::Hash(keys) => drop(writeln!(out, "{pad}  <- hash of {}", key_names(keys))),
        }
        render(graph, edge.from, depth + 1, shown, out);
    }
}

fn key_names(keys: &ProgramPlan) -> String {
    let exprs = keys.steps.iter().flat_map(|s| match s {
        StepPlan::Project { exprs, .. } => exprs.iter().map(crate::expr::show).collect::<Vec<_>>(),
        StepPlan::Filter { .. } => vec![],
    });
    format!("[{}]", exprs.collect::<Vec<_>>().join(", "))
}
