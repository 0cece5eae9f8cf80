//! What a name in FROM stands for: a view's query, a table with its computed columns, a lookup table at a time.

use super::context::TableHandle;
use super::correlate::plan_unnest;
use crate::catalog::{Catalog, TableColumnKind};
use crate::sql::ast::CreateView;
use arrow::datatypes::DataType;
use datafusion_common::{Column, Result, TableReference, plan_err};
use datafusion_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, TableSource, cast};
use sqlparser::ast::{self as sp, TableFactor, TableVersion};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Views that read each other deeper than this are refused: every walk over the plan is recursive.
const VIEW_DEPTH_MAX: usize = 64;

/// How a column comes from the scan.
#[derive(Debug, Clone)]
enum Derived {
    Read,
    /// Metadata, declared with another type than the connector's.
    Cast(DataType),
    Computed(Box<sp::Expr>),
}

#[derive(Debug)]
pub struct Relations {
    views: HashMap<String, CreateView>,
    /// Per table with columns that are not just read: all columns in declared order.
    derived: HashMap<String, Vec<(String, Derived)>>,
    /// Views being expanded, so that one that reads itself is an error and not a stack overflow.
    open: Mutex<Vec<String>>,
}

impl Relations {
    pub fn new(catalog: &Catalog) -> Self {
        let derived = catalog
            .tables
            .values()
            .map(|t| {
                let columns: Vec<_> = t.columns.iter().map(|c| (c.name.clone(), derived(&c.kind))).collect();
                (t.name.clone(), columns)
            })
            .filter(|(_, columns)| columns.iter().any(|(_, d)| !matches!(d, Derived::Read)))
            .collect();
        let views = catalog.views.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
        Self { views, derived, open: Mutex::default() }
    }

    fn plan_view(
        &self,
        view: &CreateView,
        alias: Option<sp::TableAlias>,
        cx: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let name = &view.name.value;
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.contains(name) {
                return plan_err!("view '{name}' reads itself");
            }
            if open.len() == VIEW_DEPTH_MAX {
                return plan_err!("view '{name}' stands below {VIEW_DEPTH_MAX} other views: write fewer, larger ones");
            }
            open.push(name.clone());
        }
        let mut query = view.query.clone();
        super::ast_passes::apply(&mut query);
        super::names::name_columns(&mut query);
        let columns = view
            .columns
            .iter()
            .map(|c| sp::TableAliasColumnDef { name: sp::Ident::with_quote('`', &c.value), data_type: None })
            .collect();
        let own = sp::TableAlias { explicit: true, name: sp::Ident::with_quote('`', name), columns, at: None };
        let planned = cx.plan(TableFactor::Derived { lateral: false, subquery: query, alias: Some(own), sample: None });
        self.open.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(planned?, alias))))
    }
}

fn derived(kind: &TableColumnKind) -> Derived {
    match kind {
        TableColumnKind::Metadata { logical_type, held_type, .. } if logical_type != held_type => {
            Derived::Cast(logical_type.to_arrow())
        }
        TableColumnKind::Physical { .. } | TableColumnKind::Metadata { .. } => Derived::Read,
        TableColumnKind::Computed(e) => Derived::Computed(e.clone()),
    }
}

/// Scan of the columns that are read, and above it the derived ones in their declared places.
fn with_derived(
    scan: LogicalPlan,
    columns: &[(String, Derived)],
    table: &str,
    cx: &mut dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let schema = scan.schema().clone();
    let mut exprs = Vec::with_capacity(columns.len());
    for (name, derived) in columns {
        // Not from a text, which would be parsed: without case, and in parts at its dots.
        let read = Expr::Column(Column::new(Some(TableReference::bare(table)), name));
        exprs.push(match derived {
            Derived::Read => read,
            Derived::Cast(to) => cast(read, to.clone()).alias(name),
            Derived::Computed(e) => {
                let mut e = (**e).clone();
                super::ast_passes::apply_to_expr(&mut e);
                cx.sql_to_expr(e, &schema)?.alias(name)
            }
        });
    }
    LogicalPlanBuilder::from(scan).project(exprs)?.alias(TableReference::bare(table))?.build()
}

impl RelationPlanner for Relations {
    fn plan_relation(&self, rel: TableFactor, cx: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        if let TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } = rel {
            let plan = plan_unnest(array_exprs, with_ordinality, alias.as_ref(), cx)?;
            // Its columns have their names already.
            let alias = alias.map(|a| sp::TableAlias { columns: vec![], ..a });
            return Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))));
        }
        let TableFactor::Table { name, alias, version, .. } = &rel else {
            return Ok(RelationPlanning::Original(Box::new(rel)));
        };
        let reference = cx.object_name_to_table_reference(name.clone())?;
        if let Some(view) = self.views.get(reference.table()) {
            if version.is_some() {
                return plan_err!("'{reference}' is a view: FOR SYSTEM_TIME AS OF needs a table");
            }
            return self.plan_view(view, alias.clone(), cx);
        }
        let derived = self.derived.get(reference.table());
        if version.is_none() && derived.is_none() {
            return Ok(RelationPlanning::Original(Box::new(rel)));
        }
        let source = cx.context_provider().get_table_source(reference.clone())?;
        let Some(handle) = source.downcast_ref::<TableHandle>() else {
            return Ok(RelationPlanning::Original(Box::new(rel)));
        };
        let handle: Arc<dyn TableSource> = match version {
            Some(TableVersion::ForSystemTimeAsOf(e)) => Arc::new(handle.as_lookup(e.clone())),
            Some(v) => return plan_err!("table version {v} is not supported"),
            None => source.clone(),
        };
        let table = TableReference::bare(reference.table().to_string());
        let mut plan = LogicalPlanBuilder::scan(table, handle, None)?.build()?;
        if let Some(columns) = derived {
            if version.is_some() {
                return plan_err!("lookup table '{reference}' has computed columns: they are not supported there");
            }
            plan = with_derived(plan, columns, reference.table(), cx)?;
        }
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias.clone()))))
    }
}
