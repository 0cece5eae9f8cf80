//! Operators that must not evaluate what SQL does not reach: AND, OR and COALESCE. DataFusion evaluates both sides of
//! AND over the whole batch, which would refuse rows that the left side had guarded (`x <> 0 AND 10 / x > 1`). These
//! nodes take their place in a compiled tree where the right side can fail; the rest stays DataFusion's.

use super::functions::as_flink_function;
use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{and_kleene, is_not_null, is_null, or_kleene};
use arrow::datatypes::{DataType, Schema};
use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{BinaryExpr, Column};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::fmt;
use std::sync::Arc;

/// Replaces the operators of a compiled tree. `row_column` is the index of the hidden row number: what refers to it
/// can refuse rows.
pub fn make_lazy(tree: Arc<dyn PhysicalExpr>, row_column: usize) -> Result<Arc<dyn PhysicalExpr>> {
    let replaced = tree.transform_up(|node| {
        if let Some(b) = node.downcast_ref::<BinaryExpr>()
            && matches!(b.op(), Operator::And | Operator::Or)
            && refers_to(b.right(), row_column)?
        {
            let and = *b.op() == Operator::And;
            return Ok(Transformed::yes(
                Arc::new(Guarded { and, sides: [b.left().clone(), b.right().clone()] }) as Arc<dyn PhysicalExpr>
            ));
        }
        if let Some(f) = node.downcast_ref::<ScalarFunctionExpr>()
            && as_flink_function(f.fun()).is_some_and(|f| f.is("coalesce"))
        {
            let lazy = Coalesce { args: f.args().to_vec(), data_type: f.return_type().clone() };
            return Ok(Transformed::yes(Arc::new(lazy) as Arc<dyn PhysicalExpr>));
        }
        Ok(Transformed::no(node))
    })?;
    Ok(replaced.data)
}

/// Whether a tree reads the column at `index`.
pub fn refers_to(tree: &Arc<dyn PhysicalExpr>, index: usize) -> Result<bool> {
    let mut found = false;
    tree.apply(|node| {
        found = found || node.downcast_ref::<Column>().is_some_and(|c| c.index() == index);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// `left AND right` or `left OR right`; the right side is evaluated only for rows that the left one leaves open.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Guarded {
    and: bool,
    /// Left and right.
    sides: [Arc<dyn PhysicalExpr>; 2],
}

impl Guarded {
    fn word(&self) -> &'static str {
        if self.and { "AND" } else { "OR" }
    }

    /// Where the result depends on the right side.
    fn open(&self, left: &BooleanArray) -> BooleanArray {
        let decided = |i: usize| left.is_valid(i) && left.value(i) != self.and;
        BooleanArray::from((0..left.len()).map(|i| !decided(i)).collect::<Vec<_>>())
    }
}

impl fmt::Display for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, right] = &self.sides;
        write!(f, "{left} {} {right}", self.word())
    }
}

impl PhysicalExpr for Guarded {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let left = self.sides[0].evaluate(batch)?.into_array(batch.num_rows())?;
        let left = left.as_boolean();
        let open = self.open(left);
        if !open.has_true() {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        // Rows that were not evaluated come back as NULL; Kleene logic with the left side decides those.
        let right = self.sides[1].evaluate_selection(batch, &open)?.into_array(batch.num_rows())?;
        let right = right.as_boolean();
        let result = if self.and { and_kleene(left, right)? } else { or_kleene(left, right)? };
        Ok(ColumnarValue::Array(Arc::new(result)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.sides.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        match <[_; 2]>::try_from(children) {
            Ok(sides) => Ok(Arc::new(Guarded { and: self.and, sides })),
            Err(_) => datafusion_common::internal_err!("{} needs two children", self.word()),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sides[0].fmt_sql(f)?;
        write!(f, " {} ", self.word())?;
        self.sides[1].fmt_sql(f)
    }
}

/// COALESCE; each argument is evaluated only for rows in which all before it are NULL, and only once.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Coalesce {
    args: Vec<Arc<dyn PhysicalExpr>>,
    data_type: DataType,
}

impl fmt::Display for Coalesce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<_> = self.args.iter().map(ToString::to_string).collect();
        write!(f, "COALESCE({})", args.join(", "))
    }
}

impl PhysicalExpr for Coalesce {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let Some((first, others)) = self.args.split_first() else {
            return datafusion_common::internal_err!("COALESCE needs arguments");
        };
        let mut result = first.evaluate(batch)?.into_array(rows)?;
        for arg in others {
            let missing = is_null(&result)?;
            if !missing.has_true() {
                break;
            }
            let values = arg.evaluate_selection(batch, &missing)?.into_array(rows)?;
            result = zip(&is_not_null(&result)?, &result, &values)?;
        }
        Ok(ColumnarValue::Array(result))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, args: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Coalesce { args, data_type: self.data_type.clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
