//! Change streams: what Debezium and Canal write, the errors that name what is missing, and what is written back.

use super::{CanalJson, DebeziumJson};
use crate::data::{Batch, ChangelogMode, Column, Envelope, LogicalType as T, Origin, RecordChunk, RowKind};
use crate::formats::testing::{chunk, column, context, records, rows_as_json};
use crate::formats::{Decoded, Encoded, FormatContext, FormatFactory};
use std::sync::Arc;

fn product() -> Vec<Column> {
    vec![Column::new("id", T::Int, false), column("name", T::STRING), column("weight", T::Decimal(6, 2))]
}

fn decode(format: &dyn FormatFactory, cx: &FormatContext, lines: &[&str]) -> Decoded {
    format.decoder(cx).unwrap().decode(&chunk(lines)).unwrap()
}

/// `+I {"id":1, ..}`
fn shown(d: &Decoded) -> Vec<String> {
    let kinds = d.kinds.as_ref().unwrap();
    assert_eq!(kinds.len(), d.columns.num_rows());
    rows_as_json(&d.columns).iter().zip(kinds).map(|(row, kind)| format!("{} {row}", kind.short())).collect()
}

fn messages(d: &Decoded) -> Vec<(u32, &str)> {
    d.errors.iter().map(|e| (e.row, e.message.as_str())).collect()
}

const CHANGES: [&str; 4] = [
    r#"{"before":null,"after":{"id":1,"name":"a","weight":3.14},"source":{"op":"x"},"op":"r","ts_ms":1}"#,
    r#"{"op":"c","after":{"id":2,"name":null,"weight":"1"}}"#,
    r#"{"before":{"id":1,"name":"a","weight":3.14},"after":{"id":1,"name":"b","weight":3.2},"op":"u","transaction":null}"#,
    r#" {"before":{"id":2,"weight":1},"after":null,"op":"d"} "#,
];

const ROWS: [&str; 5] = [
    r#"+I {"id":1,"name":"a","weight":3.14}"#,
    r#"+I {"id":2,"name":null,"weight":1.00}"#,
    r#"-U {"id":1,"name":"a","weight":3.14}"#,
    r#"+U {"id":1,"name":"b","weight":3.20}"#,
    r#"-D {"id":2,"name":null,"weight":1.00}"#,
];

#[test]
fn debezium_changes_become_rows_with_their_kinds() {
    let d = decode(&DebeziumJson, &context(product(), &[]), &CHANGES);
    assert_eq!(messages(&d), []);
    assert_eq!(shown(&d), ROWS);
    assert_eq!(d.records, Some(vec![0, 1, 2, 2, 3]));
    assert_eq!(DebeziumJson.changelog_mode(), ChangelogMode::All);

    let cx = context(product(), &[("schema-include", "true")]);
    let with_schema: Vec<String> =
        CHANGES.iter().map(|c| format!(r#"{{"schema":{{"type":"struct","fields":[]}},"payload":{c}}}"#)).collect();
    let with_schema: Vec<&str> = with_schema.iter().map(String::as_str).collect();
    assert_eq!(shown(&decode(&DebeziumJson, &cx, &with_schema)), ROWS);
    let d = decode(&DebeziumJson, &context(product(), &[]), &with_schema[..1]);
    assert_eq!(messages(&d), [(0, "the record has a payload: set debezium-json.schema-include to true")]);
    let d = decode(&DebeziumJson, &cx, &CHANGES[..1]);
    assert!(messages(&d)[0].1.starts_with("the record has no payload"), "{:?}", d.errors);
}

#[test]
fn a_missing_image_is_named_and_nothing_is_inserted_b29() {
    let lines = [
        r#"{"before":null,"after":{"id":1},"op":"u"}"#,
        r#"{"before":{"id":1},"op":"u"}"#,
        r#"{"before":null,"op":"d"}"#,
        r#"{"after":null,"op":"c"}"#,
        r#"{"after":{"id":7},"op":"c"}"#,
        r#"{"after":{"id":1},"op":"t"}"#,
        r#"{"after":{"id":1}}"#,
        r#"{"before":[1],"after":{"id":1},"op":"u"}"#,
        r#"{"before":{"id":1},"after":{"id":"x"},"op":"u"}"#,
        r#"{"before":{"name":"a"},"after":{"id":1},"op":"u"}"#,
        "[]",
        r#"{"op":"c""#,
    ];
    let d = decode(&DebeziumJson, &context(product(), &[]), &lines);
    assert_eq!(shown(&d), [r#"+I {"id":7,"name":null,"weight":null}"#]);
    let hint = "; a database must be told to log it: in PostgreSQL ALTER TABLE .. REPLICA IDENTITY FULL";
    assert_eq!(
        messages(&d),
        [
            (0, format!("the update (op = 'u') has no row in 'before'{hint}").as_str()),
            (1, "the update (op = 'u') has no row in 'after'"),
            (2, format!("the delete (op = 'd') has no row in 'before'{hint}").as_str()),
            (3, "the insert (op = 'c') has no row in 'after'"),
            (5, "the op 't' is none of c, r, u and d"),
            (6, "the record has no op: it is no change of Debezium's"),
            (7, "'before' is no JSON object"),
            (8, "'x' is not a valid INT"),
            (9, "is NULL or missing, but the column is NOT NULL"),
            (10, "the record is no JSON object"),
            (11, "not valid JSON: no ',' or closing bracket after a value at byte 9"),
        ]
    );
}

#[test]
fn tombstones_are_no_changes() {
    for format in [&DebeziumJson as &dyn FormatFactory, &CanalJson] {
        let plain = chunk(&["", ""]);
        let envelopes = vec![Envelope { no_value: true, ..Envelope::default() }, Envelope::default()];
        let chunk = RecordChunk { bytes: vec![], records: plain.records.clone(), envelopes, ..RecordChunk::default() };
        let d = format.decoder(&context(product(), &[])).unwrap().decode(&Arc::new(chunk)).unwrap();
        assert_eq!((d.columns.num_rows(), d.errors.len(), d.records), (0, 0, Some(vec![])));
    }
}

#[test]
fn canal_changes_become_rows_and_what_did_not_change_is_taken_from_the_new_row() {
    let lines = [
        r#"{"data":[{"id":"1","name":"a","weight":"3.14"},{"id":"2","name":null,"weight":"1"}],"old":null,"isDdl":false,"database":"shop","table":"p","type":"INSERT"}"#,
        r#"{"data":[{"id":"1","name":"b","weight":"3.2"},{"id":"2","name":"x","weight":null}],"old":[{"weight":"3.14","name":"a"},{"name":null}],"type":"UPDATE"}"#,
        r#"{"data":null,"isDdl":true,"sql":"ALTER TABLE ..","type":"ALTER"}"#,
        r#"{"data":null,"type":"CREATE"}"#,
        r#"{"data":[{"id":"2","name":"x","weight":null}],"type":"DELETE"}"#,
    ];
    let d = decode(&CanalJson, &context(product(), &[]), &lines);
    assert_eq!(messages(&d), []);
    assert_eq!(
        shown(&d),
        [
            r#"+I {"id":1,"name":"a","weight":3.14}"#,
            r#"+I {"id":2,"name":null,"weight":1.00}"#,
            r#"-U {"id":1,"name":"a","weight":3.14}"#,
            r#"+U {"id":1,"name":"b","weight":3.20}"#,
            r#"-U {"id":2,"name":null,"weight":null}"#,
            r#"+U {"id":2,"name":"x","weight":null}"#,
            r#"-D {"id":2,"name":"x","weight":null}"#,
        ]
    );
    assert_eq!(d.records, Some(vec![0, 0, 1, 1, 1, 1, 4]));
}

#[test]
fn canal_passes_over_other_databases_and_tables() {
    let line = |database: &str, table: &str| {
        format!(r#"{{"data":[{{"id":1}}],"database":"{database}","table":"{table}","type":"INSERT"}}"#)
    };
    let lines =
        [line("shop", "orders_1"), line("shop", "orders"), line("myshop", "orders_1"), line("shop", "orders_12")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain([r#"{"data":[{"id":1}],"type":"INSERT"}"#]).collect();
    let cx = context(product(), &[("database.include", "shop"), ("table.include", "orders_.")]);
    let d = decode(&CanalJson, &cx, &lines);
    assert_eq!((d.records, d.errors.len()), (Some(vec![0]), 0));
    let bad = context(product(), &[("table.include", "(")]);
    assert!(
        CanalJson.decoder(&bad).err().unwrap().message.contains("canal-json.table.include: ( is no regular expression")
    );
}

#[test]
fn what_is_missing_in_a_canal_change_is_named() {
    let lines = [
        r#"{"data":[{"id":1}],"type":"UPDATE"}"#,
        r#"{"data":[{"id":1}],"old":[],"type":"UPDATE"}"#,
        r#"{"data":null,"type":"INSERT"}"#,
        r#"{"data":[{"id":1}]}"#,
        r#"{"data":[{"id":1}],"type":"MERGE"}"#,
        r#"{"data":[{"id":1},2],"type":"INSERT"}"#,
        r#"{"data":[{"id":1},{"id":"x"}],"type":"INSERT"}"#,
    ];
    let d = decode(&CanalJson, &context(product(), &[]), &lines);
    assert_eq!(d.columns.num_rows(), 0);
    assert_eq!(
        messages(&d),
        [
            (0, "the UPDATE has no rows in 'old'"),
            (1, "the UPDATE has 1 rows in 'data' and 0 in 'old'"),
            (2, "the INSERT has no rows in 'data'"),
            (3, "the record has no type: it is no change of Canal's"),
            (4, "the type 'MERGE' is none of INSERT, UPDATE and DELETE"),
            (5, "'data' holds something other than at most 1048576 JSON objects"),
            (6, "'x' is not a valid INT"),
        ]
    );
}

fn encode(format: &dyn FormatFactory, cx: &FormatContext, batch: &Batch) -> Vec<String> {
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    format.encoder(cx).unwrap().encode(batch, &mut out, &mut errors).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    records(&out)
}

/// The decoded changes as a batch.
fn changes(cx: &FormatContext) -> Batch {
    let d = decode(&DebeziumJson, cx, &CHANGES);
    Batch { kinds: d.kinds.map(Into::into), ..Batch::new(d.columns, Origin::unknown()) }
}

#[test]
fn what_is_added_is_written_as_an_insert_what_is_taken_back_as_a_delete() {
    let cx = context(product(), &[]);
    let batch = changes(&cx);
    assert_eq!(
        encode(&DebeziumJson, &cx, &batch),
        [
            r#"{"before":null,"after":{"id":1,"name":"a","weight":3.14},"op":"c"}"#,
            r#"{"before":null,"after":{"id":2,"name":null,"weight":1.00},"op":"c"}"#,
            r#"{"before":{"id":1,"name":"a","weight":3.14},"after":null,"op":"d"}"#,
            r#"{"before":null,"after":{"id":1,"name":"b","weight":3.20},"op":"c"}"#,
            r#"{"before":{"id":2,"name":null,"weight":1.00},"after":null,"op":"d"}"#,
        ]
    );
    let canal = encode(&CanalJson, &cx, &batch);
    assert_eq!(canal[0], r#"{"data":[{"id":1,"name":"a","weight":3.14}],"type":"INSERT"}"#);
    assert_eq!(canal[2], r#"{"data":[{"id":1,"name":"a","weight":3.14}],"type":"DELETE"}"#);
    let sparse = context(product(), &[("encode.ignore-null-fields", "true")]);
    assert_eq!(encode(&DebeziumJson, &sparse, &batch)[4], r#"{"before":{"id":2,"weight":1.00},"op":"d"}"#);
    let with_schema = context(product(), &[("schema-include", "true")]);
    assert!(DebeziumJson.encoder(&with_schema).is_err());
}

#[test]
fn what_is_written_reads_back_as_inserts_and_deletes() {
    for format in [&DebeziumJson as &dyn FormatFactory, &CanalJson] {
        let cx = context(product(), &[]);
        let written = encode(format, &cx, &changes(&cx));
        let d = decode(format, &cx, &written.iter().map(String::as_str).collect::<Vec<_>>());
        let expected: Vec<String> = ROWS.iter().map(|r| r.replace("-U", "-D").replace("+U", "+I")).collect();
        assert_eq!(shown(&d), expected);
    }
}

#[test]
fn ignored_errors_are_null_values_and_skipped_records() {
    let cx = context(product(), &[("ignore-parse-errors", "true")]);
    let d = decode(&DebeziumJson, &cx, &[r#"{"after":{"id":1,"weight":"x"},"op":"c"}"#, r#"{"op":"u"}"#]);
    assert_eq!(shown(&d), [r#"+I {"id":1,"name":null,"weight":null}"#]);
    assert_eq!(d.refused().map(|e| e.row).collect::<Vec<_>>(), [1]);
}

proptest::proptest! {
    #[test]
    fn random_text_never_panics_and_kinds_fit_rows(
        text in "(\\{|\\}|\\[|\\]|\"(before|after|op|data|old|type|id|u|c|UPDATE|payload)\"|:|,|null|1|\\\\| ){0,40}",
        kind in proptest::prelude::any::<proptest::sample::Index>(),
    ) {
        let formats: [&dyn FormatFactory; 2] = [&DebeziumJson, &CanalJson];
        let format = formats[kind.index(2)];
        for cx in [context(product(), &[]), context(product(), &[("schema-include", "true")])] {
            let d = decode(format, &cx, &[&text, r#"{"after":{"id":7},"op":"c"}"#]);
            proptest::prop_assert_eq!(d.kinds.as_ref().map(Vec::len), Some(d.columns.num_rows()));
            proptest::prop_assert!(d.kinds.unwrap().iter().all(|k| *k != RowKind::UpdateAfter) || d.columns.num_rows() > 1);
        }
    }
}
