//! Golden cases: every line of `tests/expr/*.cases` is planned as a job would be, evaluated with and without the
//! optimizer, and compared. And the tests of compiled expressions over several rows.

use super::cast;
use super::*;
use crate::data::{FailurePolicy, LogicalType, Reason, RowError};
use crate::sql::dialect::FlinkDialect;
use arrow::array::*;
use arrow::datatypes::*;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result as DfResult, TableReference, plan_datafusion_err};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{
    AggregateUDF, HigherOrderUDF, LogicalPlan, LogicalTableSource, ScalarUDF, TableSource, WindowUDF,
};
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use sqlparser::{ast::Statement, parser::Parser};
use std::collections::HashMap;
use std::sync::Arc;

/// The least planner that expressions need.
struct Planner {
    schema: SchemaRef,
    cx: ExprContext,
    functions: HashMap<String, Arc<ScalarUDF>>,
    operators: Vec<Arc<dyn ExprPlanner>>,
    options: ConfigOptions,
}

impl Planner {
    fn new(schema: SchemaRef) -> Self {
        let cx = ExprContext::new(chrono_tz::Asia::Shanghai);
        let functions = scalar_functions(&cx).into_iter().map(|f| (f.name().to_string(), f)).collect();
        Self { schema, functions, operators: expr_planners(&cx), options: ConfigOptions::default(), cx }
    }

    fn with_function(mut self, f: Arc<dyn function::ScalarFunction>) -> Self {
        self.functions.insert(f.name().to_lowercase(), user_function(f));
        self
    }

    fn analyzed(&self, select: &str) -> DfResult<LogicalPlan> {
        let parsed = Parser::parse_sql(&FlinkDialect, select).map_err(|e| plan_datafusion_err!("{e}"))?.remove(0);
        let Statement::Query(mut query) = parsed else { panic!("no query: {select}") };
        crate::plan::ast_passes::apply(&mut query);
        let options = ParserOptions::new()
            .with_enable_ident_normalization(false)
            .with_parse_float_as_decimal(true)
            .with_map_string_types_to_utf8view(false);
        let plan = SqlToRel::new_with_options(self, options).sql_statement_to_plan(Statement::Query(query))?;
        Analyzer::with_rules(vec![Arc::new(TypeCoercion::new()), flink_casts(&self.cx)]).execute_and_check(
            plan,
            &self.options,
            |_, _| {},
        )
    }

    fn optimized(&self, plan: LogicalPlan) -> DfResult<LogicalPlan> {
        Optimizer::with_rules(vec![
            Arc::new(SimplifyExpressions::new()),
            Arc::new(CommonSubexprEliminate::new()),
            Arc::new(OptimizeProjections::new()),
        ])
        .optimize(plan, &OptimizerContext::new(), |_, _| {})
    }

    /// Runs projections and filters over a scan.
    fn run(&self, plan: &LogicalPlan, batch: &RecordBatch) -> crate::error::Result<(RecordBatch, Vec<RowError>)> {
        match plan {
            LogicalPlan::TableScan(scan) => Ok(match &scan.projection {
                Some(columns) => (batch.project(columns)?, vec![]),
                None => (batch.clone(), vec![]),
            }),
            LogicalPlan::Projection(p) => {
                let (input, mut errors) = self.run(&p.input, batch)?;
                let names: Vec<String> = p.schema.fields().iter().map(|f| f.name().clone()).collect();
                let compiled = compile(&p.expr, &names, p.input.schema(), &self.cx)?;
                let (columns, more) = compiled.evaluate_batch(&input)?;
                errors.extend(more);
                Ok((columns, errors))
            }
            LogicalPlan::Filter(f) => {
                let (input, mut errors) = self.run(&f.input, batch)?;
                let (mask, more) = compile_filter(&f.predicate, f.input.schema(), &self.cx)?.evaluate(&input)?;
                errors.extend(more);
                Ok((arrow::compute::filter_record_batch(&input, &mask)?, errors))
            }
            other => panic!("unexpected plan {}", other.display()),
        }
    }
}

impl ContextProvider for Planner {
    fn get_table_source(&self, _: TableReference) -> DfResult<Arc<dyn TableSource>> {
        Ok(Arc::new(LogicalTableSource::new(self.schema.clone())))
    }
    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.operators
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
        vec![]
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

/// One row; the cases name its columns.
fn golden_row() -> RecordBatch {
    let decimal = |v: i128, p, s| -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![v]).with_precision_and_scale(p, s).unwrap())
    };
    let text = |v: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![v])) };
    let int = |v: Option<i32>| -> ArrayRef { Arc::new(Int32Array::from(vec![v])) };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", int(Some(7))),
        ("z", int(Some(0))),
        ("neg", int(Some(-7))),
        ("n", int(None)),
        ("mx", int(Some(i32::MAX))),
        ("mn", int(Some(i32::MIN))),
        ("ti", Arc::new(Int8Array::from(vec![100]))),
        ("si", Arc::new(Int16Array::from(vec![300]))),
        ("b", Arc::new(Int64Array::from(vec![3_000_000_000i64]))),
        ("bmx", Arc::new(Int64Array::from(vec![i64::MAX]))),
        ("s", text(Some("12"))),
        ("s09", text(Some("9"))),
        ("e", text(Some("abc"))),
        ("sn", text(None)),
        ("sp", text(Some(" 12 "))),
        ("uni", text(Some("数据é"))),
        ("dt", text(Some("2024-01-02 03:04:05"))),
        ("d", decimal(1050, 10, 2)),
        ("d2", decimal(3_000_000_000_000_000_000, 38, 18)),
        ("dn", decimal(-25, 10, 1)),
        ("dz", decimal(0, 10, 2)),
        ("f", Arc::new(Float64Array::from(vec![2.5]))),
        ("fz", Arc::new(Float64Array::from(vec![0.0]))),
        ("fl", Arc::new(Float32Array::from(vec![1.5f32]))),
        ("ts", Arc::new(TimestampMillisecondArray::from(vec![1_704_164_645_678i64]))),
        ("tz", Arc::new(TimestampMillisecondArray::from(vec![1_704_164_645_678i64]).with_timezone("UTC"))),
        ("da", Arc::new(Date32Array::from(vec![19_724]))),
        ("tm", Arc::new(Time32MillisecondArray::from(vec![11_045_600]))),
        ("bo", Arc::new(BooleanArray::from(vec![true]))),
        ("bn", Arc::new(BooleanArray::from(vec![None as Option<bool>]))),
        ("by", Arc::new(BinaryArray::from(vec![b"Flink".as_slice()]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

/// What an expression comes to: `TYPE => value`, `TYPE => error: ..` or `refused => message`.
fn outcome(planner: &Planner, batch: &RecordBatch, plan: DfResult<LogicalPlan>) -> String {
    outcome_of_row(planner, batch, plan, 0)
}

fn outcome_of_row(planner: &Planner, batch: &RecordBatch, plan: DfResult<LogicalPlan>, row: usize) -> String {
    let plan = match plan {
        Ok(plan) => plan,
        Err(e) => return format!("refused => {}", e.strip_backtrace()),
    };
    let (result, errors) = match planner.run(&plan, batch) {
        Ok(done) => done,
        Err(e) => return format!("failed => {e}"),
    };
    let column = result.column(0);
    let t =
        LogicalType::from_arrow(column.data_type()).map_or_else(|| column.data_type().to_string(), |t| t.to_string());
    match errors.iter().find(|e| e.row as usize == row) {
        Some(e) => format!("{t} => error: {}", e.message),
        None => format!("{t} => {}", shown(&column.slice(row, 1), planner.cx.time_zone)),
    }
}

/// The golden row, a row of NULLs, the golden row; a slice of a longer batch, so that offsets do not begin at 0.
fn golden_batch() -> RecordBatch {
    let row = golden_row();
    let nulls = row.columns().iter().map(|c| new_null_array(c.data_type(), 1)).collect();
    let fields: Vec<Field> = row.schema().fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let row = RecordBatch::try_new(schema.clone(), row.columns().to_vec()).unwrap();
    let nulls = RecordBatch::try_new(schema.clone(), nulls).unwrap();
    arrow::compute::concat_batches(&schema, [&row, &row, &nulls, &row]).unwrap().slice(1, 3)
}

/// What a column says must not depend on the rows beside it, and no rows give none.
#[test]
fn golden_cases_hold_for_every_row_of_a_batch() {
    let (batch, empty) = (golden_batch(), golden_batch().slice(0, 0));
    let planner = Planner::new(batch.schema());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/expr");
    let mut wrong = vec![];
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|_| path.extension().is_some_and(|e| e == "cases")) {
            let Some((expression, expected)) = case(line) else { continue };
            let Ok(plan) = planner.analyzed(&format!("SELECT {expression} AS x FROM t")) else { continue };
            for row in [0, 2] {
                let actual = outcome_of_row(&planner, &batch, Ok(plan.clone()), row);
                if !agrees(expected, &actual) {
                    wrong.push(format!("{expression}\n  expected {expected}\n  row {row}: {actual}"));
                }
            }
            match planner.run(&plan, &empty) {
                Ok((none, errors)) if none.num_rows() == 0 && errors.is_empty() => {}
                other => wrong.push(format!("{expression}\n  of no rows: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn shown(column: &ArrayRef, zone: chrono_tz::Tz) -> String {
    if column.is_null(0) {
        return "NULL".to_string();
    }
    if column.data_type().is_nested() {
        let mut json = String::new();
        json_text::JsonColumn::new(column, false, zone).unwrap().push(0, &mut json);
        return json;
    }
    let mut none = |_: usize, _: &'static str| {};
    let text = cast::cast(column, &LogicalType::STRING, zone, &mut cast::Failures::new(&mut none)).unwrap();
    let text = text.as_string::<i32>().value(0).to_string();
    if column.data_type() == &DataType::Utf8 { format!("'{text}'") } else { text }
}

/// `expression => expected`, without the remark after two blanks and a `#`.
fn case(line: &str) -> Option<(&str, &str)> {
    let line = line.split_once("  #").map_or(line, |(case, _)| case).trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    line.split_once(" => ")
}

/// An expected error or refusal is a part of the message.
fn agrees(expected: &str, actual: &str) -> bool {
    match (expected.split_once(" => "), actual.split_once(" => ")) {
        (Some((t, e)), Some((u, a))) if t == "refused" || e.starts_with("error: ") => {
            t == u
                && a.contains(e.trim_start_matches("error: "))
                && a.starts_with("error: ") == e.starts_with("error: ")
        }
        _ => expected == actual,
    }
}

#[test]
fn golden_cases() {
    let batch = golden_row();
    let planner = Planner::new(batch.schema());
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/expr");
    let (mut count, mut wrong) = (0, vec![]);
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|e| e != "cases") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let Some((expression, expected)) = case(line) else { continue };
            count += 1;
            let plan = planner.analyzed(&format!("SELECT {expression} AS x FROM t"));
            let plain = match &plan {
                Ok(p) => outcome(&planner, &batch, Ok(p.clone())),
                Err(e) => outcome(&planner, &batch, Err(plan_datafusion_err!("{}", e.strip_backtrace()))),
            };
            let optimized = outcome(&planner, &batch, plan.and_then(|p| planner.optimized(p)));
            for (how, actual) in [("as written", plain), ("optimized", optimized)] {
                if !agrees(expected, &actual) {
                    wrong.push(format!(
                        "{}:{}: {expression}\n  expected {expected}\n  {how}: {actual}",
                        path.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 120, "only {count} cases");
}

/// What differs between runs, or on purpose between systems.
fn is_of_the_moment(expression: &str) -> bool {
    let upper = expression.to_uppercase();
    ["CURRENT_", "LOCALTIME", "NOW(", "RAND", "UUID", "PROCTIME"].iter().any(|word| upper.contains(word))
}

/// Types as far as they say something: literals are CHAR in Flink.
fn bare_type(t: &str) -> &str {
    match t {
        t if t.starts_with("CHAR") || t.starts_with("VARCHAR") => "STRING",
        t if t.starts_with("BINARY") || t.starts_with("VARBINARY") => "BYTES",
        t => t,
    }
}

/// Whether both fail, or both give the same.
fn as_flink(flink: &str, ours: &str) -> bool {
    let fails = |t: &str| t == "refused" || t == "fails";
    match (flink.split_once(" => "), ours.split_once(" => ")) {
        (Some((ft, fv)), Some((ot, ov))) => {
            let (flink_fails, we_fail) = (fails(ft), fails(ot) || ov.starts_with("error: "));
            // Nested values have another text there.
            (flink_fails && we_fail)
                || (!flink_fails && !we_fail && (fv == "?" || (bare_type(ft) == bare_type(ot) && fv == ov)))
        }
        _ => false,
    }
}

/// `tests/oracle/flink.txt` is what a real Flink made of the cases (tests/oracle/run.sh). Every deviation stands with its
/// reason in `tests/oracle/deviations.txt`, and nothing else does.
#[test]
fn flink_gives_the_same_or_the_deviation_is_listed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/oracle");
    let flink = std::fs::read_to_string(format!("{folder}/flink.txt")).unwrap();
    let listed = std::fs::read_to_string(format!("{folder}/deviations.txt")).unwrap();
    let mut listed: HashMap<&str, &str> =
        listed.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once("  # ")).collect();
    let batch = golden_row();
    let planner = Planner::new(batch.schema());
    let (mut count, mut wrong) = (0, vec![]);
    for line in flink.lines().filter(|l| !l.starts_with('#')) {
        let Some((expression, theirs)) = line.split_once(" => ") else { continue };
        if is_of_the_moment(expression) {
            continue;
        }
        count += 1;
        let ours = outcome(&planner, &batch, planner.analyzed(&format!("SELECT {expression} AS x FROM t")));
        match (as_flink(theirs, &ours), listed.remove(expression)) {
            (true, None) => {}
            (true, Some(_)) => wrong.push(format!("{expression}  # is listed as a deviation and is none")),
            (false, Some(reason)) if !reason.trim().is_empty() => {}
            (false, _) => wrong.push(format!("{expression}\n  Flink {theirs}\n  ours  {ours}")),
        }
    }
    wrong.extend(listed.keys().map(|e| format!("{e}  # is listed and not in flink.txt")));
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 700, "only {count} cases");
}

#[test]
fn every_function_has_a_golden_case() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/expr");
    let cases: String = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "cases"))
        .map(|p| std::fs::read_to_string(p).unwrap().to_lowercase())
        .collect();
    let without_call = ["current_timestamp", "localtimestamp", "current_date", "current_time", "localtime"];
    let called = |name: &str| match without_call.contains(&name) {
        true => cases.contains(name),
        false => regex::Regex::new(&format!(r"\b{name}\(")).unwrap().is_match(&cases),
    };
    let missing: Vec<&str> = names().filter(|n| !called(n)).collect();
    assert!(missing.is_empty(), "no case in tests/expr: {missing:?}");
}

/// Six rows of `x` and `s`.
fn rows() -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([
        (
            "x",
            Arc::new(Int32Array::from(vec![Some(10), Some(0), Some(13), None, Some(500), Some(0)])) as ArrayRef,
            true,
        ),
        ("s", Arc::new(StringArray::from(vec![Some("1"), Some("2"), Some("x"), Some("4"), Some(""), None])), true),
    ])
    .unwrap()
}

/// The first column's values and (row, message) of the refused rows, the same with and without the optimizer.
fn evaluate(planner: &Planner, select: &str) -> (Vec<Option<String>>, Vec<RowError>) {
    let plan = planner.analyzed(select).unwrap();
    let (plain, errors) = planner.run(&plan, &rows()).unwrap();
    let (optimized, again) = planner.run(&planner.optimized(plan).unwrap(), &rows()).unwrap();
    assert_eq!((plain.column(0), errors.len()), (optimized.column(0), again.len()));
    let column = plain.column(0);
    let values = (0..column.len())
        .map(|i| column.is_valid(i).then(|| arrow::util::display::array_value_to_string(column, i).unwrap()))
        .collect();
    (values, errors)
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|v| (*v != "NULL").then(|| v.to_string())).collect()
}

fn refused(errors: &[RowError]) -> Vec<u32> {
    errors.iter().map(|e| e.row).collect()
}

#[test]
fn a_refused_row_leaves_the_others_alone_and_names_column_value_and_function() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT CAST(s AS INT) AS number FROM t");
    assert_eq!(values, texts(&["1", "2", "NULL", "4", "NULL", "NULL"]));
    let expected = RowError::new(2, Reason::Cast, "cannot cast 'x' from STRING to INT: it is not a number");
    assert_eq!(errors[0], expected.column("number").function("CAST"));
    assert_eq!(refused(&errors), vec![2, 4]);
}

#[test]
fn case_guards_what_it_does_not_reach() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT CASE WHEN x <> 0 THEN 1000 / x ELSE -1 END AS r FROM t");
    assert_eq!(values, texts(&["100", "-1", "76", "-1", "2", "-1"]));
    assert_eq!(errors, vec![]);
}

#[test]
fn and_or_guard_their_right_side_and_keep_row_numbers() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT x <> 0 AND 1000 / x > 50 AS r FROM t");
    assert_eq!(values, texts(&["true", "false", "true", "NULL", "false", "false"]));
    assert_eq!(errors, vec![]);
    let (values, errors) = evaluate(&planner, "SELECT x = 0 OR 1000 / x > 50 AS r FROM t");
    assert_eq!(values, texts(&["true", "true", "true", "NULL", "false", "true"]));
    assert_eq!(errors, vec![]);
    let (_, errors) = evaluate(&planner, "SELECT x > 0 AND CAST(s AS INT) > 0 AS r FROM t");
    assert_eq!(refused(&errors), vec![2, 4]);
}

#[test]
fn coalesce_does_not_evaluate_what_it_does_not_need() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT COALESCE(x, CAST(s AS INT), 7) AS r FROM t");
    assert_eq!(values, texts(&["10", "0", "13", "4", "500", "0"]));
    assert_eq!(errors, vec![]);
    // The refused row is known although its value is not NULL.
    let (values, errors) = evaluate(&planner, "SELECT COALESCE(CAST(s AS INT), 7) AS r FROM t");
    assert_eq!(values, texts(&["1", "2", "7", "4", "7", "7"]));
    assert_eq!(refused(&errors), vec![2, 4]);
}

#[test]
fn shared_subexpressions_stay_behind_their_guards() {
    let planner = Planner::new(rows().schema());
    let select = "SELECT COALESCE(s, CAST(1 / x AS STRING)) || COALESCE(s || '', CAST(1 / x AS STRING)) AS r FROM t";
    let (values, errors) = evaluate(&planner, select);
    assert_eq!(values, texts(&["11", "22", "xx", "44", "", "NULL"]));
    assert_eq!(refused(&errors), vec![5]);
    let select = "SELECT x <> 0 AND 9 / x > 1 AS r, x <> 0 AND 9 / x > 2 AS q FROM t";
    assert_eq!(evaluate(&planner, select).1, vec![]);
}

#[test]
fn a_row_is_refused_once_per_batch() {
    let planner = Planner::new(rows().schema());
    let (_, errors) = evaluate(&planner, "SELECT CAST(s AS INT) + 1 / x AS r, 5 / x AS q FROM t");
    assert_eq!(refused(&errors), vec![1, 2, 4, 5]);
    assert!(errors.iter().all(|e| e.column.as_deref() == Some("r")));
}

#[test]
fn a_failing_constant_refuses_rows_and_not_the_job() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT CASE WHEN x = 500 THEN CAST('?' AS INT) ELSE x END AS r FROM t");
    assert_eq!(values, texts(&["10", "0", "13", "NULL", "NULL", "0"]));
    assert_eq!(refused(&errors), vec![4]);
}

#[test]
fn filters_give_a_mask_and_the_refused_rows() {
    let planner = Planner::new(rows().schema());
    let (values, errors) = evaluate(&planner, "SELECT x FROM t WHERE CAST(s AS INT) >= 2");
    assert_eq!(values, texts(&["0", "NULL"]));
    assert_eq!(refused(&errors), vec![2, 4]);
}

#[test]
fn plain_columns_are_passed_on_and_build_nothing() {
    let batch = rows();
    let planner = Planner::new(batch.schema());
    let plan = planner.analyzed("SELECT s AS renamed, x FROM t").unwrap();
    let LogicalPlan::Projection(p) = &plan else { panic!("{plan}") };
    let names = ["renamed".to_string(), "x".to_string()];
    let compiled = compile(&p.expr, &names, p.input.schema(), &planner.cx).unwrap();
    assert_eq!(compiled.column_indices(), Some(vec![1, 0]));
    assert!(!compiled.is_identity(2));
    let result = compiled.evaluate(&batch).unwrap();
    assert!(Arc::ptr_eq(&result.columns[0], batch.column(1)));
}

#[test]
fn fallible_expressions_are_known_as_such() {
    let planner = Planner::new(rows().schema());
    let first = |select: &str| match planner.analyzed(select).unwrap() {
        LogicalPlan::Projection(p) => p.expr[0].clone(),
        other => panic!("{other}"),
    };
    for (expression, expected) in [
        ("x + 1", false),
        ("UPPER(s)", false),
        ("x / 2", true),
        ("CAST(s AS INT) = 1", true),
        ("s = 12", true),
        ("TRY_CAST(s AS INT)", false),
    ] {
        assert_eq!(is_fallible(&first(&format!("SELECT {expression} AS r FROM t"))), expected, "{expression}");
    }
}

#[test]
fn folding_errors_read_like_ours() {
    let nested = DataFusionError::Context(
        "Optimizer rule 'simplify_expressions' failed".to_string(),
        Box::new(DataFusionError::ArrowError(Box::new(arrow::error::ArrowError::DivideByZero), None)),
    );
    assert_eq!(fold_error(nested), "constant expression fails: division by zero");
}

/// `1000 / x`; zero is refused. Counts the rows it is called with.
#[derive(Debug)]
struct Reciprocal {
    policy: Option<FailurePolicy>,
    called_with: Arc<std::sync::Mutex<Vec<usize>>>,
}

impl function::ScalarFunction for Reciprocal {
    fn name(&self) -> &str {
        "recip"
    }
    fn bind(&self, args: &[DataType]) -> std::result::Result<function::BoundCall, String> {
        match args {
            [t] if t.is_integer() => Ok(function::BoundCall { args: vec![DataType::Int64], returns: DataType::Int64 }),
            _ => Err("takes one BIGINT".to_string()),
        }
    }
    fn deterministic(&self) -> bool {
        false
    }
    fn on_error(&self) -> Option<FailurePolicy> {
        self.policy
    }
    fn instantiate(&self, _: &function::BoundCall) -> crate::error::Result<Box<dyn function::ScalarInstance>> {
        Ok(Box::new(ReciprocalInstance(self.called_with.clone())))
    }
}

struct ReciprocalInstance(Arc<std::sync::Mutex<Vec<usize>>>);

impl function::ScalarInstance for ReciprocalInstance {
    fn call(&mut self, args: &[ArrayRef], rows: usize, errors: &mut Vec<RowError>) -> crate::error::Result<ArrayRef> {
        self.0.lock().unwrap().push(rows);
        let x = args[0].as_primitive::<Int64Type>();
        let mut answer = |i: usize| match x.is_valid(i).then(|| x.value(i)) {
            Some(0) => {
                errors.push(RowError::new(i as u32, Reason::Plugin, "no reciprocal of 0"));
                None
            }
            Some(-1) => Some(0),
            x => x.map(|x| 1000 / x),
        };
        Ok(Arc::new((0..rows).map(&mut answer).collect::<Int64Array>()))
    }
}

fn with_reciprocal(policy: Option<FailurePolicy>) -> (Planner, Arc<std::sync::Mutex<Vec<usize>>>) {
    let called_with = Arc::default();
    let f = Reciprocal { policy, called_with: Arc::clone(&called_with) };
    (Planner::new(rows().schema()).with_function(Arc::new(f)), called_with)
}

#[test]
fn user_functions_report_rows_of_the_batch_also_from_a_part_of_it() {
    let (planner, called_with) = with_reciprocal(Some(FailurePolicy::DeadLetter));
    let (values, errors) = evaluate(&planner, "SELECT CASE WHEN x < 100 THEN RECIP(x) ELSE -1 END AS r FROM t");
    assert_eq!(values, texts(&["100", "NULL", "76", "-1", "-1", "NULL"]));
    let expected = |row| {
        RowError::new(row, Reason::Plugin, "no reciprocal of 0")
            .column("r")
            .function("recip")
            .policy(Some(FailurePolicy::DeadLetter))
    };
    assert_eq!(errors, vec![expected(1), expected(5)]);
    assert_eq!(*called_with.lock().unwrap(), vec![4, 4]);
}

#[test]
fn user_functions_with_null_policy_report_nothing() {
    let (planner, _) = with_reciprocal(Some(FailurePolicy::Null));
    let (values, errors) = evaluate(&planner, "SELECT RECIP(x) AS r FROM t");
    assert_eq!(values, texts(&["100", "NULL", "76", "NULL", "2", "NULL"]));
    assert_eq!(errors, vec![]);
}

#[test]
fn user_functions_behind_and_see_only_open_rows() {
    let (planner, called_with) = with_reciprocal(None);
    let (values, errors) = evaluate(&planner, "SELECT x <> 0 AND recip(x) > 50 AS r FROM t");
    assert_eq!(values, texts(&["true", "false", "true", "NULL", "false", "false"]));
    assert_eq!(errors, vec![]);
    assert_eq!(*called_with.lock().unwrap(), vec![4, 4]);
}

#[test]
fn user_functions_refuse_other_types_at_plan_time() {
    let (planner, _) = with_reciprocal(None);
    let message = planner.analyzed("SELECT recip(s) AS r FROM t").unwrap_err().to_string();
    assert!(message.contains("recip: takes one BIGINT"), "{message}");
}

#[test]
fn the_clock_is_the_same_for_all_columns_of_a_batch() {
    let planner = Planner::new(rows().schema());
    let plan = planner.analyzed("SELECT PROCTIME() AS p, CURRENT_TIMESTAMP AS c, NOW() AS n FROM t").unwrap();
    let (result, _) = planner.run(&planner.optimized(plan).unwrap(), &rows()).unwrap();
    assert_eq!(result.num_rows(), 6);
    assert_eq!(result.column(0), result.column(1));
    assert_eq!(result.column(1), result.column(2));
}

#[test]
fn proctime_is_marked_in_its_field() {
    let planner = Planner::new(rows().schema());
    let plan = planner.analyzed("SELECT PROCTIME() AS p FROM t").unwrap();
    assert_eq!(plan.schema().field(0).metadata().get("time").map(String::as_str), Some("proctime"));
}

#[test]
fn a_scan_without_columns_still_has_rows() {
    let batch = rows();
    let planner = Planner::new(batch.schema());
    let plan = planner.analyzed("SELECT 1 AS one FROM t").unwrap();
    let (result, errors) = planner.run(&planner.optimized(plan).unwrap(), &batch).unwrap();
    assert_eq!((result.num_rows(), errors.len()), (6, 0));
}

#[test]
fn empty_batches_are_fine() {
    let batch = rows().slice(0, 0);
    let planner = Planner::new(batch.schema());
    for expression in [
        "CAST(s AS INT)",
        "UPPER(s)",
        "CONCAT(s, '-', s)",
        "1 / x",
        "COALESCE(x, 1)",
        "x <> 0 AND 1 / x > 0",
        "SUBSTRING(s, 2)",
        "CHAR_LENGTH(s)",
    ] {
        let plan = planner.analyzed(&format!("SELECT {expression} AS r FROM t")).unwrap();
        let (result, errors) = planner.run(&plan, &batch).unwrap();
        assert_eq!((result.num_rows(), errors.len()), (0, 0), "{expression}");
    }
}
