//! What a format writes, it reads back as the same rows: random rows through every format that has both directions.

use super::avro::Avro;
use super::csv::Csv;
use super::json::{CanalJson, DebeziumJson, Json};
use super::testing::{chunk, column, context, rows_as_json};
use super::{Encoded, FormatFactory};
use crate::data::{Batch, Column, LogicalType as T, Origin, RowKind};
use arrow::array::RecordBatch;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Types that every format has. CSV has no MAP, and no ARRAY that is empty, holds text with its delimiter or one NULL
/// alone (which reads as no ARRAY).
fn columns(nested: bool) -> Vec<Column> {
    let mut columns = vec![
        column("b", T::Boolean),
        column("t", T::TinyInt),
        column("i", T::Int),
        column("l", T::BigInt),
        column("d", T::Double),
        column("n", T::Decimal(20, 4)),
        column("s", T::STRING),
        column("y", T::BYTES),
        column("dt", T::Date),
        column("tm", T::Time(3)),
        column("ts", T::Timestamp(3)),
        column("a", T::Array(Box::new(T::Int))),
    ];
    if nested {
        let row = T::Row(vec![("x".into(), T::STRING), ("y".into(), T::Array(Box::new(T::STRING)))]);
        columns.push(column("m", T::Map(Box::new(T::STRING), Box::new(T::BigInt))));
        columns.push(column("r", row));
    }
    columns
}

fn text() -> impl Strategy<Value = String> {
    "([a-z,;\"'|\\\\#\n\r\t ]|ä|😀|NULL|NA){0,8}"
}

prop_compose! {
    fn row()(
        (b, t, i, l, d) in (any::<bool>(), any::<i8>(), any::<i32>(), any::<i64>(), any::<f64>()),
        (n, s, y) in (-10_000_000_000_000_i64..10_000_000_000_000, text(), proptest::collection::vec(any::<u8>(), 0..6)),
        (day, ms) in (0..2_932_000_i64, 0..86_400_000_i64),
        (a, keys, texts) in (
            (any::<i32>(), proptest::collection::vec(proptest::option::of(any::<i32>()), 0..3)),
            proptest::collection::vec((text(), proptest::option::of(any::<i64>())), 0..3),
            proptest::collection::vec(proptest::option::of(text()), 0..3),
        ),
        present in any::<u16>(),
    ) -> Value {
        use base64::Engine as _;
        let date = chrono::DateTime::from_timestamp(day * 86_400 - 62_135_596_800, 0).unwrap();
        let clock = chrono::DateTime::from_timestamp_millis(ms).unwrap().format("%H:%M:%S%.3f").to_string();
        let d = if d.is_finite() { d } else { 0.5 };
        let all = [
            ("b", json!(b)), ("t", json!(t)), ("i", json!(i)), ("l", json!(l)), ("d", json!(d)),
            ("n", json!(format!("{}.{:04}", n / 10_000, n.unsigned_abs() % 10_000))),
            ("s", json!(s)), ("y", json!(base64::engine::general_purpose::STANDARD.encode(y))),
            ("dt", json!(date.format("%Y-%m-%d").to_string())), ("tm", json!(clock)),
            ("ts", json!(format!("{} {clock}", date.format("%Y-%m-%d")))), ("a", json!([vec![Some(a.0)], a.1].concat())),
            ("m", Value::Object(keys.into_iter().map(|(k, v)| (k, json!(v))).collect())),
            ("r", json!({"x": s, "y": texts})),
        ];
        let kept = all.into_iter().enumerate().filter(|(i, _)| present >> i & 1 == 1);
        Value::Object(kept.map(|(_, (name, value))| (name.to_string(), value)).collect())
    }
}

fn batch(columns: &[Column], rows: &[Value]) -> RecordBatch {
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    let decoded = Json.decoder(&context(columns.to_vec(), &[])).unwrap().decode(&chunk(&lines)).unwrap();
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    decoded.columns
}

fn check(
    format: &dyn FormatFactory,
    columns: &[Column],
    options: &[(&'static str, &str)],
    rows: &[Value],
    kinds: &[RowKind],
) -> Result<(), TestCaseError> {
    let cx = context(columns.to_vec(), options);
    let mut sent = Batch::new(batch(columns, rows), Origin::unknown());
    let with_kinds = format.changelog_mode() != crate::data::ChangelogMode::Append;
    let kinds: Vec<RowKind> = kinds.iter().copied().cycle().take(rows.len()).collect();
    if with_kinds {
        sent.kinds = Some(kinds.clone().into());
    }
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    format.encoder(&cx).unwrap().encode(&sent, &mut out, &mut errors).unwrap();
    prop_assert!(errors.is_empty(), "{}: {:?}", format.identifier(), errors);
    let mut start = 0;
    let records: Vec<&[u8]> =
        out.records.iter().map(|(end, _)| &out.bytes[std::mem::replace(&mut start, *end)..*end]).collect();
    let back = format.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    prop_assert!(back.errors.is_empty(), "{}: {:?}", format.identifier(), back.errors);
    prop_assert_eq!(rows_as_json(&back.columns), rows_as_json(&sent.columns), "{}", format.identifier());
    if with_kinds {
        let taken_back = |k: &RowKind| matches!(k, RowKind::UpdateBefore | RowKind::Delete);
        let expected: Vec<RowKind> =
            kinds.iter().map(|k| if taken_back(k) { RowKind::Delete } else { RowKind::Insert }).collect();
        prop_assert_eq!(back.kinds, Some(expected));
    }
    Ok(())
}

const KINDS: [RowKind; 4] = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];

proptest! {
    #[test]
    fn rows_come_back_as_they_went(rows in proptest::collection::vec(row(), 1..4), first in 0..4_usize) {
        let nested = columns(true);
        let kinds: Vec<RowKind> = KINDS.iter().copied().cycle().skip(first).take(4).collect();
        for format in [&Json as &dyn FormatFactory, &DebeziumJson, &CanalJson] {
            check(format, &nested, &[], &rows, &kinds)?;
            check(format, &nested, &[("timestamp-format.standard", "ISO-8601")], &rows, &kinds)?;
        }
        check(&Avro, &nested, &[], &rows, &kinds)?;
        check(&Avro, &nested, &[("encoding", "json")], &rows, &kinds)?;
        let flat = columns(false);
        check(&Csv, &flat, &[("null-literal", "NULL")], &rows, &kinds)?;
        let other = [("null-literal", "NA"), ("field-delimiter", "|"), ("quote-character", "'"), ("escape-character", "\\")];
        check(&Csv, &flat, &other, &rows, &kinds)?;
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let nested = columns(true);
        for format in [&Json as &dyn FormatFactory, &DebeziumJson, &CanalJson, &Avro] {
            let cx = context(nested.clone(), &[]);
            let decoded = format.decoder(&cx).unwrap().decode(&chunk(&[&bytes])).unwrap();
            prop_assert!(decoded.columns.get_array_memory_size() < 4 << 20);
        }
        let cx = context(columns(false), &[("escape-character", "\\")]);
        let _ = Csv.decoder(&cx).unwrap().decode(&chunk(&[&bytes])).unwrap();
    }
}
