//! Guests of the SDKs, built here with their own tool chains, run by the engine.

use super::testing::*;
use super::{Limits, PluginModule};
use crate::data::{Batch, Column, LogicalType, Origin, Reason, RowError, RowKind, TableSchema};
use crate::formats::Encoded;
use arrow::array::*;
use arrow::buffer::NullBuffer;
use arrow::datatypes::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

pub(super) fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins")
}

pub(super) fn run(command: &mut Command) {
    let shown = format!("{command:?}");
    let output = command.output().unwrap_or_else(|e| panic!("{shown}: {e}"));
    assert!(output.status.success(), "{shown}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Cargo without what the outer cargo told this process about its own build.
pub(super) fn cargo_build(folder: &Path, target: &Path) {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("CARGO") || n.starts_with("RUSTC")) {
        if name != "CARGO_HOME" {
            command.env_remove(name);
        }
    }
    command.args(["build", "--release", "--offline", "--target", "wasm32-unknown-unknown", "--target-dir"]);
    run(command.arg(target).current_dir(folder));
}

/// A module of the plugins workspace.
pub(super) fn rust_guest(name: &str) -> Arc<PluginModule> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let target = plugins().join("target");
        cargo_build(&plugins(), &target);
        target.join("wasm32-unknown-unknown/release")
    });
    engine().load_module(&folder.join(format!("{name}.wasm"))).unwrap()
}

fn evaluate(module: &PluginModule, function: &str, args: &[ArrayRef]) -> (ArrayRef, Vec<RowError>) {
    let function = module.scalar(function, function, Limits::default(), None, vec![("k".into(), "v".into())]).unwrap();
    let types: Vec<DataType> = args.iter().map(|a| a.data_type().clone()).collect();
    let call = function.bind(&types).unwrap();
    let mut errors = Vec::new();
    let rows = args.first().map_or(3, |a| a.len());
    let result = function.instantiate(&call).unwrap().call(args, rows, &mut errors).unwrap();
    assert_eq!(result.data_type(), &call.returns);
    (result, errors)
}

#[test]
fn the_rust_sdk_carries_every_type_both_ways() {
    let module = rust_guest("echo");
    let nulls = || Some(NullBuffer::from(vec![true, false, true, true]));
    let timestamps = || TimestampMicrosecondArray::new(vec![-1, 0, i64::MAX, i64::MIN].into(), nulls());
    let cases: Vec<(&str, ArrayRef)> = vec![
        ("echo_boolean", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
        ("echo_tinyint", Arc::new(Int8Array::new(vec![-128, 0, 127, 1].into(), nulls()))),
        ("echo_smallint", Arc::new(Int16Array::new(vec![i16::MIN, 0, i16::MAX, 1].into(), nulls()))),
        ("echo_int", Arc::new(Int32Array::new(vec![i32::MIN, 0, i32::MAX, 1].into(), nulls()))),
        ("echo_option", Arc::new(Int32Array::new(vec![i32::MIN, 0, i32::MAX, 1].into(), nulls()))),
        ("echo_bigint", Arc::new(Int64Array::new(vec![i64::MIN, 0, i64::MAX, 1].into(), nulls()))),
        ("echo_float", Arc::new(Float32Array::new(vec![-0.0, 0.0, f32::INFINITY, 1e-40].into(), nulls()))),
        ("echo_double", Arc::new(Float64Array::new(vec![-0.0, 0.0, f64::MAX, 5e-324].into(), nulls()))),
        ("echo_string", Arc::new(StringArray::from(vec![Some("üß"), None, Some(""), Some("😀")]))),
        ("echo_str", Arc::new(StringArray::from(vec![Some("üß"), None, Some(""), Some("😀")]))),
        ("echo_bytes", Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None, Some(b""), Some(b"abc")]))),
        (
            "echo_decimal",
            Arc::new(
                Decimal128Array::new(vec![-1, 0, 10i128.pow(19), 5].into(), nulls())
                    .with_precision_and_scale(20, 4)
                    .unwrap(),
            ),
        ),
        ("echo_date", Arc::new(Date32Array::new(vec![-1, 0, 20_000, 1].into(), nulls()))),
        ("echo_time", Arc::new(Time64MicrosecondArray::new(vec![0, 0, 86_399_999_999, 1].into(), nulls()))),
        ("echo_timestamp", Arc::new(timestamps())),
        ("echo_timestamp_ltz", Arc::new(timestamps().with_timezone("UTC"))),
    ];
    for (function, array) in cases {
        let (result, errors) = evaluate(&module, function, std::slice::from_ref(&array));
        assert_eq!(errors, [], "{function}");
        assert_eq!(&result, &array, "{function}");
    }
}

#[test]
fn the_rust_sdk_turns_errors_and_panics_into_refused_rows() {
    let module = rust_guest("echo");
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("5"), Some("x"), Some("0"), None]));
    let (result, errors) = evaluate(&module, "parse", std::slice::from_ref(&text));
    assert_eq!(result.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(5), None, None, None]));
    let refused = RowError::new(1, Reason::Plugin, "invalid digit found in string").function("parse");
    assert_eq!(errors, [refused]);

    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 13, 2]));
    let (result, errors) = evaluate(&module, "unlucky", &[numbers]);
    assert_eq!(result.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), None, Some(2)]));
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].reason, Reason::PluginTrap);
    assert!(errors[0].message.starts_with("panicked at echo/src/lib.rs:"), "{}", errors[0].message);
    assert!(errors[0].message.contains("thirteen is not served"), "{}", errors[0].message);
}

#[test]
fn the_rust_sdk_handles_null_config_rows_and_no_arguments() {
    let module = rust_guest("echo");
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("k"), None, Some("other")]));
    let (lengths, _) = evaluate(&module, "len_or_zero", std::slice::from_ref(&text));
    assert_eq!(lengths.as_primitive::<Int32Type>().values()[..], [1, 0, 5]);
    let (options, _) = evaluate(&module, "option_of", &[text]);
    assert_eq!(options.as_string::<i32>(), &StringArray::from(vec![Some("v"), None, None]));
    let (answers, _) = evaluate(&module, "answer", &[]);
    assert_eq!(answers.as_primitive::<Int32Type>().values()[..], [42, 42, 42]);

    let ints: ArrayRef = Arc::new(Int16Array::from(vec![Some(1), None, Some(3)]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", ""]));
    let widened = arrow::compute::cast(&ints, &DataType::Int64).unwrap();
    let (rows, _) = evaluate(&module, "rowOf", &[widened, text]);
    let rows = rows.as_struct();
    assert!(rows.is_null(1));
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().value(2), 3);
    assert_eq!((rows.column(1).as_string::<i32>().value(0), rows.column(1).is_null(2)), ("A", true));

    let text: ArrayRef = Arc::new(StringArray::from(vec!["abcd", "", "null", "é"]));
    let (rows, errors) = evaluate(&module, "halves", &[text]);
    assert_eq!(errors, [RowError::new(1, Reason::Plugin, "empty").function("halves")]);
    let rows = rows.as_struct();
    assert_eq!((rows.is_null(1), rows.is_null(2), rows.null_count()), (true, true, 2));
    let (first, second) = (rows.column(0).as_string::<i32>(), rows.column(1).as_string::<i32>());
    assert_eq!((first.value(0), second.value(0), first.value(3), second.value(3)), ("ab", "cd", "", "é"));
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_the_signature() {
    let module = rust_guest("echo");
    let function = module.scalar("echo_int", "f", Limits::default(), None, vec![]).unwrap();
    assert_eq!(
        function.bind(&[DataType::Utf8]).unwrap_err(),
        "argument 1 of echo_int(INT) -> INT cannot be STRING; CAST it"
    );
    assert!(function.deterministic());
    assert!(!module.scalar("rowOf", "f", Limits::default(), None, vec![]).unwrap().deterministic());
    let error = module.scalar("nope", "f", Limits::default(), None, vec![]).unwrap_err();
    assert!(
        error.message.contains("echo.wasm: has no function 'nope'; its scalar functions are: answer, echo_bigint,"),
        "{error}"
    );
    let error = module.scalar("pairs", "f", Limits::default(), None, vec![]).unwrap_err();
    assert!(error.message.ends_with("'pairs' is a formatter function, a scalar function is needed here"), "{error}");
}

#[test]
fn large_rows_are_split_by_size_and_a_row_that_cannot_fit_is_refused() {
    let module = rust_guest("echo");
    let function =
        module.scalar("echo_str", "f", Limits { memory: 16 << 20, ..Limits::default() }, None, vec![]).unwrap();
    let call = function.bind(&[DataType::Utf8]).unwrap();
    let (large, huge) = ("x".repeat(1 << 20), "y".repeat(17 << 20));
    let values: Vec<&str> = (0..12).map(|i| if i == 7 { huge.as_str() } else { large.as_str() }).collect();
    let argument: ArrayRef = Arc::new(StringArray::from(values.clone()));
    let mut errors = Vec::new();
    let result = function.instantiate(&call).unwrap().call(&[argument], 12, &mut errors).unwrap();
    let result = result.as_string::<i32>();
    assert_eq!((0..12).filter(|i| result.is_null(*i)).collect::<Vec<_>>(), [7]);
    assert!((0..12).filter(|i| *i != 7).all(|i| result.value(i) == values[i]));
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.ends_with("bytes for one call are more than the memory limit of 16 MiB"), "{errors:?}");
}

#[test]
fn a_million_rows_leave_the_memory_flat() {
    // 500 kB of text a call in a guest of 4 MiB: a leak of a thousandth of it would end this before its time.
    let module = rust_guest("echo");
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let function = module.scalar("echo_str", "f", limits, None, vec![]).unwrap();
    let call = function.bind(&[DataType::Utf8]).unwrap();
    let mut instance = function.instantiate(&call).unwrap();
    let argument: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("{i:0>300}"))));
    let mut errors = Vec::new();
    for _ in 0..1000 {
        instance.call(std::slice::from_ref(&argument), 1000, &mut errors).unwrap();
    }
    assert_eq!(errors, []);
}

pub(super) fn table(columns: &[(&str, LogicalType)]) -> TableSchema {
    TableSchema::new(columns.iter().map(|(n, t)| Column::new(*n, t.clone(), true)).collect())
}

#[test]
fn a_formatter_gives_records_none_and_errors() {
    let module = rust_guest("echo");
    let schema = table(&[("id", LogicalType::BigInt), ("at", LogicalType::Timestamp(3))]);
    let config = vec![("separator".to_string(), ";".to_string())];
    let formatter = module.formatter(Some("pairs"), &schema, config, Limits::default()).unwrap();
    let columns = RecordBatch::try_new(
        schema.to_arrow(),
        vec![
            Arc::new(Int64Array::from(vec![Some(1), None, Some(13), Some(4)])),
            Arc::new(TimestampMillisecondArray::from(vec![Some(1500), Some(0), Some(0), None])),
        ],
    )
    .unwrap();
    let mut batch = Batch::new(columns, Origin::unknown());
    batch.kinds = Some([RowKind::Insert, RowKind::Insert, RowKind::Insert, RowKind::Delete].into());
    let (mut out, mut errors) = (Encoded::default(), Vec::new());
    formatter.encoder().unwrap().encode(&batch, &mut out, &mut errors).unwrap();
    let first = "Insert;id=1;at=1970-01-01 00:00:01.500";
    let second = "Delete;id=4;at=";
    assert_eq!(String::from_utf8(out.bytes).unwrap(), format!("{first}{second}"));
    assert_eq!(out.records, [(first.len(), 0), (first.len() + second.len(), 3)]);
    assert_eq!(errors, [RowError::new(2, Reason::Plugin, "13 is not written").function("pairs")]);
}

#[test]
fn a_formatter_must_be_named_where_there_are_several() {
    let module = rust_guest("echo");
    let schema = table(&[("id", LogicalType::BigInt)]);
    let error = module.formatter(None, &schema, vec![], Limits::default()).unwrap_err();
    assert!(error.message.ends_with("has several formatters (pairs, raw); name one with 'wasm.function'"), "{error}");
    let only = rust_guest("console_table").formatter(None, &schema, vec![], Limits::default()).unwrap();
    assert_eq!(only.name(), "console_table");
    let error = rust_guest("flight_status").formatter(None, &schema, vec![], Limits::default()).unwrap_err();
    assert!(error.message.ends_with("flight_status.wasm: has no formatter"), "{error}");
}

#[test]
fn the_demo_functions_say_what_a_departure_board_says() {
    let module = rust_guest("flight_status");
    let delays: ArrayRef = Arc::new(Int32Array::from(vec![Some(-3), Some(14), Some(15), Some(60), None]));
    let (classes, _) = evaluate(&module, "delay_class", &[delays]);
    let expected = vec!["early", "on time", "delayed", "badly delayed", "cancelled"];
    assert_eq!(classes.as_string::<i32>(), &StringArray::from(expected));
    let times: ArrayRef = Arc::new(Int32Array::from(vec![Some(517), Some(2400), Some(2460), None]));
    let (shown, errors) = evaluate(&module, "clock_time", &[times]);
    assert_eq!(shown.as_string::<i32>(), &StringArray::from(vec![Some("05:17"), Some("24:00"), None, None]));
    assert_eq!(errors[0].message, "2460 is not a time of day");
}

/// The recipe of plugins/c-upper/README.md.
#[test]
fn a_guest_in_c_made_from_the_abis_page_alone_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c-upper.wasm");
    let flags = "--target=wasm32-unknown-unknown -O2 -Wall -Wextra -Werror -nostdlib -ffreestanding -mbulk-memory \
                 -Wl,--no-entry -Wl,--strip-all -o";
    let mut clang = Command::new("clang-19");
    clang.args(flags.split_whitespace()).arg(&file).arg(plugins().join("c-upper/upper.c"));
    run(&mut clang);
    let module = engine().load_module(&file).unwrap();

    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("abc-ü"), None, Some(""), Some("Z")]));
    let expected = StringArray::from(vec![Some("ABC-ü"), None, Some(""), Some("Z")]);
    assert_eq!(evaluate(&module, "ascii_upper", &[text]), (Arc::new(expected) as ArrayRef, vec![]));

    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(4), Some(5), None, Some(-6), Some(7)]));
    let (halves, errors) = evaluate(&module, "half", &[numbers]);
    assert_eq!(halves.as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(2), None, None, Some(-3), None]));
    let refused = |row| RowError::new(row, Reason::Plugin, "the number is odd").function("half");
    assert_eq!(errors, [refused(1), refused(4)]);

    let limits = Limits { memory: 1 << 20, ..Limits::default() };
    let function = module.scalar("ascii_upper", "f", limits, None, vec![]).unwrap();
    let mut instance = function.instantiate(&function.bind(&[DataType::Utf8]).unwrap()).unwrap();
    let argument: ArrayRef = Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("{i:a>60}"))));
    let mut errors = Vec::new();
    for _ in 0..1000 {
        instance.call(std::slice::from_ref(&argument), 1000, &mut errors).unwrap();
    }
    assert_eq!(errors, []);
}

#[test]
fn a_scaffolded_project_builds_offline_and_its_functions_run() {
    let parent = tempfile::tempdir().unwrap();
    let made = super::scaffold(parent.path(), "rust", super::ScaffoldKind::Scalar, "my-plugin").unwrap();
    cargo_build(&made.folder, &made.folder.join("target"));
    let file = made.folder.join("target/wasm32-unknown-unknown/release/my_plugin.wasm");
    let module = engine().load_module(&file).unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("secret"), None]));
    let (masked, _) = evaluate(&module, "mask", &[text]);
    assert_eq!(masked.as_string::<i32>(), &StringArray::from(vec![Some("s*****"), None]));
    let job = std::fs::read_to_string(made.folder.join("job.sql")).unwrap();
    assert!(job.contains("USING 'target/wasm32-unknown-unknown/release/my_plugin.wasm'"));
    let report = super::inspect::inspect_with(engine(), &file).unwrap();
    assert!(report.contains("plugin       my-plugin 0.1.0"), "{report}");
    assert!(report.contains("scalar     mask(STRING) -> STRING"), "{report}");
    assert!(report.contains("imports      none"), "{report}");
}
