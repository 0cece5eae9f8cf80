//! UNNEST in FROM: as a node beside the relation whose rows it unfolds, and the rule that makes one node of the two.

use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, DFSchemaRef, JoinType, Result, ScalarValue, TableReference, plan_err};
use datafusion_expr::planner::RelationPlannerContext;
use datafusion_expr::{
    Expr, ExprSchemable, Extension, Filter, Join, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode,
    UserDefinedLogicalNodeCore,
};
use sqlparser::ast as sp;
use std::fmt;
use std::sync::Arc;

/// What a collection is unfolded into.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unfold {
    /// Over the relation on the left.
    pub collection: Expr,
    /// A last column numbers the elements from 1.
    pub ordinality: bool,
    /// The element's columns, then the number.
    pub fields: Vec<FieldRef>,
    pub qualifier: Option<TableReference>,
}

impl PartialOrd for Unfold {
    fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> {
        None
    }
}

impl Unfold {
    fn qualified(&self) -> Vec<(Option<TableReference>, FieldRef)> {
        self.fields.iter().map(|f| (self.qualifier.clone(), f.clone())).collect()
    }
}

/// `UNNEST(..) AS A(x)` as the SQL planner sees it, its outer columns marked as such.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
struct UnnestTable {
    unfold: Unfold,
    schema: Schema,
}

/// A schema that has no order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Schema(DFSchemaRef);

impl PartialOrd for Schema {
    fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> {
        None
    }
}

impl UserDefinedLogicalNodeCore for UnnestTable {
    fn name(&self) -> &str {
        "Unnest"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema.0
    }
    fn expressions(&self) -> Vec<Expr> {
        vec![self.unfold.collection.clone()]
    }
    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, _: Vec<LogicalPlan>) -> Result<Self> {
        let Some(collection) = exprs.pop() else { return plan_err!("UNNEST has one argument") };
        Ok(Self { unfold: Unfold { collection, ..self.unfold.clone() }, schema: self.schema.clone() })
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Unnest: {}", self.unfold.collection)
    }
}

/// The rows of the left, each once per element of its collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd)]
pub struct Correlate {
    pub left: LogicalPlan,
    pub unfold: Unfold,
    /// Rows without elements go on with NULLs.
    pub left_outer: bool,
    schema: Schema,
}

impl Correlate {
    fn new(left: LogicalPlan, unfold: Unfold, left_outer: bool) -> Result<Self> {
        let own = left.schema().iter().map(|(q, f)| (q.cloned(), f.clone()));
        let schema = DFSchema::new_with_metadata(own.chain(unfold.qualified()).collect(), Default::default())?;
        Ok(Self { left, unfold, left_outer, schema: Schema(Arc::new(schema)) })
    }
}

impl UserDefinedLogicalNodeCore for Correlate {
    fn name(&self) -> &str {
        "Correlate"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema.0
    }
    fn expressions(&self) -> Vec<Expr> {
        vec![self.unfold.collection.clone()]
    }
    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(collection), Some(left)) = (exprs.pop(), inputs.pop()) else {
            return plan_err!("a correlate has an input and an expression");
        };
        Self::new(left, Unfold { collection, ..self.unfold.clone() }, self.left_outer)
    }
    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let left = self.left.schema();
        let mut needed: Vec<usize> = output.iter().copied().filter(|i| *i < left.fields().len()).collect();
        needed.extend(self.unfold.collection.column_refs().iter().filter_map(|c| left.maybe_index_of_column(c)));
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Correlate: {}", self.unfold.collection)
    }
}

pub fn as_correlate(node: &Arc<dyn UserDefinedLogicalNode>) -> Option<&Correlate> {
    node.as_any().downcast_ref::<Correlate>()
}

/// Plans `UNNEST(collection) [WITH ORDINALITY] [AS name(columns)]`.
pub fn plan_unnest(
    collections: Vec<sp::Expr>,
    ordinality: bool,
    alias: Option<&sp::TableAlias>,
    cx: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let Ok([collection]) = <[sp::Expr; 1]>::try_from(collections) else {
        return plan_err!("UNNEST takes one array or map");
    };
    let collection = cx.sql_to_expr(collection, &DFSchema::empty())?;
    let mut fields = element_fields(&collection.get_type(&DFSchema::empty())?)?;
    if ordinality {
        fields.push(Arc::new(Field::new("ORDINALITY", DataType::Int32, true)));
    }
    let names: Vec<&str> = alias.iter().flat_map(|a| &a.columns).map(|c| c.name.value.as_str()).collect();
    if !names.is_empty() && names.len() != fields.len() {
        return plan_err!("UNNEST gives {} columns, its alias names {}", fields.len(), names.len());
    }
    for (field, name) in fields.iter_mut().zip(names) {
        *field = Arc::new(field.as_ref().clone().with_name(name));
    }
    let qualifier = alias.map(|a| TableReference::bare(a.name.value.as_str()));
    let unfold = Unfold { collection, ordinality, fields, qualifier };
    let schema = Arc::new(DFSchema::new_with_metadata(unfold.qualified(), Default::default())?);
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(UnnestTable { unfold, schema: Schema(schema) }) }))
}

/// The columns of an element; all may be NULL, as beside a row without elements.
fn element_fields(collection: &DataType) -> Result<Vec<FieldRef>> {
    let nullable = |fields: &Fields| -> Vec<FieldRef> {
        fields.iter().map(|f| Arc::new(f.as_ref().clone().with_nullable(true))).collect()
    };
    match collection {
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            Ok(match element.data_type() {
                DataType::Struct(fields) => nullable(fields),
                t => vec![Arc::new(Field::new("EXPR$0", t.clone(), true))],
            })
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => Ok(vec![
                Arc::new(fields[0].as_ref().clone().with_name("KEY").with_nullable(true)),
                Arc::new(fields[1].as_ref().clone().with_name("VALUE").with_nullable(true)),
            ]),
            _ => plan_err!("UNNEST takes an array or a map"),
        },
        t => {
            let name = crate::data::LogicalType::from_arrow(t).map_or(t.to_string(), |l| l.to_string());
            plan_err!("UNNEST takes an array or a map, found {name}")
        }
    }
}

/// A join with an UNNEST on the right becomes a [`Correlate`]; None: it is another join.
pub fn join_to_correlate(join: &Join) -> Result<Option<LogicalPlan>> {
    let Some(unnest) = unnest_of(&join.right) else { return Ok(None) };
    let left_outer = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left => true,
        other => {
            return plan_err!("{other} JOIN UNNEST is not supported: use CROSS JOIN, JOIN or LEFT JOIN .. ON TRUE");
        }
    };
    let mut unfold = unnest.unfold.clone();
    unfold.collection = inner(unfold.collection)?;
    let correlate = Correlate::new(join.left.as_ref().clone(), unfold, left_outer)?;
    let plan = LogicalPlan::Extension(Extension { node: Arc::new(correlate) });
    let on = join.on.iter().map(|(l, r)| l.clone().eq(r.clone())).chain(join.filter.clone());
    let conditions: Vec<Expr> = on.filter(|e| !is_true(e)).collect();
    match datafusion_expr::utils::conjunction(conditions) {
        None => Ok(Some(plan)),
        Some(_) if left_outer => plan_err!("LEFT JOIN UNNEST takes ON TRUE only"),
        Some(condition) => Ok(Some(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?))),
    }
}

/// UNNEST alone in FROM: of one row without columns.
pub fn unnest_alone(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up(|p| match unnest_of(&p) {
        Some(u) if !matches!(p, LogicalPlan::SubqueryAlias(_)) => {
            let one_row = LogicalPlanBuilder::empty(true).build()?;
            let node = Arc::new(Correlate::new(one_row, u.unfold.clone(), false)?);
            Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
        }
        _ => Ok(Transformed::no(p)),
    })
    .map(|t| t.data)
}

fn is_true(e: &Expr) -> bool {
    matches!(e, Expr::Literal(ScalarValue::Boolean(Some(true)), _))
}

fn unnest_of(plan: &LogicalPlan) -> Option<&UnnestTable> {
    match plan {
        LogicalPlan::SubqueryAlias(a) => unnest_of(&a.input),
        LogicalPlan::Subquery(s) => unnest_of(&s.subquery),
        LogicalPlan::Extension(e) => e.node.as_any().downcast_ref(),
        _ => None,
    }
}

/// The outer columns are those of the left now.
fn inner(e: Expr) -> Result<Expr> {
    e.transform(|e| match e {
        Expr::OuterReferenceColumn(_, column) => Ok(Transformed::yes(Expr::Column(column))),
        e => Ok(Transformed::no(e)),
    })
    .map(|t| t.data)
}
