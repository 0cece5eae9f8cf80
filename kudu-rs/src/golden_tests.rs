//! What the official Java client made, byte for byte (`tests/data/golden.tsv`).

use crate::encode::{self, RowOperations};
use crate::partition::{HashDimension, PartitionSchema};
use crate::pb::kudu::row_operations_pb::Type as OpType;
use crate::row::Row;
use crate::schema::{ColumnSchema, DataType, Schema};
use crate::value::Value;
use bytes::Bytes;
use std::collections::HashMap;

fn golden() -> HashMap<String, String> {
    let text = include_str!("../tests/data/golden.tsv");
    text.lines().filter_map(|l| l.split_once('\t')).map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn schema() -> Schema {
    let c = ColumnSchema::new;
    let decimal = |precision, scale| DataType::Decimal { precision, scale };
    Schema::new([
        c("k8", DataType::Int8).key(),
        c("ks", DataType::String).key(),
        c("kt", DataType::UnixtimeMicros).key(),
        c("i16", DataType::Int16).nullable(),
        c("i32", DataType::Int32).nullable(),
        c("i64", DataType::Int64).nullable(),
        c("b", DataType::Bool).nullable(),
        c("f", DataType::Float).nullable(),
        c("d", DataType::Double).nullable(),
        c("bin", DataType::Binary).nullable(),
        c("vc", DataType::Varchar { length: 5 }).nullable(),
        c("dt", DataType::Date).nullable(),
        c("d9", decimal(9, 2)).nullable(),
        c("d18", decimal(18, 4)).nullable(),
        c("d38", decimal(38, 10)).nullable(),
        c("dflt", DataType::Int32).default(42i32),
    ])
    .expect("a schema")
}

fn full(schema: &Schema, i: i64) -> Row {
    let mut row = Row::new(schema);
    let mut set = |name: &str, value: Value| {
        row.set(name, value).expect("fits");
    };
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    set("k8", (i - 3).into());
    set("ks", format!("a\0b{i}").into());
    set("kt", Value::UnixtimeMicros(1_700_000_000_000_000 + i));
    set("i16", (-2i16).into());
    set("i32", (-70000i32).into());
    set("i64", i64::MIN.into());
    set("b", true.into());
    set("f", 1.5f32.into());
    set("d", (-2.25f64).into());
    set("bin", Bytes::from_static(&[0, 1, 255]).into());
    // Java's client was given "h\u{e9}llo!!", and cut it.
    set("vc", "h\u{e9}llo".into());
    set("dt", Value::Date(19782));
    set("d9", decimal(-123_456_789, 2));
    set("d18", decimal(123_456_789_012_345_678, 4));
    set("d38", decimal(-12_345_678_901_234_567_890_123_456_780_123_456_789, 10));
    row
}

fn key(schema: &Schema) -> Row {
    let row = Row::new(schema).with("k8", 1i8).and_then(|r| r.with("ks", "bb"));
    row.and_then(|r| r.with("kt", 5i64)).expect("a key")
}

#[test]
fn rows_in_requests_are_those_of_the_java_client() {
    let (golden, schema) = (golden(), schema());
    let check = |name: &str, op: OpType, row: &Row, keys_only: bool| {
        let mut rows = RowOperations::default();
        rows.add(op, row, keys_only);
        let pb = rows.finish();
        assert_eq!(hex(pb.rows()), golden[&format!("rowop.{name}.rows")], "{name}");
        assert_eq!(hex(pb.indirect_data()), golden[&format!("rowop.{name}.indirect")], "{name}");
        let back = encode::decode_rows(&schema, &pb).expect("our own");
        assert_eq!(back.len(), 1);
        assert_eq!(back[0].0, op);
    };
    check("insert", OpType::Insert, &full(&schema, 0), false);
    check("upsert_null", OpType::Upsert, &key(&schema).with("i32", Value::Null).expect("nullable"), false);
    check("delete", OpType::Delete, &key(&schema), false);
    check("delete_ignore", OpType::DeleteIgnore, &key(&schema).with("i32", 4i32).expect("fits"), true);
    check("update_ignore", OpType::UpdateIgnore, &key(&schema).with("b", false).expect("fits"), false);
    check("insert_ignore", OpType::InsertIgnore, &key(&schema), false);
}

#[test]
fn bounds_of_ranges_are_those_of_the_java_client() {
    let (golden, schema) = (golden(), schema());
    let bound = |text: &str| Row::new(&schema).with("ks", text).expect("fits");
    let mut rows = RowOperations::default();
    rows.add(OpType::RangeLowerBound, &bound("a"), false);
    rows.add(OpType::RangeUpperBound, &bound("m"), false);
    assert_eq!(hex(rows.finish().rows()), golden["create.range_bounds.rows"]);
}

#[test]
fn keys_and_buckets_are_those_of_the_java_client() {
    let (golden, schema) = (golden(), schema());
    let partitions = PartitionSchema {
        hash: vec![
            HashDimension { columns: vec![0, 1], buckets: 4, seed: 0 },
            HashDimension { columns: vec![2], buckets: 3, seed: 7 },
        ],
        range: vec![1],
        custom: vec![],
    };
    for i in 0..4 {
        let row = full(&schema, i);
        let point = partitions.point(&row).expect("a full key");
        assert_eq!(hex(&row.encoded_key().expect("a full key")), golden[&format!("pk.{i}")]);
        assert_eq!(hex(&point.partition_key()), golden[&format!("partition_key.{i}")]);
        let buckets = format!("{},{}", point.buckets[0], point.buckets[1]);
        assert_eq!(buckets, golden[&format!("buckets.{i}")]);
    }
}

#[test]
fn hashes_are_those_of_the_java_client() {
    let mut seen = 0;
    for (name, expected) in golden() {
        let Some((seed, data)) = name.strip_prefix("murmur2.seed").and_then(|n| n.split_once('.')) else { continue };
        let data: Vec<u8> = data
            .as_bytes()
            .chunks(2)
            .map(|p| u8::from_str_radix(std::str::from_utf8(p).expect("hex"), 16).expect("hex"))
            .collect();
        let hash = encode::murmur2(&data, seed.parse().expect("a number"));
        assert_eq!(format!("{hash:x}"), expected, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}

#[test]
fn column_types_are_those_of_the_java_client() {
    let text = include_str!("../tests/data/golden.tsv");
    let lines: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("schema\t")).collect();
    let schema = schema();
    assert_eq!(lines.len(), schema.columns().len());
    for (line, column) in lines.iter().zip(schema.columns()) {
        let (wire, _) = column.data_type.to_wire();
        assert!(line.contains(&format!(" wire={} ", wire.as_str_name())), "{line}");
        assert!(line.contains(&format!(" size={} ", column.data_type.cell_size())), "{line}");
    }
}
