//! The catalog as DataFusion's planner sees it.

use crate::catalog::{Catalog, TableDescriptor};
use crate::data::TableSchema;
use crate::expr::ExprContext;
use arrow::datatypes::{DataType, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, TableReference, plan_datafusion_err};
use datafusion_expr::planner::{ExprPlanner, RelationPlanner};
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableProviderFilterPushDown, TableSource, WindowUDF};
use sqlparser::ast as sp;
use std::collections::HashMap;
use std::sync::Arc;

/// A declared table in a plan.
#[derive(Debug, Clone)]
pub struct TableHandle {
    pub name: Arc<str>,
    schema: SchemaRef,
    /// Joins with it are lookup joins: it is declared `PERIOD FOR SYSTEM_TIME`, or used `FOR SYSTEM_TIME AS OF`.
    pub lookup: bool,
    /// The expression of `FOR SYSTEM_TIME AS OF`.
    pub as_of: Option<sp::Expr>,
}

impl TableHandle {
    pub fn as_lookup(&self, as_of: sp::Expr) -> Self {
        Self { lookup: true, as_of: Some(as_of), ..self.clone() }
    }
}

impl TableSource for TableHandle {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
    /// Nothing is filtered in a scan: a predicate that moved into it would be lost.
    fn supports_filters_pushdown(
        &self,
        filters: &[&datafusion_expr::Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Unsupported; filters.len()])
    }
}

/// The columns of a scan: all but the computed ones.
fn scan_schema(table: &TableDescriptor) -> SchemaRef {
    TableSchema::new(table.readable_columns()).to_arrow()
}

pub struct JobContext<'a> {
    pub catalog: &'a Catalog,
    options: ConfigOptions,
    functions: HashMap<String, Arc<ScalarUDF>>,
    expr_planners: Vec<Arc<dyn ExprPlanner>>,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
}

impl<'a> JobContext<'a> {
    /// `user_functions` by their declared name.
    pub fn new(catalog: &'a Catalog, cx: &ExprContext, user_functions: Vec<(String, Arc<ScalarUDF>)>) -> Self {
        let mut functions = HashMap::new();
        for f in crate::expr::scalar_functions(cx) {
            for alias in f.aliases() {
                functions.insert(alias.to_lowercase(), f.clone());
            }
            functions.insert(f.name().to_lowercase(), f);
        }
        for (name, f) in user_functions {
            functions.insert(name.to_lowercase(), f);
        }
        Self {
            catalog,
            options: ConfigOptions::default(),
            functions,
            expr_planners: crate::expr::expr_planners(cx),
            relation_planners: vec![Arc::new(super::relations::Relations::new(catalog))],
        }
    }
}

impl datafusion_expr::planner::ContextProvider for JobContext<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let table = self
            .catalog
            .tables
            .get(name.table())
            .ok_or_else(|| plan_datafusion_err!("table '{}' is not declared", name.table()))?;
        Ok(Arc::new(TableHandle {
            name: table.name.as_str().into(),
            schema: scan_schema(table),
            lookup: table.is_side,
            as_of: None,
        }))
    }
    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }
    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.expr_planners
    }
    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.functions.get(&name.to_lowercase()).cloned()
    }
    fn get_higher_order_meta(&self, _: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }
    fn get_aggregate_meta(&self, _: &str) -> Option<Arc<AggregateUDF>> {
        None
    }
    fn get_window_meta(&self, _: &str) -> Option<Arc<WindowUDF>> {
        None
    }
    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }
    fn options(&self) -> &ConfigOptions {
        &self.options
    }
    fn udf_names(&self) -> Vec<String> {
        self.functions.keys().cloned().collect()
    }
    fn higher_order_function_names(&self) -> Vec<String> {
        vec![]
    }
    fn udaf_names(&self) -> Vec<String> {
        vec![]
    }
    fn udwf_names(&self) -> Vec<String> {
        vec![]
    }
}
