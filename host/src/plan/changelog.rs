//! Which kinds of rows reach a sink, and whether it can take them.

use super::graph::{OperatorId, OperatorKind, OperatorNode};
use crate::catalog::TableDescriptor;
use crate::data::ChangelogMode;
use crate::diagnostic::{Diagnostic, Span};
use crate::error::Result;
use crate::expr::program::StepPlan;
use crate::sql::codes;

/// The changes that come out of `from`: those of its source, of a union those of any branch.
pub fn incoming(operators: &[OperatorNode], from: OperatorId) -> Result<ChangelogMode> {
    let Some(operator) = operators.get(from) else { return Ok(ChangelogMode::Append) };
    if let OperatorKind::Source(t) = &operator.kind {
        return if t.access.is_absent() {
            Ok(ChangelogMode::Append)
        } else {
            Ok(t.access.source(&t.context)?.changelog_mode())
        };
    }
    let mut comes = ChangelogMode::Append;
    for edge in &operator.inputs {
        match incoming(operators, edge.from)? {
            ChangelogMode::Append => {}
            changes => comes = changes,
        }
    }
    Ok(comes)
}

/// An operator and those that feed it, up to the source or a union.
fn operator_chain(operators: &[OperatorNode], from: OperatorId) -> impl Iterator<Item = &OperatorNode> {
    std::iter::successors(operators.get(from), |o| match o.inputs.as_slice() {
        [only] => operators.get(only.from),
        _ => None,
    })
}

/// A sink that only appends would turn every update into one more row.
pub fn refuse_at_sink(
    sink: &TableDescriptor,
    accepts: ChangelogMode,
    comes: ChangelogMode,
    at: Span,
) -> Option<Diagnostic> {
    if comes == ChangelogMode::Append || accepts != ChangelogMode::Append {
        return None;
    }
    let message = format!("table sink {} doesn't support consuming update and delete changes", sink.name);
    let hint = "its source is a change stream: give the sink a PRIMARY KEY, or a connector or format that has changes \
                (upsert-kafka, debezium-json)";
    Some(Diagnostic::error(codes::CHANGELOG, at, message).hint(hint))
}

/// An upsert stream has no images of rows before an update: a filter would leave rows at the sink that no longer pass.
pub fn refuse_filters(operators: &[OperatorNode], from: OperatorId, at: Span) -> Option<Diagnostic> {
    let chain: Vec<&OperatorNode> = operator_chain(operators, from).collect();
    let Some(OperatorKind::Source(source)) = chain.last().map(|o| &o.kind) else { return None };
    let key = &source.context.primary_key;
    let mut renamed = false;
    for o in chain.iter().rev() {
        match &o.kind {
            OperatorKind::Calc(program) => {
                for step in program.steps.iter() {
                    match step {
                        StepPlan::Project { .. } => renamed = true,
                        StepPlan::Filter { predicate, .. } => {
                            let of_key = predicate.column_refs().iter().all(|c| key.contains(&c.name));
                            if renamed || !of_key {
                                return Some(filtered(&source.context.table, at));
                            }
                        }
                    }
                }
            }
            OperatorKind::LookupJoin(join) if !join.left_outer => return Some(filtered(&source.context.table, at)),
            OperatorKind::LookupJoin(_) => renamed = true,
            OperatorKind::Correlate(_) => return Some(filtered(&source.context.table, at)),
            OperatorKind::Source(_) | OperatorKind::Union | OperatorKind::Sink(_) => {}
        }
    }
    None
}

fn filtered(table: &str, at: Span) -> Diagnostic {
    let message = format!("not supported yet: WHERE or an inner lookup join over the upsert stream {table}");
    Diagnostic::error(codes::CHANGELOG, at, message).hint(
        "an update that no longer passes would have to delete the older row, whose values the stream does not hold",
    )
}
