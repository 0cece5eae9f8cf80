//! UNION ALL, and rows that no table gives: VALUES and SELECT without FROM.

use super::{Builder, Planned, at_error};
use crate::connectors::api::{LookupSource, Sink, Source, TableContext};
use crate::connectors::values;
use crate::data::{ChangelogMode, FailurePolicy};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::expr::program::StepPlan;
use crate::plan::graph::{
    Edge, OperatorId, OperatorKind, OperatorNode, Partitioning, StageSpec, TableAccess, TableBinding,
};
use crate::plan::{changelog, errors};
use crate::sql::ast::Insert;
use crate::sql::codes;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{Expr, Union, Values, cast, lit, when};
use std::sync::Arc;

impl Builder<'_> {
    pub(super) fn union(&mut self, union: &Union, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let names: Vec<String> = union.schema.fields().iter().map(|f| f.name().clone()).collect();
        let output: SchemaRef = super::nullable(&union.schema);
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for branch in &union.inputs {
            let (id, schema) = self.build(branch, insert)?;
            // All branches give the same columns by name, too.
            self.steps.push(StepPlan::Project {
                exprs: schema.columns().into_iter().map(Expr::Column).collect(),
                names: names.clone(),
                input: schema,
                output: output.clone(),
            });
            inputs.push(self.flush(id));
        }
        let parallelism = inputs.iter().map(|i| self.operators[*i].parallelism).max().unwrap_or(1);
        let mut edges = Vec::with_capacity(inputs.len());
        for from in &inputs {
            let straight = self.operators[*from].parallelism == parallelism;
            let comes = changelog::incoming(&self.operators, *from).map_err(|e| vec![at_error(&e, insert.span)])?;
            if comes == ChangelogMode::Upsert || (comes != ChangelogMode::Append && !straight) {
                return Err(vec![changes(insert, comes)]);
            }
            let partitioning = if straight { Partitioning::Forward } else { Partitioning::Rebalance };
            edges.push(Edge { from: *from, partitioning });
        }
        let n = self.operators.iter().filter(|o| matches!(o.kind, OperatorKind::Union)).count() + 1;
        let stage = merged(inputs.iter().map(|i| &self.operators[*i].stage));
        let (name, kind) = (format!("Union[{n}]"), OperatorKind::Union);
        let id = self.push(OperatorNode { name, parallelism, inputs: edges, kind, stage, details: vec![] });
        Ok((id, union.schema.clone()))
    }

    /// A row each: its number chooses the expressions.
    pub(super) fn values(&mut self, values: &Values, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let (id, numbers) = self.rows(values.values.len(), insert)?;
        let number = || Expr::Column(datafusion_common::Column::from_name(values::ROW_NUMBER));
        let mut exprs = Vec::with_capacity(values.schema.fields().len());
        for (at, field) in values.schema.fields().iter().enumerate() {
            let mut of_rows = values.values.iter().enumerate().filter_map(|(row, exprs)| Some((row, exprs.get(at)?)));
            let typed = |e: &Expr| cast(e.clone(), field.data_type().clone());
            let Some((_, first)) = of_rows.next() else { continue };
            let rest: Vec<(usize, &Expr)> = of_rows.collect();
            exprs.push(match rest.split_last() {
                None => typed(first),
                Some(((_, last), between)) => {
                    let mut case = when(number().eq(lit(0i32)), typed(first));
                    for (row, e) in between {
                        case = case.when(number().eq(lit(*row as i32)), typed(e));
                    }
                    case.otherwise(typed(last)).map_err(|e| errors::to_diagnostics(e, insert.span))?
                }
            });
        }
        self.steps.push(StepPlan::Project {
            exprs,
            names: values.schema.fields().iter().map(|f| f.name().clone()).collect(),
            input: numbers,
            output: super::nullable(&values.schema),
        });
        Ok((id, values.schema.clone()))
    }

    /// Rows without columns.
    pub(super) fn no_from(&mut self, count: usize, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let (id, input) = self.rows(count, insert)?;
        let output = Arc::new(Schema::empty());
        self.steps.push(StepPlan::Project { exprs: vec![], names: vec![], input, output });
        Ok((id, Arc::new(DFSchema::empty())))
    }

    /// A source of this many rows, which hold their number.
    fn rows(&mut self, count: usize, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let context = values::context(self.input.expr_context.time_zone);
        let binding = TableBinding { context, access: Arc::new(Rows(count as u64)) };
        let schema =
            DFSchema::try_from(binding.schema().to_arrow()).map_err(|e| errors::to_diagnostics(e, insert.span))?;
        let details = vec![format!("rows: {count}")];
        let stage = StageSpec { table: "VALUES".into(), policy: self.values_policy(), limit: None };
        let name = self.unique("Source: VALUES".into());
        let kind = OperatorKind::Source(binding);
        let id = self.push(OperatorNode { name, parallelism: 1, inputs: vec![], kind, stage, details });
        Ok((id, Arc::new(schema)))
    }

    fn values_policy(&self) -> FailurePolicy {
        if self.input.dead_letters { FailurePolicy::DeadLetter } else { FailurePolicy::Fail }
    }
}

struct Rows(u64);

impl TableAccess for Rows {
    fn describe(&self) -> String {
        "VALUES".into()
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        Ok(Box::new(values::ValuesSource { count: self.0, schema: cx.schema.clone() }))
    }
    fn sink(&self, _: &TableContext) -> Result<Box<dyn Sink>> {
        Err(Error::internal("VALUES cannot be written"))
    }
    fn lookup(&self, _: &TableContext) -> Result<Box<dyn LookupSource>> {
        Err(Error::internal("VALUES cannot be looked up"))
    }
}

fn changes(insert: &Insert, comes: ChangelogMode) -> Diagnostic {
    let why = match comes {
        ChangelogMode::Upsert => "over an upsert stream, whose keys the branches would mix",
        _ => "of a change stream with branches of another parallelism, which would change the order",
    };
    Diagnostic::error(codes::CHANGELOG, insert.span, format!("not supported yet: UNION ALL {why}"))
}

/// Rows of several tables: the strictest of their policies.
fn merged<'a>(stages: impl Iterator<Item = &'a StageSpec>) -> StageSpec {
    let mut all: Vec<&StageSpec> = vec![];
    stages.for_each(|s| {
        if !all.iter().any(|known| known.table == s.table) {
            all.push(s);
        }
    });
    let strictness = |p: FailurePolicy| match p {
        FailurePolicy::Fail => 0,
        FailurePolicy::DeadLetter => 1,
        FailurePolicy::Skip => 2,
        FailurePolicy::Null => 3,
    };
    let tables: Vec<&str> = all.iter().map(|s| &*s.table).collect();
    StageSpec {
        table: tables.join(", ").into(),
        policy: all.iter().map(|s| s.policy).min_by_key(|p| strictness(*p)).unwrap_or(FailurePolicy::Fail),
        limit: all.iter().filter_map(|s| s.limit).min(),
    }
}
