//! An INSERT's query as a logical plan: names and types resolved, lookup joins made explicit, columns cast to the sink's.

use super::{PlanInput, Planned};
use crate::catalog::TableDescriptor;
use crate::data::LogicalType;
use crate::diagnostic::Diagnostic;
use crate::plan::context::JobContext;
use crate::plan::insert::{is_implicit, map_columns};
use crate::plan::{ast_passes, errors, names, rules};
use crate::sql::ast::Insert;
use crate::sql::codes;
use crate::sql::options::Dialect;
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::planner::ContextProvider;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast, lit};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use sqlparser::ast as sp;

pub(super) struct Logical<'a> {
    pub input: &'a PlanInput<'a>,
    pub context: &'a JobContext<'a>,
}

/// An INSERT that was planned as far as the job's other INSERTs do not matter.
pub(super) struct Query<'a> {
    pub insert: &'a Insert,
    pub sink: &'a TableDescriptor,
    pub plan: LogicalPlan,
}

impl<'a> Logical<'a> {
    /// None if the columns do not fit (reported).
    pub fn insert(&self, insert: &'a Insert, out: &mut Vec<Diagnostic>) -> Planned<Option<Query<'a>>> {
        let Some(sink) = self.input.catalog.tables.get(&insert.table.value) else {
            return Err(vec![self.unknown_sink(insert)]);
        };
        let plan = self.analyzed(insert)?;
        let Some(plan) = self.to_sink(plan, insert, sink, out)? else { return Ok(None) };
        let plan = rules::optimize(plan).map_err(|e| errors::folding(e, insert.span))?;
        Ok(Some(Query { insert, sink, plan }))
    }

    /// The plan of a query alone; the INSERT's table is not looked at.
    pub fn query(&self, insert: &Insert) -> Planned<LogicalPlan> {
        rules::optimize(self.analyzed(insert)?).map_err(|e| errors::folding(e, insert.span))
    }

    /// The query's plan before its columns are fitted to the sink's.
    fn analyzed(&self, insert: &Insert) -> Planned<LogicalPlan> {
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
        let plan = SqlToRel::new_with_options(self.context, options)
            .sql_statement_to_plan(sp::Statement::Query(query))
            .map_err(at)?;
        // Analyzed before the sink's casts are added, so that the types are those of the query as it is written.
        rules::analyze(plan, self.context.options(), &self.input.expr_context).map_err(at)
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
}
