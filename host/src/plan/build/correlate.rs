//! Rows unfolded by a collection of theirs (UNNEST).

use super::{Builder, Planned, key_program, nullable};
use crate::plan::correlate::Correlate;
use crate::plan::errors;
use crate::plan::graph::{CorrelateNode, Edge, OperatorId, OperatorKind, OperatorNode};
use crate::sql::ast::Insert;
use datafusion_common::DFSchemaRef;
use datafusion_expr::UserDefinedLogicalNodeCore;

impl Builder<'_> {
    pub(super) fn correlate(&mut self, correlate: &Correlate, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let (left, left_schema) = self.build(&correlate.left, insert)?;
        let left = self.flush(left);
        let unfold = &correlate.unfold;
        let collection = key_program(vec![unfold.collection.clone()], &left_schema, &self.input.expr_context)
            .map_err(|e| errors::to_diagnostics(e, insert.span))?;
        let columns: Vec<&str> = unfold.fields.iter().map(|f| f.name().as_str()).collect();
        let join = if correlate.left_outer { "LEFT JOIN " } else { "" };
        let details =
            vec![format!("{join}UNNEST({}) AS [{}]", crate::expr::show(&unfold.collection), columns.join(", "))];
        let schema = UserDefinedLogicalNodeCore::schema(correlate).clone();
        let node = CorrelateNode {
            collection,
            ordinality: unfold.ordinality,
            left_outer: correlate.left_outer,
            output: nullable(&schema),
        };
        let n = self.operators.iter().filter(|o| matches!(o.kind, OperatorKind::Correlate(_))).count() + 1;
        let of = &self.operators[left];
        let (stage, parallelism) = (of.stage.clone(), of.parallelism);
        let (name, kind, inputs) =
            (format!("Correlate[{n}]"), OperatorKind::Correlate(node), vec![Edge::forward(left)]);
        Ok((self.push(OperatorNode { name, parallelism, inputs, kind, stage, details }), schema))
    }
}
