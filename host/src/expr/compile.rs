//! Optimised expressions to something that runs over batches, with errors per row. Compiled for one task: the
//! instances of user functions inside are its own.

use super::functions::as_flink_function;
use super::user_function::as_user_function;
use super::{ExprContext, clock, errors, lazy, rules};
use crate::data::RowError;
use crate::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use chrono_tz::Tz;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema, DataFusionError};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{Expr, ExprSchemable, Operator};
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use std::sync::Arc;

/// The hidden column of row numbers. Functions that can refuse a row get it as their last argument, so that a row
/// keeps its number where CASE or COALESCE evaluates a part of the batch.
const ROW_COLUMN: &str = "__wasmill_row";

/// Expressions of one projection. Use [`compile`].
#[derive(Debug)]
pub struct CompiledExprs {
    outputs: Vec<Output>,
    schema: SchemaRef,
    rows: RowNumbers,
}

/// Columns in the order of the expressions, and the rows that were refused: one error per row, sorted by row, which
/// counts in the evaluated batch. A refused row has some value in the columns, usually NULL; the list decides.
#[derive(Debug)]
pub struct Evaluated {
    pub columns: Vec<ArrayRef>,
    pub errors: Vec<RowError>,
}

#[derive(Debug)]
struct Output {
    source: Source,
    /// For errors; None for columns that the optimizer invented.
    column: Option<String>,
    /// Utf8 rather than a view, and so on.
    data_type: DataType,
}

#[derive(Debug)]
enum Source {
    /// The input's column as it is.
    Column(usize),
    Tree(Arc<dyn PhysicalExpr>),
}

/// Compiles `exprs` over batches of `input`. `names` (one for each) are the names of the result's columns; they stand
/// in its schema and in row errors.
///
/// # Errors
/// A user function that does not take the arguments; anything that the SQL planner should have refused (internal).
pub fn compile(exprs: &[Expr], names: &[String], input: &DFSchema, cx: &ExprContext) -> Result<CompiledExprs> {
    let compiler = Compiler::new(input, cx)?;
    let mut needs_rows = false;
    let mut outputs = Vec::with_capacity(exprs.len());
    let mut fields = Vec::with_capacity(exprs.len());
    for (i, expr) in exprs.iter().enumerate() {
        let name = names.get(i).map_or("", String::as_str);
        let source = compiler.compile(expr, &mut needs_rows)?;
        let data_type = compiler.result_type(&source)?;
        fields.push(Field::new(name, data_type.clone(), true));
        let column = (!name.is_empty() && !name.starts_with("__")).then(|| name.to_string());
        outputs.push(Output { source, column, data_type });
    }
    Ok(CompiledExprs { outputs, schema: Arc::new(Schema::new(fields)), rows: compiler.row_numbers(needs_rows) })
}

impl CompiledExprs {
    /// The result's columns, all nullable.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The result is the input: the same columns in the same order, `width` of them.
    pub fn is_identity(&self, width: usize) -> bool {
        self.outputs.len() == width
            && self.outputs.iter().enumerate().all(|(i, o)| matches!(o.source, Source::Column(c) if c == i))
    }

    /// The input columns that make the result, if it takes nothing else.
    pub fn column_indices(&self) -> Option<Vec<usize>> {
        self.outputs
            .iter()
            .map(|o| match o.source {
                Source::Column(i) => Some(i),
                Source::Tree(_) => None,
            })
            .collect()
    }

    /// Evaluates a batch of the input's schema.
    ///
    /// # Errors
    /// Only what concerns the whole batch or job: a user function that ended it, a fault of ours.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Evaluated> {
        let numbered = self.rows.number(batch)?;
        clock::stopped(|| {
            let mut columns = Vec::with_capacity(self.outputs.len());
            let mut refused = Vec::new();
            for output in &self.outputs {
                let (column, errors) = errors::collect(|| output.evaluate(batch, &numbered));
                columns.push(column?);
                refused.extend(errors.into_iter().map(|e| match &output.column {
                    Some(name) => e.column(name),
                    None => e,
                }));
            }
            Ok(Evaluated { columns, errors: errors::first_per_row(refused) })
        })
    }

    /// As [`Self::evaluate`], with the columns as a batch of [`Self::schema`].
    pub fn evaluate_batch(&self, batch: &RecordBatch) -> Result<(RecordBatch, Vec<RowError>)> {
        let Evaluated { columns, errors } = self.evaluate(batch)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok((RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?, errors))
    }
}

impl Output {
    fn evaluate(&self, batch: &RecordBatch, numbered: &RecordBatch) -> Result<ArrayRef> {
        let tree = match &self.source {
            Source::Column(i) => return Ok(batch.column(*i).clone()),
            Source::Tree(tree) => tree,
        };
        let rows = batch.num_rows();
        let array = tree.evaluate(numbered).and_then(|v| v.into_array(rows)).map_err(into_error)?;
        if *array.data_type() == self.data_type {
            return Ok(array);
        }
        Ok(arrow::compute::cast(&array, &self.data_type)?)
    }
}

/// A predicate. Use [`compile_filter`].
#[derive(Debug)]
pub struct CompiledFilter {
    predicate: Source,
    rows: RowNumbers,
}

/// Compiles a WHERE condition over batches of `input`.
pub fn compile_filter(predicate: &Expr, input: &DFSchema, cx: &ExprContext) -> Result<CompiledFilter> {
    let compiler = Compiler::new(input, cx)?;
    let mut needs_rows = false;
    let predicate = compiler.compile(predicate, &mut needs_rows)?;
    match compiler.result_type(&predicate)? {
        DataType::Boolean => Ok(CompiledFilter { predicate, rows: compiler.row_numbers(needs_rows) }),
        other => Err(Error::internal(format!("a condition of type {other}"))),
    }
}

impl CompiledFilter {
    /// The rows to keep (NULL counts as no), and the refused rows, which are not kept whatever the mask says.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<(BooleanArray, Vec<RowError>)> {
        let numbered = self.rows.number(batch)?;
        let (mask, refused) = errors::collect(|| {
            clock::stopped(|| match &self.predicate {
                Source::Column(i) => Ok(batch.column(*i).clone()),
                Source::Tree(tree) => {
                    tree.evaluate(&numbered).and_then(|v| v.into_array(batch.num_rows())).map_err(into_error)
                }
            })
        });
        let mask = mask?;
        match mask.as_boolean_opt() {
            Some(mask) => Ok((mask.clone(), errors::first_per_row(refused))),
            None => Err(Error::internal("a condition that is not BOOLEAN")),
        }
    }
}

/// Adds the row-number column where something asks for it.
#[derive(Debug)]
struct RowNumbers(Option<SchemaRef>);

impl RowNumbers {
    fn number(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let Some(schema) = &self.0 else { return Ok(batch.clone()) };
        let rows = u32::try_from(batch.num_rows()).map_err(|_| Error::internal("a batch of more than 2^32 rows"))?;
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(UInt32Array::from_iter_values(0..rows)));
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}

struct Compiler<'a> {
    input: &'a DFSchema,
    /// The input and the row number, the last column.
    numbered: DFSchema,
    zone: Tz,
}

impl<'a> Compiler<'a> {
    fn new(input: &'a DFSchema, cx: &ExprContext) -> Result<Self> {
        let row = Field::new(ROW_COLUMN, DataType::UInt32, false);
        let row = DFSchema::from_unqualified_fields(vec![row].into(), Default::default()).map_err(into_error)?;
        let numbered = input.join(&row).map_err(into_error)?;
        Ok(Self { input, numbered, zone: cx.time_zone })
    }

    fn compile(&self, expr: &Expr, needs_rows: &mut bool) -> Result<Source> {
        let expr = unaliased(expr);
        if let Expr::Column(column) = expr {
            return self.input.index_of_column(column).map(Source::Column).map_err(into_error);
        }
        let bound = self.bind(expr.clone()).map_err(into_error)?;
        let tree = self.physical(&bound).map_err(into_error)?;
        *needs_rows |= lazy::refers_to(&tree, self.row_index()).map_err(into_error)?;
        Ok(Source::Tree(tree))
    }

    fn row_index(&self) -> usize {
        self.numbered.fields().len() - 1
    }

    fn physical(&self, expr: &Expr) -> datafusion_common::Result<Arc<dyn PhysicalExpr>> {
        let planning = PhysicalPlanningContext::default();
        let tree = create_physical_expr(expr, &self.numbered, &ExecutionProps::new(), &planning)?;
        lazy::make_lazy(tree, self.row_index())
    }

    /// Puts our functions in the place of casts and divisions, instances in the place of user functions, and the row
    /// number into the calls that need it.
    fn bind(&self, expr: Expr) -> datafusion_common::Result<Expr> {
        let flink = expr.transform_up(|e| rules::to_flink(e, self.input, self.zone))?;
        let bound = flink.data.transform_up(|e| match e {
            Expr::ScalarFunction(f) => self.bind_call(f),
            e => Ok(Transformed::no(e)),
        })?;
        Ok(bound.data)
    }

    fn bind_call(&self, mut call: ScalarFunction) -> datafusion_common::Result<Transformed<Expr>> {
        let bound = if let Some(f) = as_flink_function(&call.func) {
            f.with_row()
        } else if let Some(f) = as_user_function(&call.func) {
            let types = call.args.iter().map(|a| a.get_type(&self.numbered)).collect::<Result<Vec<_>, _>>()?;
            Some(f.instantiate(&types).map_err(|e| DataFusionError::External(Box::new(e)))?)
        } else {
            None
        };
        let Some(bound) = bound else { return Ok(Transformed::no(Expr::ScalarFunction(call))) };
        call.args.push(Expr::Column(Column::new_unqualified(ROW_COLUMN)));
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(bound), call.args))))
    }

    fn result_type(&self, source: &Source) -> Result<DataType> {
        Ok(match source {
            Source::Column(i) => self.input.field(*i).data_type().clone(),
            Source::Tree(tree) => plain_type(&tree.data_type(self.numbered.as_arrow()).map_err(into_error)?),
        })
    }

    fn row_numbers(&self, needed: bool) -> RowNumbers {
        let nullable = |f: &Arc<Field>| Arc::new(f.as_ref().clone().with_nullable(true));
        let fields: Vec<_> = self.numbered.fields().iter().map(nullable).collect();
        RowNumbers(needed.then(|| Arc::new(Schema::new(fields))))
    }
}

fn unaliased(mut expr: &Expr) -> &Expr {
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    expr
}

/// The one layout that a type has between operators. An untyped NULL becomes text.
fn plain_type(t: &DataType) -> DataType {
    match t {
        DataType::Utf8View | DataType::LargeUtf8 | DataType::Null => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Dictionary(_, value) => plain_type(value),
        t => t.clone(),
    }
}

/// Whether evaluating the expression can refuse rows; such conditions must keep their place behind others.
pub fn is_fallible(expr: &Expr) -> bool {
    let can_refuse = |e: &Expr| match e {
        Expr::Cast(_) => true,
        Expr::BinaryExpr(b) => matches!(b.op, Operator::Divide | Operator::Modulo),
        Expr::ScalarFunction(f) => {
            as_flink_function(&f.func).is_some_and(|f| f.is_fallible()) || as_user_function(&f.func).is_some()
        }
        _ => false,
    };
    // An error of the walk itself cannot occur; if it did, caution is right.
    expr.exists(|e| Ok(can_refuse(e))).unwrap_or(true)
}

/// The text for a failure of the optimizer: constant folding met a value that does not exist.
pub fn fold_error(error: DataFusionError) -> String {
    format!("constant expression fails: {}", root_message(error))
}

/// The innermost message, without DataFusion's prefixes.
fn root_message(error: DataFusionError) -> String {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => root_message(*inner),
        DataFusionError::Plan(m) | DataFusionError::Execution(m) => m,
        DataFusionError::ArrowError(inner, _) => match *inner {
            ArrowError::CastError(m) | ArrowError::ComputeError(m) | ArrowError::InvalidArgumentError(m) => m,
            ArrowError::DivideByZero => "division by zero".to_string(),
            other => other.to_string(),
        },
        other => other.strip_backtrace(),
    }
}

/// Whose fault it is: an error of ours passes through unchanged.
fn into_error(error: DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(own) => *own,
            Err(other) => Error::internal(other.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => into_error(*inner),
        DataFusionError::ArrowError(inner, _) if matches!(*inner, ArrowError::ComputeError(_)) => {
            Error::data(inner.to_string())
        }
        DataFusionError::Plan(message) => Error::user(message),
        other => Error::internal(other.strip_backtrace()),
    }
}
