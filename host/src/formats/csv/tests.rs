use super::*;
use crate::data::{Batch, Column, LogicalType as T, Origin, PathStep, RecordChunk};
use crate::formats::Encoded;
use crate::formats::testing::{chunk, column, context, records, rows_as_json};
use std::sync::Arc;

fn id_and_name() -> Vec<Column> {
    vec![column("id", T::Int), column("name", T::STRING)]
}

fn decode(cx: &FormatContext, lines: &[&str]) -> (Vec<String>, Vec<String>) {
    let d = Csv.decoder(cx).unwrap().decode(&chunk(lines)).unwrap();
    (rows_as_json(&d.columns), d.errors.into_iter().map(|e| e.message).collect())
}

#[test]
fn empty_fields_are_null_except_for_text_b43() {
    let (rows, errors) = decode(&context(id_and_name(), &[]), &[",a", ",", "\"\",\"\""]);
    assert_eq!(rows, [r#"{"id":null,"name":"a"}"#, r#"{"id":null,"name":""}"#, r#"{"id":null,"name":""}"#]);
    assert!(errors.is_empty());
    let cx = context(id_and_name(), &[("null-literal", "")]);
    assert_eq!(decode(&cx, &[",", "1,\"\""]).0, [r#"{"id":null,"name":null}"#, r#"{"id":1,"name":""}"#]);
}

#[test]
fn the_null_literal_is_null_unless_quoted() {
    let cx = context(id_and_name(), &[("null-literal", "NA")]);
    let (rows, errors) = decode(&cx, &["NA,NA", "1,\"NA\""]);
    assert_eq!(rows, [r#"{"id":null,"name":null}"#, r#"{"id":1,"name":"NA"}"#]);
    assert!(errors.is_empty());
}

#[test]
fn quotes_can_be_switched_off_b41() {
    let cx = context(id_and_name(), &[("disable-quote-character", "true")]);
    assert_eq!(decode(&cx, &["1,\"ab"]).0, [r#"{"id":1,"name":"\"ab"}"#]);
    assert_eq!(Csv.framing(&cx.options).unwrap(), Framing::Lines);
}

#[test]
fn each_bad_record_is_its_own_error() {
    let (rows, errors) =
        decode(&context(id_and_name(), &[]), &["x,a", "1,\"a", "1,a,b", "2", "3,\"a\"\",\nb\"", "4,a\"b", "5,a\n6,b"]);
    assert_eq!(rows, [r#"{"id":2,"name":null}"#, r#"{"id":3,"name":"a\",\nb"}"#, r#"{"id":4,"name":"a\"b"}"#]);
    assert_eq!(
        errors,
        [
            "'x' is not a valid INT",
            "a quoted field is not closed",
            "the record has 3 fields, the table has 2 columns",
            "the record holds more than one line",
        ]
    );
}

#[test]
fn other_delimiters_comments_and_arrays() {
    let columns = vec![column("a", T::Array(Box::new(T::Int))), column("s", T::STRING)];
    let cx = context(columns, &[("field-delimiter", "|"), ("allow-comments", "true")]);
    let d = Csv.decoder(&cx).unwrap().decode(&chunk(&["# no record", "1;2;|x,y", "1;z|"])).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"a":[1,2,null],"s":"x,y"}"#]);
    assert_eq!(d.records, Some(vec![1]));
    assert_eq!(d.errors[0].message, "'z' is not a valid INT");
}

#[test]
fn escapes_array_delimiters_and_ignored_errors() {
    let columns = vec![column("s", T::STRING), column("a", T::Array(Box::new(T::Int))), column("n", T::Int)];
    let options = [("escape-character", "\\"), ("array-element-delimiter", "||"), ("ignore-parse-errors", "true")];
    let cx = context(columns.clone(), &options);
    let (rows, errors) = decode(&cx, &["\"a\\\"b,\\\\\",1||2||,3", "x,1||y,2", "x,,no", "a,b,c,d"]);
    assert_eq!(
        rows,
        [r#"{"s":"a\"b,\\","a":[1,2,null],"n":3}"#, r#"{"s":"x","a":null,"n":2}"#, r#"{"s":"x","a":null,"n":null}"#,]
    );
    assert_eq!(
        errors,
        ["'y' is not a valid INT", "'no' is not a valid INT", "the record has 4 fields, the table has 3 columns"]
    );
    let row = T::Row(vec![("x".into(), T::Int), ("y".into(), T::STRING)]);
    let cx = context(vec![column("r", row)], &[("array-element-delimiter", "/")]);
    assert_eq!(
        decode(&cx, &["1/b", "1"]),
        (vec![r#"{"r":{"x":1,"y":"b"}}"#.to_string()], vec!["1 values for a ROW of 2 fields".to_string()])
    );
    let both = [("disable-quote-character", "true")];
    let mut cx = context(columns, &both);
    let quote = crate::formats::testing::options(&[("quote-character", "'")]).entries["quote-character"].clone();
    let span = crate::diagnostic::Span::default();
    cx.options.entries.insert("quote-character", crate::sql::options::OptionEntry { span: Some(span), ..quote });
    assert!(Csv.decoder(&cx).err().unwrap().message.contains("exclude each other"));
}

#[test]
fn a_projection_says_where_its_columns_stand() {
    let mut age = column("age", T::Int);
    age.path = vec![PathStep::Index(2)];
    let cx = context(vec![age], &[]);
    assert_eq!(decode(&cx, &["1,n,30"]).0, [r#"{"age":30}"#]);
    assert!(Csv.by_position(&cx.options));
}

#[test]
fn a_header_finds_columns_by_name_and_its_absence_is_told() {
    let cx = context(vec![column("b", T::Int)], &[("header", "true")]);
    let with_header = |header: &str| {
        let plain = chunk(&["1,2", "3"]);
        let mut chunk =
            RecordChunk { bytes: plain.bytes.clone(), records: plain.records.clone(), ..Default::default() };
        chunk.split = "f.csv".into();
        chunk.header = Some(header.as_bytes().into());
        Arc::new(chunk)
    };
    let mut decoder = Csv.decoder(&cx).unwrap();
    let d = decoder.decode(&with_header("a,\"b\"")).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"b":2}"#, r#"{"b":null}"#]);
    let d = decoder.decode(&with_header("b,a")).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"b":1}"#, r#"{"b":3}"#]);
    let error = decoder.decode(&with_header("x,y")).err().unwrap();
    assert_eq!(error.message, "table t: the header of f.csv has no column b");
    assert_eq!(error.hint.as_deref(), Some("its columns are: x, y"));
}

#[test]
fn what_is_written_reads_back_b42() {
    let cx = context(
        vec![
            column("s", T::STRING),
            column("n", T::Decimal(5, 2)),
            column("t", T::Timestamp(3)),
            column("a", T::Array(Box::new(T::Int))),
        ],
        &[("null-literal", "NA")],
    );
    let lines =
        ["NA,NA,NA,NA", "\"NA\",1.50,2020-01-01 00:00:00.5,1;NA;3", "\"a,\"\"b\"\"\n\",-0.05,NA,7", "plain,0.00,NA,NA"];
    let d = Csv.decoder(&cx).unwrap().decode(&chunk(&lines)).unwrap();
    assert!(d.errors.is_empty(), "{:?}", d.errors);
    let mut out = Encoded::default();
    Csv.encoder(&cx).unwrap().encode(&Batch::new(d.columns, Origin::unknown()), &mut out, &mut vec![]).unwrap();
    assert_eq!(records(&out), lines);
}

#[test]
fn null_without_a_literal_is_an_empty_field_b42() {
    let cx = context(vec![column("a", T::Int), column("b", T::STRING)], &[]);
    let d = Csv.decoder(&cx).unwrap().decode(&chunk(&[",x", ""])).unwrap();
    let mut out = Encoded::default();
    let mut encoder = Csv.encoder(&cx).unwrap();
    encoder.encode(&Batch::new(d.columns, Origin::unknown()), &mut out, &mut vec![]).unwrap();
    assert_eq!(records(&out), [",x", ","]);
}

#[test]
fn what_cannot_be_read_back_without_quotes_is_an_error() {
    let cx = context(vec![column("s", T::STRING)], &[]);
    let d = Csv.decoder(&cx).unwrap().decode(&chunk(&["\"a,b\"", "x"])).unwrap();
    let cx = context(vec![column("s", T::STRING)], &[("disable-quote-character", "true")]);
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    let mut encoder = Csv.encoder(&cx).unwrap();
    encoder.encode(&Batch::new(d.columns, Origin::unknown()), &mut out, &mut errors).unwrap();
    assert_eq!(records(&out), ["x"]);
    assert_eq!(errors[0].message, "contains a delimiter or newline, and quotes are disabled");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let cx = context(id_and_name(), &[("field-delimiter", "¦")]);
    assert!(Csv.decoder(&cx).err().unwrap().message.contains("ASCII"));
    let cx = context(vec![column("m", T::Map(Box::new(T::STRING), Box::new(T::Int)))], &[]);
    assert!(Csv.decoder(&cx).err().unwrap().message.contains("CSV cannot hold a MAP"));
}

#[test]
fn surplus_fields_and_text_after_a_closing_quote_are_refused_an_empty_field_at_the_end_is_not() {
    let cx = FormatContext { record_width: Some(3), ..context(id_and_name(), &[]) };
    let (rows, errors) =
        decode(&cx, &["1,a,x", "2,b,x,", "3,c,x,y", "4,d,x,,", "5,\"e\" f", "6,\"e\" ", "7,\"g\"\"h\""]);
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(rows[2], r#"{"id":7,"name":"g\"h"}"#);
    assert_eq!(errors.len(), 4, "{errors:?}");
}
