//! Each INSERT to operators: plan, map columns to the sink, analyze, optimize, cut.

use super::context::JobContext;
use super::insert::{is_implicit, map_columns};
use super::lookup_join::{LookupJoin, as_lookup_join, side_of};
use super::settings::JobSettings;
use super::{ast_passes, changelog, errors, names, pushdown, rules};
use crate::catalog::{Catalog, TableDescriptor};
use crate::connectors::api::{LookupCache, LookupSettings};
use crate::data::{ChangelogMode, FailurePolicy, LogicalType, TableSchema};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::expr::ExprContext;
use crate::expr::function::ScalarFunction;
use crate::expr::program::{ProgramPlan, StepPlan};
use crate::plan::graph::{
    Asking, JobGraph, LookupJoinNode, OperatorId, OperatorKind, OperatorNode, Partitioning, SinkNode, StageSpec,
    TableBinding,
};
use crate::sql::ast::{Insert, Script, Statement};
use crate::sql::codes;
use crate::sql::options::Dialect;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{DFSchema, DFSchemaRef, ScalarValue};
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableScan, cast, lit, try_cast};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use sqlparser::ast as sp;
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
    let mut graph = JobGraph { name: input.job_name.clone(), operators: vec![] };
    for statement in &input.script.statements {
        if let Statement::Insert(insert) = statement {
            let operators = std::mem::take(&mut graph.operators);
            let mut pipeline = Pipeline { input, operators, steps: vec![], warnings: vec![] };
            if let Err(diagnostics) = pipeline.insert(insert, &context, out) {
                out.extend(diagnostics);
            }
            out.append(&mut pipeline.warnings);
            graph.operators = pipeline.operators;
        }
    }
    graph
}

/// The operators of a query alone, whose rows go nowhere (EXPLAIN). The table of `query` is not looked at.
pub fn plan_query(input: &PlanInput<'_>, query: &Insert, out: &mut Vec<Diagnostic>) -> JobGraph {
    let user = input.functions.iter().map(|f| (f.name().to_string(), crate::expr::user_function(f.clone()))).collect();
    let context = JobContext::new(input.catalog, &input.expr_context, user);
    let mut pipeline = Pipeline { input, operators: vec![], steps: vec![], warnings: vec![] };
    if let Err(diagnostics) = pipeline.query(query, &context) {
        out.extend(diagnostics);
    }
    JobGraph { name: input.job_name.clone(), operators: pipeline.operators }
}

type Planned<T> = std::result::Result<T, Vec<Diagnostic>>;

struct Pipeline<'a> {
    input: &'a PlanInput<'a>,
    operators: Vec<OperatorNode>,
    /// Filters and projections since the last operator.
    steps: Vec<StepPlan>,
    warnings: Vec<Diagnostic>,
}

impl Pipeline<'_> {
    fn insert(&mut self, insert: &Insert, context: &JobContext<'_>, out: &mut Vec<Diagnostic>) -> Planned<()> {
        let Some(sink) = self.input.catalog.tables.get(&insert.table.value) else {
            return Err(vec![self.unknown_sink(insert)]);
        };
        let plan = self.analyzed(insert, context)?;
        let Some(plan) = self.to_sink(plan, insert, sink, out)? else { return Ok(()) };
        let head = self.operators_of(plan, insert)?;
        self.sink(head, insert, sink)
    }

    fn query(&mut self, query: &Insert, context: &JobContext<'_>) -> Planned<()> {
        let plan = self.analyzed(query, context)?;
        self.operators_of(plan, query).map(|_| ())
    }

    fn operators_of(&mut self, plan: LogicalPlan, insert: &Insert) -> Planned<OperatorId> {
        let plan = rules::optimize(plan).map_err(|e| errors::folding(e, insert.span))?;
        let (head, schema) = self.build(&plan, insert)?;
        self.flush(head, &schema)
    }

    /// The query's plan before its columns are fitted to the sink's.
    fn analyzed(&self, insert: &Insert, context: &JobContext<'_>) -> Planned<LogicalPlan> {
        let catalog = self.input.catalog;
        let declared: Vec<&str> = catalog.tables.keys().chain(catalog.views.keys()).map(String::as_str).collect();
        let at = |e| errors::in_query(e, &insert.query, &declared, insert.span);
        let mut query = insert.query.clone();
        ast_passes::apply(&mut query);
        names::name_columns(&mut query);
        let options = ParserOptions::new()
            .with_enable_ident_normalization(false)
            .with_collect_spans(true)
            .with_parse_float_as_decimal(true)
            .with_map_string_types_to_utf8view(false);
        let plan = SqlToRel::new_with_options(context, options)
            .sql_statement_to_plan(sp::Statement::Query(query))
            .map_err(at)?;
        use datafusion_expr::planner::ContextProvider;
        // Analyzed before the sink's casts are added, so that the types are those of the query as it is written.
        rules::analyze(plan, context.options(), &self.input.expr_context).map_err(at)
    }

    fn unknown_sink(&self, insert: &Insert) -> Diagnostic {
        let name = &insert.table.value;
        let d = if self.input.catalog.views.contains_key(name) {
            Diagnostic::error(
                codes::UNKNOWN_TABLE,
                insert.table.span,
                format!("'{name}' is a view: INSERT needs a table"),
            )
        } else {
            Diagnostic::error(codes::UNKNOWN_TABLE, insert.table.span, format!("table '{name}' is not declared"))
        };
        d.hint(format!("declared tables: {}", self.input.catalog.tables.keys().cloned().collect::<Vec<_>>().join(", ")))
    }

    /// The query's columns as the sink's: chosen, cast, named. None if they do not fit (reported).
    fn to_sink(
        &self,
        plan: LogicalPlan,
        insert: &Insert,
        sink: &TableDescriptor,
        out: &mut Vec<Diagnostic>,
    ) -> Planned<Option<LogicalPlan>> {
        let schema = plan.schema().clone();
        let columns: Vec<(String, Option<LogicalType>)> =
            schema.fields().iter().map(|f| (f.name().clone(), LogicalType::from_arrow(f.data_type()))).collect();
        let dialect = self.input.settings.dialect.unwrap_or(sink.dialect);
        let Some(map) = map_columns(insert, sink, dialect, &columns, out) else { return Ok(None) };
        let mut exprs = Vec::with_capacity(map.len());
        let mut refused = vec![];
        for (column, from) in sink.writable_columns().into_iter().zip(map) {
            let target = column.logical_type.to_arrow();
            let expr = match from {
                None => lit(ScalarValue::Null)
                    .cast_to(&target, &schema)
                    .map_err(|e| errors::to_diagnostics(e, insert.span))?,
                Some(i) => {
                    let (qualifier, field) = schema.qualified_field(i);
                    let e = Expr::Column((qualifier, field).into());
                    if *field.data_type() == target {
                        e
                    } else {
                        let castable = match &columns[i].1 {
                            _ if field.data_type().is_null() => Ok(()),
                            Some(from) if dialect != Dialect::DtStack && !is_implicit(from, &column.logical_type) => {
                                Err(format!("{from} is not stored as {} without a CAST", column.logical_type))
                            }
                            Some(from) => crate::expr::check_cast(from, &column.logical_type),
                            None => Err(format!("{} is no SQL type", field.data_type())),
                        };
                        if let Err(why) = castable {
                            let message = format!("column '{}' of {}: {why}", column.name, sink.name);
                            refused.push(Diagnostic::error(codes::SINK_TYPE, insert.table.span, message));
                            continue;
                        }
                        let narrows = |t: &LogicalType| {
                            matches!(t, LogicalType::TinyInt | LogicalType::SmallInt | LogicalType::Int)
                        };
                        match &columns[i].1 {
                            // CAST wraps; a value that does not fit the sink's column is to be refused, as text is.
                            Some(LogicalType::BigInt | LogicalType::Int | LogicalType::SmallInt)
                                if narrows(&column.logical_type) =>
                            {
                                cast(cast(e, DataType::Utf8), target)
                            }
                            _ => cast(e, target),
                        }
                    }
                }
            };
            exprs.push(expr.alias(&column.name));
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let plan = LogicalPlanBuilder::from(plan).project(exprs).and_then(|b| b.build());
        plan.and_then(|p| rules::sink_casts(p, &self.input.expr_context))
            .map(Some)
            .map_err(|e| errors::to_diagnostics(e, insert.span))
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
            LogicalPlan::Extension(e) => match as_lookup_join(&e.node) {
                Some(join) => self.lookup_join(join, insert),
                None => Err(vec![unsupported(plan, insert)]),
            },
            LogicalPlan::EmptyRelation(_) => Err(vec![Diagnostic::error(
                codes::PLANNER,
                insert.span,
                "the query has no FROM: a job needs a source table",
            )]),
            p => Err(vec![unsupported(p, insert)]),
        }
    }

    fn table(&self, name: &str, insert: &Insert) -> Planned<&TableDescriptor> {
        self.input.catalog.tables.get(name).ok_or_else(|| {
            vec![Diagnostic::error(codes::UNKNOWN_TABLE, insert.span, format!("table '{name}' is not declared"))]
        })
    }

    /// `filter`: what the rows are to meet. What the connector does not take exactly comes back.
    fn source(
        &mut self,
        scan: &TableScan,
        filter: Option<&Expr>,
        insert: &Insert,
    ) -> Planned<(OperatorId, DFSchemaRef, Option<Expr>)> {
        let table = self.table(scan.table_name.table(), insert)?.clone();
        // Rows are counted by their columns: a source always has one, which is dropped right after it.
        let no_column = scan.projection.as_ref().is_some_and(|p| p.is_empty());
        let indices = match &scan.projection {
            Some(p) if p.is_empty() => vec![0],
            Some(p) => p.clone(),
            None => (0..scan.source.schema().fields().len()).collect(),
        };
        let schema = projected(&table, &indices);
        let qualified = DFSchema::try_from_qualified_schema(scan.table_name.clone(), &schema.to_arrow())
            .map_err(|e| errors::to_diagnostics(e, insert.span))?;
        let mut stage = self.stage(&table);
        // Flink's switch for the format: bad values are NULL, bad records are skipped.
        let ignores = table.format.as_ref().and_then(|f| f.options.bool("ignore-parse-errors")) == Some(true);
        if ignores && !table.options.is_set("on-error") {
            stage.policy = FailurePolicy::Null;
        }
        let mut binding =
            self.input.binder.bind(&table, TableRole::Source, schema.clone(), stage.policy).map_err(|d| vec![d])?;
        let rest = filter.and_then(|f| pushdown::push_down(f, &qualified, &mut binding));
        opens(&binding, TableRole::Source).map_err(|e| vec![at_error(&e, table.name_span)])?;
        let mut details = vec![
            format!("table: {} ({})", table.name, binding.access.describe()),
            format!("columns: [{}]", column_list(&schema)),
        ];
        details.extend(pushdown::describe(&binding));
        let parallelism = self.parallelism(&table);
        let name = self.unique(format!("Source: {}", table.name));
        let id = self.push(OperatorNode {
            name,
            parallelism,
            input: None,
            kind: OperatorKind::Source(binding),
            stage,
            details,
        });
        let qualified = Arc::new(qualified);
        if no_column {
            self.steps.push(StepPlan::Project {
                exprs: vec![],
                names: vec![],
                input: qualified,
                output: Arc::new(Schema::empty()),
            });
            return Ok((id, Arc::new(DFSchema::empty()), rest));
        }
        Ok((id, qualified, rest))
    }

    fn lookup_join(&mut self, join: &LookupJoin, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let (left, left_schema) = self.build(&join.left, insert)?;
        let left = self.flush(left, &left_schema)?;
        let Some(handle) = side_of(&join.right) else {
            return Err(vec![Diagnostic::error(
                codes::PLANNER,
                insert.span,
                "the right side of a lookup join must be the table itself, not a query over it",
            )]);
        };
        let table = self.table(&handle.name, insert)?.clone();
        let right_schema = join.right.schema();
        let indices: Vec<usize> =
            right_schema.fields().iter().filter_map(|f| join_source_index(&table, f.name())).collect();
        let schema = projected(&table, &indices);
        let mut binding = self
            .input
            .binder
            .bind(&table, TableRole::Lookup, schema.clone(), self.stage(&table).policy)
            .map_err(|d| vec![d])?;
        // Conditions on the side table alone: of ON, and of WHERE below an inner join.
        let residual = join.residual.as_ref().and_then(|r| pushdown::push_down(r, right_schema, &mut binding));
        opens(&binding, TableRole::Lookup).map_err(|e| vec![at_error(&e, table.name_span)])?;
        let settings = match binding.access.has_runtime() {
            true => {
                let source = binding.access.lookup(&binding.context);
                Some(source.map_err(|e| vec![at_error(&e, table.name_span)])?.settings())
            }
            false => None,
        };
        let loaded_whole = settings.as_ref().is_some_and(|s| matches!(s.cache, LookupCache::All { .. }));
        if loaded_whole {
            self.warnings.extend(cache_warning(&table));
        } else if settings.is_some() {
            self.warnings.extend(part_of_key(&table, join, insert));
        }
        let cx = &self.input.expr_context;
        let at = |e| errors::to_diagnostics(e, insert.span);
        let (mut stream_keys, mut side_keys) = (vec![], vec![]);
        for k in &join.keys {
            let stream_type = k.stream.get_type(left_schema.as_ref()).map_err(at)?;
            let side_type = Expr::Column(k.side.clone()).get_type(right_schema.as_ref()).map_err(at)?;
            // '1' and '01' are the same number: by one of them the other would not be found.
            let is_text = matches!(side_type, DataType::Utf8);
            if settings.is_some() && !loaded_whole && is_text && k.compare != side_type {
                let message = format!("join with {}: {} = {} compares text with numbers", table.name, k.stream, k.side);
                let d = Diagnostic::error(codes::NOT_SUPPORTED, insert.span, message);
                return Err(vec![
                    d.hint(format!("cast the other side to STRING, or set cache = 'ALL' for {}", table.name)),
                ]);
            }
            // A value that does not fit the common type matches nothing: NULL.
            let convert = |e: Expr, from| if from == k.compare { e } else { try_cast(e, k.compare.clone()) };
            stream_keys.push(convert(k.stream.clone(), stream_type));
            side_keys.push(convert(Expr::Column(k.side.clone()), side_type));
        }
        let keys = key_program(stream_keys, &left_schema, cx).map_err(at)?;
        let side_key_program = key_program(side_keys, right_schema, cx).map_err(at)?;
        let residual_program = residual.as_ref().map(|predicate| {
            let step = StepPlan::Filter { predicate: predicate.clone(), input: join.schema.clone() };
            ProgramPlan::new(vec![step], cx.clone())
        });
        let left_outer = join.join_type == datafusion_common::JoinType::Left;
        let mut details = vec![
            format!(
                "side table: {} ({}){}",
                table.name,
                binding.access.describe(),
                cache_mode(&table, settings.as_ref())
            ),
            format!(
                "{}: {}",
                if left_outer { "LEFT JOIN on" } else { "JOIN on" },
                join.keys.iter().map(|k| format!("{} = {}", k.stream, k.side)).collect::<Vec<_>>().join(", ")
            ),
        ];
        details.extend(pushdown::describe(&binding));
        if let Some(r) = &residual {
            details.push(format!("and: {}", crate::expr::show(r)));
        }
        let node = LookupJoinNode {
            side_stage: self.stage(&table),
            side_schema: schema.to_arrow(),
            side: binding,
            side_key_columns: join.keys.iter().map(|k| k.side.name.clone()).collect(),
            side_keys: side_key_program,
            side_bytes_max: table.options.size("cache.max-bytes").unwrap_or(1 << 30) as usize,
            asking: self.asking(&table, left).map_err(|e| vec![at_error(&e, insert.span)])?,
            keys,
            residual: residual_program,
            left_outer,
            output: nullable(&join.schema),
        };
        let stage = self.operators[left].stage.clone();
        let parallelism = self.operators[left].parallelism;
        let name = self.unique(format!("LookupJoin: {}", table.name));
        let kind = OperatorKind::LookupJoin(node);
        let input = Some((left, Partitioning::Forward));
        Ok((self.push(OperatorNode { name, parallelism, input, kind, stage, details }), join.schema.clone()))
    }

    /// The job's settings are for tables of Flink's dialect; flinkStreamSQL's say it themselves.
    fn asking(&self, table: &TableDescriptor, stream: OperatorId) -> Result<Asking> {
        let said = match table.dialect {
            Dialect::Flink => self.input.settings.asking.clone(),
            Dialect::DtStack | Dialect::Legacy => Asking::default(),
        };
        let changes = changelog::incoming(&self.operators, stream)? != ChangelogMode::Append;
        Ok(Asking { changes, ..said })
    }

    /// Waiting steps become a Calc operator.
    fn flush(&mut self, input: OperatorId, _schema: &DFSchemaRef) -> Planned<OperatorId> {
        let steps = std::mem::take(&mut self.steps);
        if steps.is_empty() {
            return Ok(input);
        }
        let details = steps.iter().map(describe_step).collect();
        let kind = OperatorKind::Calc(ProgramPlan::new(steps, self.input.expr_context.clone()));
        let n = self.operators.iter().filter(|o| matches!(o.kind, OperatorKind::Calc(_))).count() + 1;
        let stage = StageSpec { policy: self.calc_policy(input), ..self.operators[input].stage.clone() };
        let parallelism = self.operators[input].parallelism;
        let input = Some((input, Partitioning::Forward));
        Ok(self.push(OperatorNode { name: format!("Calc[{n}]"), parallelism, input, kind, stage, details }))
    }

    /// `ignore-parse-errors` speaks of the format only: expressions fail as the table says.
    fn calc_policy(&self, input: OperatorId) -> FailurePolicy {
        let node = &self.operators[input];
        match self.input.catalog.tables.get(&*node.stage.table) {
            Some(t) => self.stage(t).policy,
            None => node.stage.policy,
        }
    }

    fn sink(&mut self, input: OperatorId, insert: &Insert, table: &TableDescriptor) -> Planned<()> {
        let columns = table.writable_columns();
        let not_null =
            columns.iter().enumerate().filter(|(_, c)| !c.nullable).map(|(i, c)| (i, c.name.clone())).collect();
        let schema = TableSchema::new(columns);
        let binding = self
            .input
            .binder
            .bind(table, TableRole::Sink, schema.clone(), self.stage(table).policy)
            .map_err(|d| vec![d])?;
        let mut parallelism = declared_parallelism(table).unwrap_or(self.operators[input].parallelism);
        opens(&binding, TableRole::Sink).map_err(|e| vec![at_error(&e, table.name_span)])?;
        if binding.access.has_runtime() {
            let failed = |e| vec![at_error(&e, insert.table.span)];
            let sink = binding.access.sink(&binding.context).map_err(failed)?;
            parallelism = parallelism.min(sink.max_parallelism().unwrap_or(usize::MAX));
            let upserts = sink.changelog_mode() == ChangelogMode::Upsert && !table.primary_key.is_empty();
            if upserts && parallelism > 1 && parallelism != self.operators[input].parallelism {
                return Err(vec![keys_out_of_order(table, parallelism, self.operators[input].parallelism)]);
            }
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
            input: Some((input, partitioning)),
            kind: OperatorKind::Sink(SinkNode { table: binding, not_null }),
            stage: self.sink_stage(table),
            details,
        };
        self.push(node);
        Ok(())
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

    /// A sink's connector may allow fewer refused rows. That holds where nobody said that rows may be left out.
    fn sink_stage(&self, table: &TableDescriptor) -> StageSpec {
        let stage = self.stage(table);
        let said = ["on-error", "on-error.limit"].iter().any(|o| table.options.is_set(o)) || self.input.dead_letters;
        match table.connector.refused_rows_max(table.dialect) {
            Some(max) if !said => StageSpec { limit: Some(max), ..stage },
            _ => stage,
        }
    }
}

/// An operator and those that feed it, up to the source.
pub(super) fn operator_chain(operators: &[OperatorNode], from: OperatorId) -> impl Iterator<Item = &OperatorNode> {
    let first = operators.get(from);
    std::iter::successors(first, |o| o.input.and_then(|(i, _)| operators.get(i)))
}

/// The table's own parallelism, if it says one.
fn declared_parallelism(table: &TableDescriptor) -> Option<usize> {
    table.options.int("parallelism").map(|p| p.max(1) as usize)
}

/// A table that is always read whole: a cache that it asks for is not what it gets.
fn cache_warning(table: &TableDescriptor) -> Option<Diagnostic> {
    let cache = table.options.get("lookup.cache").filter(|c| c.span.is_some())?;
    if matches!(table.options.text("lookup.cache"), Some("ALL" | "FULL")) {
        return None;
    }
    let message = format!("{} = '{}' has no effect here: the whole table is loaded", cache.key, cache.text);
    Some(Diagnostic::warning(codes::W_IGNORED_OPTION, cache.span, message))
}

/// Rows go in turn to the subtasks of a sink with a parallelism of its own: two changes of one key could overtake each
/// other.
fn keys_out_of_order(table: &TableDescriptor, sink: usize, before: usize) -> Diagnostic {
    let message = format!(
        "sink {} writes changes by its PRIMARY KEY with parallelism {sink}, the rows come with parallelism {before}: \
         changes of one key would not stay in order",
        table.name
    );
    let place = table.options.get("parallelism").and_then(|o| o.span).unwrap_or(table.name_span);
    Diagnostic::error(codes::NOT_SUPPORTED, place, message)
        .hint(format!("leave its parallelism out, or set it to {before} or 1"))
}

/// Fewer columns than the declared key: right, but each key may have many rows, and the database perhaps no index.
fn part_of_key(table: &TableDescriptor, join: &LookupJoin, insert: &Insert) -> Option<Diagnostic> {
    let joined = |column: &String| join.keys.iter().any(|k| k.side.name == *column);
    let missing: Vec<&str> = table.primary_key.iter().filter(|c| !joined(c)).map(String::as_str).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!(
        "the join with {} leaves out {} of its PRIMARY KEY: a key may have many rows, and looking for it may be slow",
        table.name,
        missing.join(", ")
    );
    Some(Diagnostic::warning(codes::W_PART_OF_KEY, insert.span, message))
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
    if !access.has_runtime() {
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

/// Index among the columns of a scan.
fn join_source_index(table: &TableDescriptor, name: &str) -> Option<usize> {
    table.readable_columns().iter().position(|c| c.name == name)
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

/// How the side table is read; of a connector without a run time, what the table asks for.
fn cache_mode(table: &TableDescriptor, settings: Option<&LookupSettings>) -> String {
    match settings.map(|s| &s.cache) {
        Some(LookupCache::All { .. }) => ", cache ALL".into(),
        Some(LookupCache::Lru(lru)) => format!(", cache LRU of {} keys", lru.max_keys),
        Some(LookupCache::None) => ", no cache".into(),
        None => table.options.text("lookup.cache").map(|c| format!(", cache {c}")).unwrap_or_default(),
    }
}

fn column_list(schema: &TableSchema) -> String {
    schema.columns.iter().map(|c| format!("{} {}", c.name, c.logical_type)).collect::<Vec<_>>().join(", ")
}

fn describe_step(step: &StepPlan) -> String {
    match step {
        StepPlan::Filter { predicate, .. } => format!("where: {}", crate::expr::show(predicate)),
        StepPlan::Project { exprs, names, .. } => {
            let items = exprs.iter().zip(names).map(|(e, n)| {
                let text = crate::expr::show(&e.clone().unalias());
                if text == *n { text } else { format!("{text} AS {n}") }
            });
            format!("select: [{}]", items.collect::<Vec<_>>().join(", "))
        }
    }
}
