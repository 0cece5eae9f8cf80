//! The end of an INSERT.

use super::describe::column_list;
use super::{Builder, Planned, TableRole, at_error, declared_parallelism, key_program, opens};
use crate::catalog::TableDescriptor;
use crate::data::{ChangelogMode, TableSchema};
use crate::plan::graph::{Edge, OperatorId, OperatorKind, OperatorNode, Partitioning, SinkNode, StageSpec};
use crate::plan::{changelog, errors};
use crate::sql::ast::Insert;
use datafusion_common::DFSchema;
use datafusion_expr::Expr;
use std::sync::Arc;

impl Builder<'_> {
    pub(super) fn sink(&mut self, input: OperatorId, insert: &Insert, table: &TableDescriptor) -> Planned<()> {
        let columns = table.writable_columns();
        let not_null =
            columns.iter().enumerate().filter(|(_, c)| !c.nullable).map(|(i, c)| (i, c.name.clone())).collect();
        let schema = TableSchema::new(columns);
        let binding = self
            .input
            .binder
            .bind(table, TableRole::Sink, schema.clone(), self.stage(table).policy)
            .map_err(|d| vec![d])?;
        let mut by_key = false;
        let mut parallelism = declared_parallelism(table).unwrap_or(self.operators[input].parallelism);
        opens(&binding, TableRole::Sink).map_err(|e| vec![at_error(&e, table.name_span)])?;
        if !binding.access.is_absent() {
            let failed = |e| vec![at_error(&e, insert.table.span)];
            let sink = binding.access.sink(&binding.context).map_err(failed)?;
            parallelism = parallelism.min(sink.max_parallelism().unwrap_or(usize::MAX));
            let upserts = sink.changelog_mode() == ChangelogMode::Upsert && !table.primary_key.is_empty();
            by_key = upserts && parallelism > 1 && parallelism != self.operators[input].parallelism;
            let comes = changelog::incoming(&self.operators, input).map_err(failed)?;
            let refused = changelog::refuse_at_sink(table, sink.changelog_mode(), comes, insert.table.span);
            if let Some(d) = refused {
                return Err(vec![d]);
            }
            if comes == ChangelogMode::Upsert
                && let Some(d) = changelog::refuse_filters(&self.operators, input, insert.span)
            {
                return Err(vec![d]);
            }
        }
        let partitioning = if parallelism == self.operators[input].parallelism {
            Partitioning::Forward
        } else if by_key {
            self.by_primary_key(table, &schema).map_err(|e| errors::to_diagnostics(e, insert.table.span))?
        } else {
            Partitioning::Rebalance
        };
        let details = vec![
            format!("table: {} ({})", table.name, binding.access.describe()),
            format!("columns: [{}]", column_list(&schema)),
        ];
        let node = OperatorNode {
            name: self.unique(format!("Sink: {}", table.name)),
            parallelism,
            inputs: vec![Edge { from: input, partitioning }],
            kind: OperatorKind::Sink(SinkNode { table: binding, not_null }),
            stage: self.sink_stage(table),
            details,
        };
        self.push(node);
        Ok(())
    }

    /// A sink's connector may allow fewer refused rows. That holds where nobody said that rows may be left out.
    fn sink_stage(&self, table: &TableDescriptor) -> StageSpec {
        let stage = self.stage(table);
        let said = ["on-error", "on-error.limit"].iter().any(|o| table.options.is_set(o)) || self.input.dead_letters;
        match table.connector.refused_rows_max(table.dialect) {
            Some(max) if !said => StageSpec { limit: Some(max), ..stage },
            _ => stage,
        }
    }

    /// Changes of one key go to one subtask, or they could overtake each other.
    fn by_primary_key(&self, table: &TableDescriptor, schema: &TableSchema) -> datafusion_common::Result<Partitioning> {
        let input = Arc::new(DFSchema::try_from(schema.to_arrow())?);
        let keys = table.primary_key.iter().map(|c| Expr::Column(datafusion_common::Column::from_name(c))).collect();
        key_program(keys, &input, &self.input.expr_context).map(Partitioning::Hash)
    }
}
