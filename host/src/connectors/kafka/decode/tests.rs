use super::*;
use crate::connectors::native_format::NativeFormat;
use crate::connectors::testing::{context, with_format};
use crate::data::{Column, Envelope, LogicalType, TableSchema};
use crate::formats::FormatContext;
use crate::formats::testing::{options, rows_as_json};
use std::path::Path;

/// A table (k INT, v STRING [, more]); `k` is in the key, and in the value if it says so.
fn table(in_value: bool, more: &[(&str, LogicalType, &str)]) -> TableContext {
    let mut columns = vec![Column::new("k", LogicalType::Int, true), Column::new("v", LogicalType::STRING, false)];
    for (name, logical_type, metadata) in more {
        let plain = Column::new(*name, logical_type.clone(), true);
        columns.push(Column { metadata: Some(metadata.to_string()), ..plain });
    }
    let bind = |columns: &[Column]| {
        let cx = FormatContext {
            table: "t".into(),
            schema: TableSchema::new(columns.to_vec()),
            options: options(&[]),
            time_zone: chrono_tz::UTC,
            null_on_error: false,
            record_width: None,
            declared: None,
        };
        NativeFormat::bind("json", cx).unwrap()
    };
    let mut cx = with_format(context(Path::new("/"), columns, &[]), "json", &[]);
    cx.value_columns = if in_value { vec![0, 1] } else { vec![1] };
    cx.format = Some(bind(if in_value { &cx.schema.columns[..2] } else { &cx.schema.columns[1..2] }));
    cx.key_columns = vec![0];
    cx.key_format = Some(bind(&cx.schema.columns[..1]));
    cx
}

/// (key, value); None: there is none.
type Record<'a> = (Option<&'a str>, Option<&'a str>);

fn chunk(records: &[Record<'_>]) -> Arc<RecordChunk> {
    let mut chunk = RecordChunk { table: "t".into(), split: "a-b-3".into(), unit: "offset", ..Default::default() };
    for (i, (key, value)) in records.iter().enumerate() {
        let mut place = |text: &str| {
            let start = chunk.bytes.len() as u32;
            chunk.bytes.extend_from_slice(text.as_bytes());
            (start, chunk.bytes.len() as u32)
        };
        let (start, end) = place(value.unwrap_or_default());
        let key = key.map(&mut place);
        chunk.records.push(RecordRef { position: 10 + i as u64, start, end });
        let headers = vec![("h".into(), Some(b"1".to_vec())), ("h".into(), None)];
        let no_value = value.is_none();
        let (timestamp, leader_epoch) = (Some(1000 * i as i64), Some(7));
        chunk.envelopes.push(Envelope {
            key,
            no_value,
            timestamp,
            timestamp_type: "CreateTime",
            headers,
            leader_epoch,
        });
    }
    Arc::new(chunk)
}

fn decode(cx: &TableContext, is_upsert: bool, records: &[Record<'_>]) -> Decoded {
    let parts = RecordParts::of(cx, is_upsert).unwrap();
    decoder(cx, &parts).unwrap().decode(&chunk(records)).unwrap()
}

fn kinds(decoded: &Decoded) -> Vec<&str> {
    decoded.kinds.iter().flatten().map(|k| k.short()).collect()
}

const RECORDS: [Record<'_>; 4] = [
    (Some(r#"{"k":1}"#), Some(r#"{"v":"a"}"#)),
    (Some("junk"), Some(r#"{"v":"b"}"#)),
    (None, Some(r#"{"v":"c"}"#)),
    (Some(r#"{"k":4}"#), Some("junk")),
];

#[test]
fn keys_and_values_become_one_row_and_either_may_refuse_it() {
    let decoded = decode(&table(false, &[]), false, &RECORDS);
    assert_eq!(rows_as_json(&decoded.columns), [r#"{"k":1,"v":"a"}"#, r#"{"k":null,"v":"c"}"#]);
    assert_eq!(decoded.records, Some(vec![0, 2]));
    let refused: Vec<u32> = decoded.refused().map(|e| e.row).collect();
    assert_eq!((refused, decoded.kinds.is_none()), (vec![1, 3], true));
    assert!(decoded.errors[0].message.contains("the record's key"));
}

#[test]
fn without_a_value_an_upsert_deletes_by_its_key() {
    let records = [
        (Some(r#"{"k":1}"#), Some(r#"{"v":"a"}"#)),
        (Some(r#"{"k":1}"#), None),
        (None, None),
        (None, Some(r#"{"v":"x"}"#)),
    ];
    let decoded = decode(&table(false, &[]), true, &records);
    assert_eq!(rows_as_json(&decoded.columns), [r#"{"k":1,"v":"a"}"#, r#"{"k":1,"v":null}"#]);
    assert_eq!((kinds(&decoded), decoded.records.clone()), (vec!["+U", "-D"], Some(vec![0, 1])));
    assert_eq!(decoded.refused().map(|e| e.row).collect::<Vec<_>>(), [2, 3]);
    // A column in both is read from the value; a deletion has only the key.
    let records = [(Some(r#"{"k":1}"#), Some(r#"{"k":2,"v":"a"}"#)), (Some(r#"{"k":1}"#), None)];
    let decoded = decode(&table(true, &[]), true, &records);
    assert_eq!(rows_as_json(&decoded.columns), [r#"{"k":2,"v":"a"}"#, r#"{"k":1,"v":null}"#]);
}

#[test]
fn metadata_columns_stand_where_the_table_has_them() {
    let headers = LogicalType::Map(Box::new(LogicalType::STRING), Box::new(LogicalType::BYTES));
    let cx = table(
        false,
        &[
            ("t", LogicalType::STRING, "topic"),
            ("p", LogicalType::Int, "partition"),
            ("o", LogicalType::BigInt, "offset"),
            ("ts", LogicalType::TimestampLtz(3), "timestamp"),
            ("tt", LogicalType::STRING, "timestamp-type"),
            ("h", headers, "headers"),
            ("e", LogicalType::Int, "leader-epoch"),
        ],
    );
    let decoded = decode(&cx, false, &RECORDS[..1]);
    assert_eq!(
        rows_as_json(&decoded.columns),
        [concat!(
            r#"{"k":1,"v":"a","t":"a-b","p":3,"o":10,"ts":"1970-01-01 00:00:00Z","tt":"CreateTime","#,
            r#""h":{"h":null},"e":7}"#
        )]
    );
}

#[test]
fn a_table_of_values_only_keeps_nothing_else() {
    let cx = table(true, &[]);
    let parts = RecordParts::of(&cx, false).unwrap();
    assert_eq!(parts.keeps, Keeps::default());
}
