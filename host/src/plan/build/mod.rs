//! INSERTs to operators: each is planned, mapped to its sink's columns, analyzed and optimized (`logical`), then all are
//! cut into the operators of one graph.

mod correlate;
mod describe;
mod logical;
mod lookup;
mod sink;
mod source;
mod union;

use super::context::JobContext;
use super::correlate::as_correlate;
use super::lookup_join::as_lookup_join;
use super::settings::JobSettings;
use crate::catalog::{Catalog, TableDescriptor};
use crate::data::{FailurePolicy, TableSchema};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::expr::ExprContext;
use crate::expr::function::ScalarFunction;
use crate::expr::program::{ProgramPlan, StepPlan};
use crate::plan::graph::{Edge, JobGraph, OperatorId, OperatorKind, OperatorNode, StageSpec, TableBinding};
use crate::sql::ast::{Insert, Script, Statement};
use crate::sql::codes;
use crate::sql::options::Dialect;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan};
use describe::describe_step;
use logical::{Logical, Query};
use source::Scans;
use std::sync::Arc;

/// How a table is used by a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableRole {
    Source,
    Lookup,
    Sink,
}

/// Connects a declared table to what reads or writes it.
pub trait TableBinder {
    fn bind(
        &self,
        table: &TableDescriptor,
        role: TableRole,
        schema: TableSchema,
        policy: FailurePolicy,
    ) -> Result<TableBinding, Diagnostic>;
}

pub struct PlanInput<'a> {
    pub script: &'a Script,
    pub catalog: &'a Catalog,
    pub functions: Vec<Arc<dyn ScalarFunction>>,
    pub settings: &'a JobSettings,
    pub expr_context: Arc<ExprContext>,
    pub binder: &'a dyn TableBinder,
    pub job_name: String,
    /// `--dead-letters` was given: `dead-letter` is the policy of every table that does not say otherwise.
    pub dead_letters: bool,
}

/// Plans every INSERT of the script. Errors of one do not hide those of the others.
pub fn plan(input: &PlanInput<'_>, out: &mut Vec<Diagnostic>) -> JobGraph {
    let user = input.functions.iter().map(|f| (f.name().to_string(), crate::expr::user_function(f.clone()))).collect();
    let context = JobContext::new(input.catalog, &input.expr_context, user);
    let logical = Logical { input, context: &context };
    let mut queries = vec![];
    for statement in &input.script.statements {
        if let Statement::Insert(insert) = statement {
            match logical.insert(insert, out) {
                Ok(query) => queries.extend(query),
                Err(diagnostics) => out.extend(diagnostics),
            }
        }
    }
    let scans = Scans::of(queries.iter().map(|q| &q.plan));
    let mut builder = Builder { input, operators: vec![], steps: vec![], warnings: vec![], scans };
    for q in &queries {
        if let Err(diagnostics) = builder.insert(q) {
            out.extend(diagnostics);
        }
        builder.steps.clear();
        out.append(&mut builder.warnings);
    }
    JobGraph { name: input.job_name.clone(), operators: builder.operators }
}

/// The operators of a query alone, whose rows go nowhere (EXPLAIN). The table of `query` is not looked at.
pub fn plan_query(input: &PlanInput<'_>, query: &Insert, out: &mut Vec<Diagnostic>) -> JobGraph {
    let user = input.functions.iter().map(|f| (f.name().to_string(), crate::expr::user_function(f.clone()))).collect();
    let context = JobContext::new(input.catalog, &input.expr_context, user);
    let mut builder = Builder { input, operators: vec![], steps: vec![], warnings: vec![], scans: Scans::default() };
    let planned = Logical { input, context: &context }.query(query).and_then(|plan| {
        builder.scans = Scans::of(std::iter::once(&plan));
        let (head, _) = builder.build(&plan, query)?;
        builder.flush(head);
        Ok(())
    });
    if let Err(diagnostics) = planned {
        out.extend(diagnostics);
    }
    JobGraph { name: input.job_name.clone(), operators: builder.operators }
}

type Planned<T> = std::result::Result<T, Vec<Diagnostic>>;

/// Makes operators of the plans, one INSERT after the other.
struct Builder<'a> {
    input: &'a PlanInput<'a>,
    operators: Vec<OperatorNode>,
    /// Filters and projections since the last operator.
    steps: Vec<StepPlan>,
    warnings: Vec<Diagnostic>,
    scans: Scans,
}

impl Builder<'_> {
    fn insert(&mut self, query: &Query<'_>) -> Planned<()> {
        let (head, _) = self.build(&query.plan, query.insert)?;
        let head = self.flush(head);
        self.sink(head, query.insert, query.sink)
    }

    /// Operators for the plan; gives the last one and the schema after the steps that still wait.
    fn build(&mut self, plan: &LogicalPlan, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        match plan {
            LogicalPlan::TableScan(scan) => self.source(scan, None, insert).map(|(id, schema, _)| (id, schema)),
            LogicalPlan::SubqueryAlias(a) => {
                let (id, _) = self.build(&a.input, insert)?;
                Ok((id, a.schema.clone()))
            }
            LogicalPlan::Filter(f) => {
                let (id, rest) = match f.input.as_ref() {
                    LogicalPlan::TableScan(scan) => {
                        let (id, _, rest) = self.source(scan, Some(&f.predicate), insert)?;
                        (id, rest)
                    }
                    input => (self.build(input, insert)?.0, Some(f.predicate.clone())),
                };
                let input = f.input.schema().clone();
                if let Some(predicate) = rest {
                    self.steps.push(StepPlan::Filter { predicate, input: input.clone() });
                }
                Ok((id, input))
            }
            LogicalPlan::Projection(p) => {
                let (id, _) = self.build(&p.input, insert)?;
                let input = p.input.schema().clone();
                if !is_identity(&p.expr, &input) {
                    self.steps.push(StepPlan::Project {
                        exprs: p.expr.clone(),
                        names: p.schema.fields().iter().map(|f| f.name().clone()).collect(),
                        input,
                        output: nullable(&p.schema),
                    });
                }
                Ok((id, p.schema.clone()))
            }
            LogicalPlan::Extension(e) => match (as_lookup_join(&e.node), as_correlate(&e.node)) {
                (Some(join), _) => self.lookup_join(join, insert),
                (None, Some(correlate)) => self.correlate(correlate, insert),
                (None, None) => Err(vec![unsupported(plan, insert)]),
            },
            LogicalPlan::Union(u) => self.union(u, insert),
            LogicalPlan::Values(v) => self.values(v, insert),
            LogicalPlan::EmptyRelation(e) => self.no_from(usize::from(e.produce_one_row), insert),
            p => Err(vec![unsupported(p, insert)]),
        }
    }

    fn table(&self, name: &str, insert: &Insert) -> Planned<&TableDescriptor> {
        self.input.catalog.tables.get(name).ok_or_else(|| {
            vec![Diagnostic::error(codes::UNKNOWN_TABLE, insert.span, format!("table '{name}' is not declared"))]
        })
    }

    /// Waiting steps become a Calc operator.
    fn flush(&mut self, input: OperatorId) -> OperatorId {
        let steps = std::mem::take(&mut self.steps);
        if steps.is_empty() {
            return input;
        }
        let details = steps.iter().map(describe_step).collect();
        let kind = OperatorKind::Calc(ProgramPlan::new(steps, self.input.expr_context.clone()));
        let n = self.operators.iter().filter(|o| matches!(o.kind, OperatorKind::Calc(_))).count() + 1;
        let stage = StageSpec { policy: self.calc_policy(input), ..self.operators[input].stage.clone() };
        let parallelism = self.operators[input].parallelism;
        let inputs = vec![Edge::forward(input)];
        self.push(OperatorNode { name: format!("Calc[{n}]"), parallelism, inputs, kind, stage, details })
    }

    /// `ignore-parse-errors` speaks of the format only: expressions fail as the table says.
    fn calc_policy(&self, input: OperatorId) -> FailurePolicy {
        let node = &self.operators[input];
        match self.input.catalog.tables.get(&*node.stage.table) {
            Some(t) => self.stage(t).policy,
            None => node.stage.policy,
        }
    }

    fn push(&mut self, node: OperatorNode) -> OperatorId {
        self.operators.push(node);
        self.operators.len() - 1
    }

    fn unique(&self, name: String) -> String {
        let taken = |n: &str| self.operators.iter().any(|o| o.name == n);
        if !taken(&name) {
            return name;
        }
        (2..).map(|i| format!("{name} [{i}]")).find(|n| !taken(n)).unwrap_or(name)
    }

    fn parallelism(&self, table: &TableDescriptor) -> usize {
        declared_parallelism(table).unwrap_or(self.input.settings.parallelism)
    }

    /// The table's failure policy: its own, else dead letters if the job has an output for them, else its dialect's.
    fn stage(&self, table: &TableDescriptor) -> StageSpec {
        let own = table.options.text("on-error").and_then(FailurePolicy::parse);
        let by_dialect = match table.dialect {
            Dialect::DtStack | Dialect::Legacy => FailurePolicy::DeadLetter,
            Dialect::Flink => FailurePolicy::Fail,
        };
        let default = if self.input.dead_letters { FailurePolicy::DeadLetter } else { by_dialect };
        let limit = table.options.int("on-error.limit").and_then(|l| u64::try_from(l).ok());
        StageSpec { table: table.name.as_str().into(), policy: own.unwrap_or(default), limit }
    }
}

/// The table's own parallelism, if it says one.
fn declared_parallelism(table: &TableDescriptor) -> Option<usize> {
    table.options.int("parallelism").map(|p| p.max(1) as usize)
}

/// What would be found wrong with a table's declaration when the job starts is found now. No connection is made.
fn opens(binding: &TableBinding, role: TableRole) -> Result<()> {
    let (cx, access) = (&binding.context, &binding.access);
    if let Some(format) = &cx.format {
        match role {
            TableRole::Source | TableRole::Lookup => drop(format.decoder()?),
            TableRole::Sink => drop(format.encoder()?),
        }
    }
    if access.is_absent() {
        return Ok(());
    }
    match role {
        TableRole::Source => access.source(cx).map(drop),
        TableRole::Lookup => access.lookup(cx).map(drop),
        TableRole::Sink => access.sink(cx).map(drop),
    }
}

/// A connector's own complaint about a table, at the statement that uses it.
fn at_error(e: &Error, span: crate::diagnostic::Span) -> Diagnostic {
    let d = Diagnostic::error(codes::CONNECTOR, span, e.message.clone());
    match &e.hint {
        Some(h) => d.hint(h.clone()),
        None => d,
    }
}

fn unsupported(plan: &LogicalPlan, insert: &Insert) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, insert.span, format!("not supported yet: {}", plan.display()))
}

fn projected(table: &TableDescriptor, indices: &[usize]) -> TableSchema {
    let all = table.readable_columns();
    TableSchema::new(indices.iter().filter_map(|i| all.get(*i).cloned()).collect())
}

/// A row that failed has NULL where it failed until it is dropped, so nothing past a source is NOT NULL in a batch.
fn nullable(schema: &DFSchema) -> SchemaRef {
    let fields = schema.fields().iter().map(|f| Field::new(f.name(), f.data_type().clone(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn is_identity(exprs: &[Expr], input: &DFSchema) -> bool {
    exprs.len() == input.fields().len()
        && exprs
            .iter()
            .enumerate()
            .all(|(i, e)| matches!(e.clone().unalias(), Expr::Column(c) if input.maybe_index_of_column(&c) == Some(i)))
}

fn key_program(keys: Vec<Expr>, input: &DFSchemaRef, cx: &Arc<ExprContext>) -> datafusion_common::Result<ProgramPlan> {
    let names: Vec<String> = (0..keys.len()).map(|i| format!("__key{i}")).collect();
    let fields = keys
        .iter()
        .zip(&names)
        .map(|(k, n)| Ok(Field::new(n, k.get_type(input.as_ref())?, true)))
        .collect::<datafusion_common::Result<Vec<_>>>()?;
    let output = Arc::new(Schema::new(fields));
    let step = StepPlan::Project { exprs: keys, names, input: input.clone(), output };
    Ok(ProgramPlan::new(vec![step], cx.clone()))
}
