//! Scans. All that read the same table share one: its rows are read and decoded once, and are the same for all.

use super::describe::column_list;
use super::{Builder, Planned, TableRole, at_error, opens, projected};
use crate::catalog::TableDescriptor;
use crate::data::FailurePolicy;
use crate::expr::program::StepPlan;
use crate::plan::graph::{OperatorId, OperatorKind, OperatorNode};
use crate::plan::lookup_join::as_lookup_join;
use crate::plan::{errors, pushdown};
use crate::sql::ast::Insert;
use arrow::datatypes::Schema;
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{Expr, LogicalPlan, TableScan};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Who scans what, over all INSERTs.
#[derive(Default)]
pub(super) struct Scans(HashMap<String, SharedScan>);

struct SharedScan {
    readers: usize,
    /// What at least one of them needs.
    columns: BTreeSet<usize>,
    /// Its operator, once it is there.
    source: Option<OperatorId>,
}

impl Scans {
    pub fn of<'a>(plans: impl Iterator<Item = &'a LogicalPlan>) -> Self {
        let mut scans = Self::default();
        plans.for_each(|p| scans.add(p));
        scans
    }

    fn add(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::TableScan(scan) => {
                let name = scan.table_name.table().to_string();
                let empty = SharedScan { readers: 0, columns: BTreeSet::new(), source: None };
                let shared = self.0.entry(name).or_insert(empty);
                shared.readers += 1;
                shared.columns.extend(columns_of(scan));
            }
            // The side table is no source.
            LogicalPlan::Extension(e) if as_lookup_join(&e.node).is_some() => {
                e.node.inputs().into_iter().take(1).for_each(|left| self.add(left));
            }
            plan => plan.inputs().into_iter().for_each(|input| self.add(input)),
        }
    }
}

/// Rows are counted by their columns: a source always has one, also where none is read.
fn columns_of(scan: &TableScan) -> Vec<usize> {
    match &scan.projection {
        Some(p) if p.is_empty() => vec![0],
        Some(p) => p.clone(),
        None => (0..scan.source.schema().fields().len()).collect(),
    }
}

impl Builder<'_> {
    /// `filter`: what the rows are to meet. What the connector does not take exactly comes back.
    pub(super) fn source(
        &mut self,
        scan: &TableScan,
        filter: Option<&Expr>,
        insert: &Insert,
    ) -> Planned<(OperatorId, DFSchemaRef, Option<Expr>)> {
        let name = scan.table_name.table();
        let own = columns_of(scan);
        let (all, alone, source) = match self.scans.0.get(name) {
            Some(s) => (s.columns.iter().copied().collect(), s.readers == 1, s.source),
            None => (own.clone(), true, None),
        };
        let table = self.table(name, insert)?.clone();
        let qualified = |indices: &[usize]| {
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &projected(&table, indices).to_arrow())
                .map(Arc::new)
                .map_err(|e| errors::to_diagnostics(e, insert.span))
        };
        let read = qualified(&all)?;
        let mut rest = filter.cloned();
        let id = match source {
            Some(id) => id,
            None => {
                // A condition of one of several readers is not that of the others.
                let filter = filter.filter(|_| alone);
                let (id, left) = self.new_source(&table, &all, filter, &read)?;
                if alone {
                    rest = left;
                }
                if let Some(s) = self.scans.0.get_mut(name) {
                    s.source = Some(id);
                }
                id
            }
        };
        if own == all && scan.projection.as_ref().is_none_or(|p| !p.is_empty()) {
            return Ok((id, read, rest));
        }
        let kept = if scan.projection.as_ref().is_some_and(Vec::is_empty) { vec![] } else { own };
        let schema = qualified(&kept)?;
        self.steps.push(StepPlan::Project {
            exprs: schema.columns().into_iter().map(Expr::Column).collect(),
            names: schema.fields().iter().map(|f| f.name().clone()).collect(),
            input: read,
            output: Arc::new(Schema::new(schema.fields().clone())),
        });
        Ok((id, schema, rest))
    }

    fn new_source(
        &mut self,
        table: &TableDescriptor,
        columns: &[usize],
        filter: Option<&Expr>,
        read: &DFSchemaRef,
    ) -> Planned<(OperatorId, Option<Expr>)> {
        let schema = projected(table, columns);
        let mut stage = self.stage(table);
        // Flink's switch for the format: bad values are NULL, bad records are skipped.
        let ignores = table.format.as_ref().and_then(|f| f.options.bool("ignore-parse-errors")) == Some(true);
        if ignores && !table.options.is_set("on-error") {
            stage.policy = FailurePolicy::Null;
        }
        let mut binding =
            self.input.binder.bind(table, TableRole::Source, schema.clone(), stage.policy).map_err(|d| vec![d])?;
        let rest = filter.and_then(|f| pushdown::push_down(f, read, &mut binding));
        opens(&binding, TableRole::Source).map_err(|e| vec![at_error(&e, table.name_span)])?;
        let mut details = vec![
            format!("table: {} ({})", table.name, binding.access.describe()),
            format!("columns: [{}]", column_list(&schema)),
        ];
        details.extend(pushdown::describe(&binding));
        let parallelism = self.parallelism(table);
        let name = self.unique(format!("Source: {}", table.name));
        let kind = OperatorKind::Source(binding);
        let id = self.push(OperatorNode { name, parallelism, inputs: vec![], kind, stage, details });
        Ok((id, rest))
    }
}
