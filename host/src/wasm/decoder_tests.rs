//! Decoders: the hostile ones of plugins/hostile/decoder, those of the SDKs, and what the host asks of rows.

use super::guest_tests::{cargo_build, plugins, run, rust_guest, table};
use super::testing::*;
use super::{Limits, PluginModule};
use crate::data::{Column, Envelope, LogicalType as T, Reason, RecordChunk, RowError, TableSchema};
use crate::formats::testing::{chunk, rows_as_json};
use crate::formats::{Decoded, Decoder};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Modules that break at the record 13, and what the record's error says.
const BROKEN: [(&str, &str); 10] = [
    ("lying-rows.wat", "frame: section 6 has 4 bytes for 2 rows of 4"),
    ("many-rows.wat", "frame: 2000000000 rows in one answer, 1048576 are possible"),
    ("source-outside.wat", "source rows: row 1000000 of 1 is out of range or order"),
    ("source-falls.wat", "source rows: row 4294967295 of 1 is out of range or order"),
    ("no-source.wat", "frame: no section of source rows, which says the record of each row"),
    ("row-kinds.wat", "frame: a section of row kinds; decoders give inserts only"),
    ("refused-with-rows.wat", "frame: record 0 is refused and has rows"),
    ("trap.wat", "`unreachable` instruction executed"),
    ("endless.wat", "`unreachable` instruction executed, after memory over its limit of 4 MiB was refused"),
    ("honest", ""),
];

fn limits() -> Limits {
    Limits { cpu: Duration::from_millis(200), memory: 4 << 20, ..Limits::default() }
}

fn decoder(module: &PluginModule, name: Option<&str>, schema: &TableSchema, limits: Limits) -> Box<dyn Decoder> {
    module.decoder(name, schema, vec![], limits).unwrap().decoder().unwrap()
}

fn decode(module: &PluginModule, name: &str, columns: Vec<Column>, lines: &[&str]) -> Decoded {
    decoder(module, Some(name), &TableSchema::new(columns), Limits::default()).decode(&chunk(lines)).unwrap()
}

fn copy_of(chunk: &RecordChunk) -> RecordChunk {
    RecordChunk { bytes: chunk.bytes.clone(), records: chunk.records.clone(), ..RecordChunk::default() }
}

fn messages(errors: &[RowError]) -> Vec<(u32, &str)> {
    errors.iter().map(|e| (e.row, e.message.as_str())).collect()
}

#[test]
fn every_hostile_decoder_has_a_test() {
    let files: BTreeSet<String> = std::fs::read_dir(hostile_folder().join("decoder"))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|n| n != "guest.wat" && n != "defaults.wat")
        .collect();
    assert_eq!(files, BROKEN.iter().map(|t| t.0).filter(|n| *n != "honest").map(String::from).collect());
}

#[test]
fn a_broken_record_is_refused_and_all_others_become_rows() {
    // 1,500 records: two calls, a bad record in both.
    let value = |i: i64| if i == 700 || i == 1400 { 13 } else { i + 1000 };
    let records: Vec<[u8; 8]> = (0..1500).map(|i| value(i).to_le_bytes()).collect();
    let columns = table(&[("n", T::BigInt)]);
    for (name, message) in BROKEN {
        let module = load_decoder(name).unwrap();
        let mut decoder = decoder(&module, None, &columns, limits());
        let decoded = decoder.decode(&chunk(&records)).unwrap();
        let bad: &[u32] = if message.is_empty() { &[] } else { &[700, 1400] };
        assert_eq!(messages(&decoded.errors), bad.iter().map(|b| (*b, message)).collect::<Vec<_>>(), "{name}");
        for error in &decoded.errors {
            assert_eq!((error.reason, error.function.as_deref()), (Reason::PluginTrap, Some("d")), "{name}");
        }
        let expected: Vec<u32> = (0..1500).filter(|i| !bad.contains(i)).collect();
        assert_eq!(decoded.records.as_ref(), Some(&expected), "{name}");
        let found = decoded.columns.column(0).as_primitive::<Int64Type>().values().to_vec();
        assert_eq!(found, expected.iter().map(|i| value(i64::from(*i))).collect::<Vec<_>>(), "{name}");
        // the same decoder, the next chunk
        let next = decoder.decode(&chunk(&[1_i64.to_le_bytes(), 2_i64.to_le_bytes()])).unwrap();
        assert_eq!((next.columns.num_rows(), next.errors.len()), (2, 0), "{name}");
    }
}

fn log_columns() -> Vec<Column> {
    vec![
        Column::new("level", T::STRING, false),
        Column::new("took", T::Int, true),
        Column::new("at", T::Timestamp(3), true),
        Column::new("msg", T::STRING, true),
    ]
}

#[test]
fn a_line_of_pairs_is_a_row_a_comment_is_none_and_a_bad_value_refuses_its_record() {
    let lines = [
        r#"level=warn took=12 at=2020-02-29T23:59:59.5Z msg="disk \"a\" is full" other=1"#,
        "# a comment",
        "took=1",
        "level=info took=soon",
        "level=info msg=\"open",
        "",
        "level=info took=7 done",
    ];
    let decoded = decode(&rust_guest("log_lines"), "logfmt", log_columns(), &lines);
    assert_eq!(
        rows_as_json(&decoded.columns),
        [
            r#"{"level":"warn","took":12,"at":"2020-02-29 23:59:59.5","msg":"disk \"a\" is full"}"#,
            r#"{"level":"info","took":7,"at":null,"msg":null}"#,
        ]
    );
    assert_eq!(decoded.records, Some(vec![0, 6]));
    assert_eq!(
        messages(&decoded.errors),
        [
            (2, "is NULL or missing, but the column is NOT NULL"),
            (3, "column took (INT): 'soon' does not fit"),
            (4, "msg: a quote that does not end"),
        ]
    );
    assert_eq!(decoded.errors[0].reason, Reason::NotNull);
    assert_eq!(decoded.errors[0].column.as_deref(), Some("level"));
    assert_eq!((decoded.errors[1].reason, decoded.errors[1].function.as_deref()), (Reason::Plugin, Some("logfmt")));
}

#[test]
fn a_record_gives_several_rows_or_none_and_each_names_it() {
    let columns = vec![
        Column::new("sensor", T::STRING, true),
        Column::new("at", T::BigInt, true),
        Column::new("value", T::Decimal(6, 2), true),
    ];
    let lines = ["a 10 1.5 - 2", "b 0", "c x 1", "d 5 7 bad", "e 1 0.25"];
    let decoded = decode(&rust_guest("log_lines"), "samples", columns, &lines);
    assert_eq!(
        rows_as_json(&decoded.columns),
        [
            r#"{"sensor":"a","at":10,"value":1.50}"#,
            r#"{"sensor":"a","at":12,"value":2.00}"#,
            r#"{"sensor":"e","at":1,"value":0.25}"#,
        ]
    );
    assert_eq!(decoded.records, Some(vec![0, 0, 4]));
    let refused = [(2, "'x' is not the number of a sample"), (3, "column value (DECIMAL(6, 2)): 'bad' does not fit")];
    assert_eq!(messages(&decoded.errors), refused);
}

#[test]
fn rows_are_counted_even_if_no_column_is_needed() {
    let decoded = decode(&rust_guest("log_lines"), "samples", vec![], &["a 0 1 2 3", "b 0 1"]);
    assert_eq!((decoded.columns.num_rows(), decoded.records), (4, Some(vec![0, 0, 0, 1])));
}

#[test]
fn a_record_without_a_value_is_told_from_an_empty_one() {
    let mut records = copy_of(&chunk(&["", ""]));
    records.envelopes = vec![Envelope { no_value: true, ..Envelope::default() }, Envelope::default()];
    let schema = TableSchema::new(log_columns());
    let decoded = decoder(&rust_guest("log_lines"), Some("logfmt"), &schema, Limits::default())
        .decode(&Arc::new(records))
        .unwrap();
    assert_eq!(messages(&decoded.errors), [(0, "the record has no value")]);
}

#[test]
fn a_decoder_must_be_there_and_be_named_where_there_are_several() {
    let columns = table(&[("n", T::BigInt)]);
    let refusal = |name: &str, function: Option<&str>| {
        rust_guest(name).decoder(function, &columns, vec![], Limits::default()).unwrap_err().message
    };
    let several = refusal("log_lines", None);
    assert!(several.ends_with("has several decoders (logfmt, samples); name one with 'wasm.function'"), "{several}");
    assert!(refusal("console_table", None).ends_with("has no decoder"));
    let other = refusal("console_table", Some("console_table"));
    assert!(other.ends_with("'console_table' is a formatter function, a decoder function is needed here"), "{other}");
}

#[test]
fn a_million_records_leave_a_decoders_memory_flat() {
    let limits = Limits { memory: 4 << 20, ..Limits::default() };
    let columns = table(&[("level", T::STRING), ("took", T::Int)]);
    let mut decoder = decoder(&rust_guest("log_lines"), Some("logfmt"), &columns, limits);
    let lines: Vec<String> = (0..1000).map(|i| format!("level=info took={i} msg=\"{i:0>100}\"")).collect();
    let records = chunk(&lines);
    for _ in 0..200 {
        assert_eq!(decoder.decode(&records).unwrap().errors, []);
    }
}

#[test]
fn a_project_made_for_a_decoder_builds_offline_and_decodes_its_input() {
    let parent = tempfile::tempdir().unwrap();
    let made = super::scaffold(parent.path(), "rust", super::ScaffoldKind::Decoder, "my-lines").unwrap();
    cargo_build(&made.folder, &made.folder.join("target"));
    let module =
        engine().load_module(&made.folder.join("target/wasm32-unknown-unknown/release/my_lines.wasm")).unwrap();
    let input = std::fs::read_to_string(made.folder.join("input.log")).unwrap();
    let columns = vec![Column::new("at", T::Timestamp(3), true), Column::new("message", T::STRING, true)];
    let decoded = decode(&module, "lines", columns, &input.lines().collect::<Vec<_>>());
    assert_eq!(rows_as_json(&decoded.columns)[2], r#"{"at":"2020-03-01 00:00:01","message":"disk is full"}"#);
    assert_eq!(messages(&decoded.errors), [(4, "column at (TIMESTAMP(3)): 'yesterday' does not fit")]);
}

/// The recipe of plugins/c-decoder/README.md.
#[test]
fn a_decoder_in_c_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c-decoder.wasm");
    let flags = "--target=wasm32-unknown-unknown -O2 -Wall -Wextra -Werror -nostdlib -ffreestanding -mbulk-memory \
                 -Wl,--no-entry -Wl,--strip-all -o";
    let mut clang = std::process::Command::new("clang-19");
    clang.args(flags.split_whitespace()).arg(&file).arg(plugins().join("c-decoder/fixed.c"));
    run(&mut clang);
    let module = engine().load_module(&file).unwrap();
    let columns = vec![
        Column::new("amount", T::BigInt, true),
        Column::new("id", T::Int, true),
        Column::new("name", T::STRING, true),
    ];
    let lines = ["000001Ada       10 20", "#", "000002          7", "x00003Bad       1", "000004None      "];
    let decoded = decode(&module, "fixed", columns, &lines);
    assert_eq!(
        rows_as_json(&decoded.columns),
        [
            r#"{"amount":10,"id":1,"name":"Ada"}"#,
            r#"{"amount":20,"id":1,"name":"Ada"}"#,
            r#"{"amount":7,"id":2,"name":null}"#,
        ]
    );
    assert_eq!(decoded.records, Some(vec![0, 0, 2]));
    assert_eq!(messages(&decoded.errors), [(3, "the first six characters are no number")]);
    // The query needs one column, then none.
    let one = decode(&module, "fixed", vec![Column::new("name", T::STRING, true)], &lines[..1]);
    assert_eq!(rows_as_json(&one.columns), [r#"{"name":"Ada"}"#; 2]);
    assert_eq!(decode(&module, "fixed", vec![], &lines[..1]).columns.num_rows(), 2);
    let wrong = table(&[("id", T::STRING)]);
    let error = module.decoder(None, &wrong, vec![], Limits::default()).unwrap_err();
    assert!(error.message.ends_with("decoder fixed: a column has another type than the decoder gives"), "{error}");
}
