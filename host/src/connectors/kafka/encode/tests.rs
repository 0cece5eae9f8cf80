use super::*;
use crate::connectors::testing::{batch, context, with_format};
use crate::data::{Column, LogicalType, Origin};
use crate::formats::FormatContext;
use crate::formats::testing::options;
use std::path::Path;

fn columns(names: &[&str]) -> Vec<Column> {
    names.iter().map(|n| Column::new(*n, LogicalType::STRING, true)).collect()
}

/// A table whose columns are all in the value, `key` in the key, too.
fn table(names: &[&str], format: &str, key: &[usize]) -> TableContext {
    let mut cx = with_format(context(Path::new("/"), columns(names), &[]), format, &[("quote-character", "\"")]);
    cx.value_columns = (0..names.len()).collect();
    cx.key_columns = key.to_vec();
    if !key.is_empty() {
        let schema = crate::data::TableSchema::new(key.iter().map(|i| cx.schema.columns[*i].clone()).collect());
        let key_context = FormatContext {
            table: "t".into(),
            schema,
            options: options(&[]),
            time_zone: chrono_tz::UTC,
            null_on_error: false,
            record_width: None,
            declared: None,
        };
        cx.key_format = Some(crate::connectors::native_format::NativeFormat::bind("json", key_context).unwrap());
    }
    cx
}

/// `key = value` of each record, and how many rows were left out.
fn records(cx: &TableContext, mode: ChangeMode, lines: &[&str], kinds: &[RowKind]) -> (Vec<String>, usize) {
    let mut encoder = RecordEncoder::new(cx, mode).unwrap();
    let mut rows = batch(&cx.schema.columns, lines);
    rows.origin = Origin::unknown();
    rows.kinds = (!kinds.is_empty()).then(|| kinds.into());
    let (mut out, mut errors) = (vec![], vec![]);
    let left_out = encoder.encode(&rows, &mut out, &mut errors).unwrap();
    assert_eq!(errors, []);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let shown = out.iter().map(|r| {
        let key = r.key.clone().map_or("-".to_string(), |k| text(&encoder.keys()[k]));
        let value = r.value.clone().map_or("-".to_string(), |v| text(&encoder.values()[v]));
        format!("{key} = {value}")
    });
    (shown.collect(), left_out)
}

const KINDS: [RowKind; 4] = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];
const LINES: [&str; 4] =
    [r#"{"a":"1","b":"x"}"#, r#"{"a":"1","b":"x"}"#, r#"{"a":"1","b":"y"}"#, r#"{"a":"1","b":"y"}"#];

#[test]
fn upserts_delete_by_a_record_without_a_value() {
    let (records, left_out) = records(&table(&["a", "b"], "json", &[0]), ChangeMode::Upsert, &LINES, &KINDS);
    assert_eq!(records, [r#"{"a":"1"} = {"a":"1","b":"x"}"#, r#"{"a":"1"} = {"a":"1","b":"y"}"#, r#"{"a":"1"} = -"#]);
    assert_eq!(left_out, 1);
}

#[test]
fn append_leaves_out_what_is_taken_back() {
    let (records, left_out) = records(&table(&["a", "b"], "json", &[]), ChangeMode::AddedOnly, &LINES, &KINDS);
    assert_eq!(records, [r#"- = {"a":"1","b":"x"}"#, r#"- = {"a":"1","b":"y"}"#]);
    assert_eq!(left_out, 2);
}

#[test]
fn retract_is_a_member_of_json() {
    let (rows, left_out) = records(&table(&["a"], "json", &[]), ChangeMode::Retract, &LINES, &KINDS);
    assert_eq!(
        rows,
        [
            r#"- = {"a":"1","retract":true}"#,
            r#"- = {"a":"1","retract":false}"#,
            r#"- = {"a":"1","retract":true}"#,
            r#"- = {"a":"1","retract":false}"#
        ]
    );
    assert_eq!(left_out, 0);
}

#[test]
fn b40_retract_is_one_more_field_of_csv_in_every_record() {
    let cx = table(&["name", "n"], "csv", &[]);
    let lines = [r#"{"name":"zs","n":"330"}"#, r#"{"name":"ls","n":"5"}"#];
    assert_eq!(records(&cx, ChangeMode::Retract, &lines, &[]).0, ["- = zs,330,true", "- = ls,5,true"]);
}

#[test]
fn b38_the_key_holds_every_key_field_and_null_for_what_is_not_there() {
    let cx = table(&["channel", "pv"], "json", &[0, 1]);
    let (rows, _) = records(&cx, ChangeMode::AddedOnly, &[r#"{"channel":"aa","pv":null}"#], &[]);
    assert_eq!(rows, [r#"{"channel":"aa","pv":null} = {"channel":"aa","pv":null}"#]);
}

#[test]
fn a_null_of_the_raw_format_is_a_record_without_a_value() {
    let raw = |cx: &mut TableContext| {
        let mut one = with_format(context(Path::new("/"), columns(&["b"]), &[]), "raw", &[]);
        cx.format = one.format.take();
        cx.value_columns = vec![1];
    };
    let mut cx = table(&["a", "b"], "json", &[0]);
    raw(&mut cx);
    let mut encoder = RecordEncoder::new(&cx, ChangeMode::AsFormat(ChangelogMode::Append)).unwrap();
    let rows = batch(&cx.schema.columns, &[r#"{"a":"1","b":"x"}"#, r#"{"a":"2"}"#, r#"{"a":"3","b":"z"}"#]);
    let (mut out, mut errors) = (vec![], vec![]);
    encoder.encode(&rows, &mut out, &mut errors).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let records: Vec<_> = out
        .iter()
        .map(|r| {
            let key = text(&encoder.keys()[r.key.clone().unwrap()]);
            (key, r.value.clone().map(|v| text(&encoder.values()[v])))
        })
        .collect();
    let record = |key: &str, value: Option<&str>| (format!("{{\"a\":\"{key}\"}}"), value.map(str::to_string));
    assert_eq!(records, [record("1", Some("x")), record("2", None), record("3", Some("z"))]);
}
