use super::*;
use crate::value::{Value, decode_rows, encode_answer, encode_rows};
use crate::{Field, Schema, Type, section};
use proptest::prelude::*;

fn schema(types: &[&str]) -> Schema {
    let fields = types.iter().enumerate().map(|(i, t)| Field::new(format!("c{i}"), t.parse().unwrap(), true));
    Schema::new(fields.collect()).unwrap()
}

fn text(s: &str) -> Value {
    Value::Text(s.to_string())
}

fn two_columns() -> (Schema, Vec<u8>) {
    let schema = schema(&["STRING", "INT"]);
    let rows = vec![vec![text("ab"), Value::Int(1)], vec![Value::Null, Value::Int(-2)], vec![text(""), Value::Null]];
    let frame = encode_rows(&schema, &rows, &[(1, "no".into())]).unwrap();
    (schema, frame)
}

fn refusal(schema: &Schema, frame: &[u8]) -> String {
    decode_rows(schema, frame).unwrap_err().to_string()
}

#[test]
fn row_errors_come_back_in_order() {
    let (_, frame) = two_columns();
    let errors = Frame::parse(&frame).unwrap().row_errors(3).unwrap();
    assert_eq!(errors, [RowErrorEntry { row: 1, code: 0, message: "no" }]);
}

#[test]
fn row_errors_out_of_range_are_refused() {
    let schema = schema(&["INT"]);
    let frame = encode_rows(&schema, &[vec![Value::Null]], &[(1, "no".into())]).unwrap();
    let error = Frame::parse(&frame).unwrap().row_errors(1).unwrap_err().to_string();
    assert_eq!(error, "row errors: row 1 is out of range or out of order");
}

#[test]
fn source_rows_come_back_and_may_neither_fall_nor_lie_outside() {
    let schema = schema(&["INT"]);
    let rows = [vec![Value::Int(1)], vec![Value::Int(2)], vec![Value::Null]];
    let frame = |sources: &[u32]| encode_answer(&schema, &rows, sources, &[]).unwrap();
    let read = |frame: &[u8], asked: usize| Frame::parse(frame).unwrap().source_rows(asked).map_err(|e| e.to_string());
    assert_eq!(read(&frame(&[0, 4, 4]), 5).unwrap(), Some(vec![0, 4, 4]));
    assert_eq!(read(&frame(&[0, 4, 4]), 4).unwrap_err(), "source rows: row 4 of 4 is out of range or order");
    assert_eq!(read(&frame(&[1, 0, 2]), 3).unwrap_err(), "source rows: row 0 of 3 is out of range or order");
    assert_eq!(read(&encode_rows(&schema, &rows, &[]).unwrap(), 3).unwrap(), None);
    assert!(encode_answer(&schema, &rows, &[0], &[]).is_err());
}

#[test]
fn falling_offsets_are_refused() {
    let (schema, mut frame) = two_columns();
    // header, two sections, two nodes, then validity bits of c0 (8) and its offsets: the second offset says 200
    let offsets = 32 + 2 * 16 + 2 * 32 + 8;
    frame[offsets + 4] = 200;
    assert_eq!(refusal(&schema, &frame), "column c0 (STRING): its offsets do not rise from 0 to 2");
}

#[test]
fn buffers_outside_of_the_frame_are_refused() {
    let (schema, mut frame) = two_columns();
    let data_of_c1 = 32 + 2 * 16 + 32 + 20;
    frame[data_of_c1 + 2] = 1;
    assert!(refusal(&schema, &frame).starts_with("column c1 (INT): data: 12 bytes at"), "{}", refusal(&schema, &frame));
}

#[test]
fn a_frame_of_another_schema_is_refused() {
    let (_, frame) = two_columns();
    assert!(refusal(&schema(&["STRING", "BIGINT"]), &frame).starts_with("frame: schema fingerprint"));
}

#[test]
fn null_in_a_not_null_column_is_refused() {
    let nullable = schema(&["INT"]);
    let strict = Schema::new(vec![Field::new("c0", Type::Int, false)]).unwrap();
    let mut frame = encode_rows(&nullable, &[vec![Value::Null]], &[]).unwrap();
    frame[8..16].copy_from_slice(&strict.fingerprint().to_le_bytes());
    assert_eq!(refusal(&strict, &frame), "column c0 (INT): NULL where the type is NOT NULL");
}

#[test]
fn unknown_sections_are_skipped_unless_required() {
    let schema = schema(&["INT"]);
    let mut plan = FramePlan::default();
    plan.reset(0, schema.fingerprint());
    plan.node(Type::Int.code(), 0, 0, false, false, Some(0));
    plan.section(99, 8);
    let mut frame = vec![0; plan.layout().unwrap()];
    plan.start(&mut frame).unwrap();
    assert_eq!(decode_rows(&schema, &frame).unwrap().len(), 0);
    frame[32 + 16 + 4] = section::REQUIRED as u8;
    assert_eq!(refusal(&schema, &frame), "frame: required section of unknown kind 99");
}

#[test]
fn too_long_a_frame_is_refused_before_it_is_written() {
    let mut plan = FramePlan::default();
    plan.reset(1, 0);
    plan.node(Type::BYTES.code(), 0, 1, false, true, Some(crate::MAX_FRAME_BYTES));
    assert!(plan.layout().unwrap_err().to_string().contains("longer than"));
}

fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Boolean),
        Just(Type::TinyInt),
        Just(Type::SmallInt),
        Just(Type::Int),
        Just(Type::BigInt),
        Just(Type::Float),
        Just(Type::Double),
        (1u8..=38)
            .prop_flat_map(|p| (Just(p), 0..=p))
            .prop_map(|(precision, scale)| Type::Decimal { precision, scale }),
        Just(Type::Char(3)),
        Just(Type::STRING),
        Just(Type::BYTES),
        Just(Type::Date),
        (0u8..=9).prop_map(Type::Time),
        (0u8..=9).prop_map(Type::Timestamp),
        (0u8..=9).prop_map(Type::TimestampLtz),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::array),
            (inner.clone(), inner.clone()).prop_map(|(k, v)| Type::map(k, v)),
            proptest::collection::vec(inner, 0..4).prop_map(|types| {
                Type::Row(types.into_iter().enumerate().map(|(i, t)| Field::new(format!("m{i}"), t, true)).collect())
            }),
        ]
    })
}

fn any_value(ty: &Type, nullable: bool) -> BoxedStrategy<Value> {
    let value = match ty {
        Type::Boolean => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::TinyInt => any::<i8>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::SmallInt => any::<i16>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::Int | Type::Date => any::<i32>().prop_map(|v| Value::Int(v.into())).boxed(),
        Type::BigInt | Type::Time(_) | Type::Timestamp(_) | Type::TimestampLtz(_) => {
            any::<i64>().prop_map(Value::Int).boxed()
        }
        Type::Float => (-1e9f32..1e9).prop_map(Value::Float).boxed(),
        Type::Double => (-1e9f64..1e9).prop_map(Value::Double).boxed(),
        Type::Decimal { .. } => any::<i128>().prop_map(Value::Decimal).boxed(),
        Type::Char(_) | Type::Varchar(_) => ".{0,20}".prop_map(Value::Text).boxed(),
        Type::Binary(_) | Type::Varbinary(_) => {
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes).boxed()
        }
        Type::Array(item) => {
            proptest::collection::vec(any_value(&item.ty, item.nullable), 0..4).prop_map(Value::List).boxed()
        }
        Type::Map(kv) => {
            proptest::collection::vec((any_value(&kv.0.ty, false), any_value(&kv.1.ty, kv.1.nullable)), 0..4)
                .prop_map(Value::Map)
                .boxed()
        }
        Type::Row(fields) => {
            fields.iter().map(|f| any_value(&f.ty, f.nullable)).collect::<Vec<_>>().prop_map(Value::Row).boxed()
        }
    };
    if nullable { prop_oneof![4 => value, 1 => Just(Value::Null)].boxed() } else { value }
}

fn any_table() -> impl Strategy<Value = (Schema, Vec<Vec<Value>>)> {
    proptest::collection::vec(any_type(), 1..4).prop_flat_map(|types| {
        let fields = types.iter().enumerate().map(|(i, t)| Field::new(format!("c{i}"), t.clone(), true)).collect();
        let row = types.iter().map(|t| any_value(t, true)).collect::<Vec<_>>();
        (Just(Schema::new(fields).unwrap()), proptest::collection::vec(row, 0..20))
    })
}

proptest! {
    #[test]
    fn rows_come_back_as_written((schema, rows) in any_table(), odd in 0usize..8) {
        let frame = encode_rows(&schema, &rows, &[]).unwrap();
        prop_assert_eq!(&Schema::parse(schema.bytes()).unwrap(), &schema);
        // at any address
        let mut shifted = vec![0xee; odd];
        shifted.extend_from_slice(&frame);
        prop_assert_eq!(decode_rows(&schema, &shifted[odd..]).unwrap(), rows);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_rows(&schema(&["STRING", "ARRAY<INT>"]), &bytes);
        let _ = Schema::parse(&bytes);
        let _ = crate::Bundle::parse(&bytes).map(|b| b.pairs());
    }

    #[test]
    fn mutated_frames_never_panic(
        (schema, rows) in any_table(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut frame = encode_rows(&schema, &rows, &[(0, "x".into())]).unwrap();
        for (place, byte) in &hits {
            let at = place.index(frame.len());
            frame[at] = *byte;
        }
        let read = |frame: &[u8]| {
            let _ = decode_rows(&schema, frame);
            if let Ok(f) = Frame::parse(frame) {
                let _ = (f.row_errors(f.rows()), f.source_rows(7));
                if let Ok(columns) = f.columns(&schema, Check::Buffers) {
                    for row in 0..f.rows().min(100) {
                        columns.iter().for_each(|c| { let _ = crate::value::get(c, row); });
                    }
                }
            }
        };
        read(&frame);
        frame.truncate(cut.index(frame.len()));
        read(&frame);
        let mut tree = schema.bytes().to_vec();
        for (place, byte) in &hits {
            let at = place.index(tree.len());
            tree[at] = *byte;
        }
        let _ = Schema::parse(&tree);
    }
}
