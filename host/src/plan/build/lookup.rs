//! Lookup joins.

use super::describe::cache_mode;
use super::{Builder, Planned, TableRole, at_error, key_program, nullable, opens, projected};
use crate::catalog::TableDescriptor;
use crate::connectors::api::LookupCache;
use crate::data::ChangelogMode;
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::expr::program::{ProgramPlan, StepPlan};
use crate::plan::graph::{Asking, Edge, LookupJoinNode, OperatorId, OperatorKind, OperatorNode, Partitioning};
use crate::plan::lookup_join::{LookupJoin, side_of};
use crate::plan::{changelog, errors, pushdown};
use crate::sql::ast::Insert;
use crate::sql::codes;
use crate::sql::options::Dialect;
use arrow::datatypes::DataType;
use datafusion_common::DFSchemaRef;
use datafusion_expr::{Expr, ExprSchemable, try_cast};

impl Builder<'_> {
    pub(super) fn lookup_join(&mut self, join: &LookupJoin, insert: &Insert) -> Planned<(OperatorId, DFSchemaRef)> {
        let (left, left_schema) = self.build(&join.left, insert)?;
        let left = self.flush(left);
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
        let settings = match binding.access.is_absent() {
            true => None,
            false => {
                let source = binding.access.lookup(&binding.context);
                Some(source.map_err(|e| vec![at_error(&e, table.name_span)])?.settings())
            }
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
        let asking = self.asking(&table, left).map_err(|e| vec![at_error(&e, insert.span)])?;
        let partitioned = table.options.bool("lookup.partitioned") == Some(true) && !loaded_whole;
        let partitioning = match partitioned && !asking.changes && self.operators[left].parallelism > 1 {
            true => Partitioning::Hash(keys.clone()),
            false => Partitioning::Forward,
        };
        let compared: Vec<String> = join.keys.iter().map(|k| format!("{}: {}", k.side.name, k.compare)).collect();
        let filters = &binding.context.filters;
        let node = LookupJoinNode {
            side_identity: format!("{} {:?} {compared:?} {filters:?} {asking:?}", table.name, schema.columns),
            side_stage: self.stage(&table),
            side_schema: schema.to_arrow(),
            side: binding,
            side_key_columns: join.keys.iter().map(|k| k.side.name.clone()).collect(),
            side_keys: side_key_program,
            side_bytes_max: table.options.size("cache.max-bytes").unwrap_or(1 << 30) as usize,
            asking,
            keys,
            residual: residual_program,
            left_outer,
            output: nullable(&join.schema),
        };
        let stage = self.operators[left].stage.clone();
        let parallelism = self.operators[left].parallelism;
        let name = self.unique(format!("LookupJoin: {}", table.name));
        let kind = OperatorKind::LookupJoin(node);
        let inputs = vec![Edge { from: left, partitioning }];
        Ok((self.push(OperatorNode { name, parallelism, inputs, kind, stage, details }), join.schema.clone()))
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
}

/// Index among the columns of a scan.
fn join_source_index(table: &TableDescriptor, name: &str) -> Option<usize> {
    table.readable_columns().iter().position(|c| c.name == name)
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
