//! A stage's filters and projections: planned once, instantiated per task.

use super::ExprContext;
use super::compile::{CompiledExprs, CompiledFilter, compile, compile_filter};
use crate::data::RowError;
use crate::error::Result;
use arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::DFSchemaRef;
use datafusion_expr::Expr;
use std::sync::Arc;

/// One step, as planned.
#[derive(Clone)]
pub enum StepPlan {
    Filter { predicate: Expr, input: DFSchemaRef },
    Project { exprs: Vec<Expr>, names: Vec<String>, input: DFSchemaRef, output: SchemaRef },
}

/// The steps of a stage; shared by its subtasks.
#[derive(Clone)]
pub struct ProgramPlan {
    pub steps: Arc<[StepPlan]>,
    pub context: Arc<ExprContext>,
}

impl ProgramPlan {
    pub fn new(steps: Vec<StepPlan>, context: Arc<ExprContext>) -> Self {
        Self { steps: steps.into(), context }
    }

    /// Compiles the steps for one task; functions get their instances here.
    pub fn instantiate(&self) -> Result<Program> {
        let steps = self.steps.iter().map(|s| self.compile(s)).collect::<Result<_>>()?;
        Ok(Program { steps })
    }

    fn compile(&self, step: &StepPlan) -> Result<Step> {
        Ok(match step {
            StepPlan::Filter { predicate, input } => Step::Filter(compile_filter(predicate, input, &self.context)?),
            StepPlan::Project { exprs, names, input, output } => {
                Step::Project(compile(exprs, names, input, &self.context)?, output.clone())
            }
        })
    }
}

enum Step {
    Filter(CompiledFilter),
    Project(CompiledExprs, SchemaRef),
}

/// A compiled program; used by one task.
pub struct Program {
    steps: Vec<Step>,
}

/// What a step gives. A row with an error has NULL where it failed; its other columns are right.
pub enum StepResult {
    Project { columns: RecordBatch, errors: Vec<RowError> },
    Filter { keep: BooleanArray, errors: Vec<RowError> },
}

impl Program {
    pub fn len(&self) -> usize {
        self.steps.len()
    }
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Runs step `at` over the batch.
    pub fn run(&mut self, at: usize, batch: &RecordBatch) -> Result<StepResult> {
        Ok(match &self.steps[at] {
            Step::Filter(f) => {
                let (keep, errors) = f.evaluate(batch)?;
                StepResult::Filter { keep: without(keep, &errors), errors }
            }
            Step::Project(p, output) => {
                let evaluated = p.evaluate(batch)?;
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = RecordBatch::try_new_with_options(output.clone(), evaluated.columns, &options)?;
                StepResult::Project { columns, errors: evaluated.errors }
            }
        })
    }
}

/// A refused row is not kept, whatever the predicate gave for it.
fn without(keep: BooleanArray, errors: &[RowError]) -> BooleanArray {
    if errors.is_empty() {
        return keep;
    }
    let mut rows: Vec<bool> = (0..keep.len()).map(|i| keep.is_valid(i) && keep.value(i)).collect();
    for e in errors {
        if let Some(row) = rows.get_mut(e.row as usize) {
            *row = false;
        }
    }
    BooleanArray::from(rows)
}
