use super::*;
use crate::data::{Batch, Column, LogicalType as T, Origin, PathStep, RowKind};
use crate::formats::testing::{chunk, column, context, rows_as_json};
use apache_avro::types::Value;
use apache_avro::{Decimal, Schema};

const ORDER: &str = r#"{"type":"record","name":"o","fields":[
    {"name":"skipped","type":{"type":"array","items":["null",{"type":"map","values":"long"}]}},
    {"name":"id","type":"long"},
    {"name":"name","type":["null","string"],"default":null},
    {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
    {"name":"fixed_price","type":["null",{"type":"fixed","name":"f","size":5,"logicalType":"decimal","precision":10,"scale":3}]},
    {"name":"day","type":{"type":"int","logicalType":"date"}},
    {"name":"clock","type":{"type":"int","logicalType":"time-millis"}},
    {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
    {"name":"at6","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
    {"name":"state","type":{"type":"enum","name":"s","symbols":["NEW","DONE"]}},
    {"name":"tags","type":{"type":"array","items":["null","string"]}},
    {"name":"props","type":{"type":"map","values":"int"}},
    {"name":"who","type":["null",{"type":"record","name":"w","fields":[
        {"name":"age","type":"int"},{"name":"more","type":"string"},{"name":"friend","type":["null","w"]}]}]}
]}"#;

fn order_columns() -> Vec<Column> {
    let who = T::Row(vec![("missing".into(), T::STRING), ("age".into(), T::BigInt)]);
    vec![
        Column::new("id", T::BigInt, false),
        column("name", T::STRING),
        column("price", T::Decimal(8, 1)),
        column("fixed_price", T::Decimal(10, 3)),
        column("day", T::Date),
        column("clock", T::Time(3)),
        column("at", T::Timestamp(3)),
        column("at6", T::TimestampLtz(6)),
        column("state", T::STRING),
        column("tags", T::Array(Box::new(T::STRING))),
        column("props", T::Map(Box::new(T::STRING), Box::new(T::BigInt))),
        column("who", who),
    ]
}

fn union(branch: u32, value: Value) -> Value {
    Value::Union(branch, Box::new(value))
}

fn order(full: bool) -> Value {
    let some = |v: Value| if full { union(1, v) } else { union(0, Value::Null) };
    let friend = Value::Record(vec![
        ("age".into(), Value::Int(1)),
        ("more".into(), Value::String("x".into())),
        ("friend".into(), union(0, Value::Null)),
    ]);
    let who = vec![
        ("age".to_string(), Value::Int(36)),
        ("more".to_string(), Value::String("text".into())),
        ("friend".to_string(), union(1, friend)),
    ];
    Value::Record(vec![
        ("skipped".into(), Value::Array(vec![union(1, Value::Map([("a".to_string(), Value::Long(1))].into()))])),
        ("id".into(), Value::Long(i64::MAX)),
        ("name".into(), some(Value::String("Ada ä".into()))),
        ("price".into(), Value::Decimal(Decimal::from((-12345_i32).to_be_bytes().to_vec()))),
        ("fixed_price".into(), some(Value::Decimal(Decimal::from(vec![0xff, 0xff, 0xff, 0xcf, 0xc7])))),
        ("day".into(), Value::Date(-1)),
        ("clock".into(), Value::TimeMillis(86_399_500)),
        ("at".into(), Value::TimestampMillis(-1500)),
        ("at6".into(), some(Value::TimestampMicros(1_500_001))),
        ("state".into(), Value::Enum(1, "DONE".into())),
        ("tags".into(), Value::Array(vec![union(1, Value::String("a".into())), union(0, Value::Null)])),
        ("props".into(), Value::Map([("k".to_string(), Value::Int(-7))].into())),
        ("who".into(), some(Value::Record(who))),
    ])
}

fn datum(schema: &str, value: Value) -> Vec<u8> {
    apache_avro::to_avro_datum(&Schema::parse_str(schema).unwrap(), value).unwrap()
}

fn messages(d: &Decoded) -> Vec<&str> {
    d.errors.iter().map(|e| e.message.as_str()).collect()
}

#[test]
fn records_of_the_avro_library_become_rows_in_every_type() {
    let cx = context(order_columns(), &[("schema", ORDER)]);
    let records = [datum(ORDER, order(true)), datum(ORDER, order(false))];
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    assert_eq!(messages(&d), [""; 0]);
    let full = r#"{"id":9223372036854775807,"name":"Ada ä","price":-123.5,"fixed_price":-12.345,"day":"1969-12-31","clock":"23:59:59.5","at":"1969-12-31 23:59:58.5","at6":"1970-01-01 00:00:01.500001Z","state":"DONE","tags":["a",null],"props":{"k":-7},"who":{"missing":null,"age":36}}"#;
    let empty = r#"{"id":9223372036854775807,"name":null,"price":-123.5,"fixed_price":null,"day":"1969-12-31","clock":"23:59:59.5","at":"1969-12-31 23:59:58.5","at6":null,"state":"DONE","tags":["a",null],"props":{"k":-7},"who":null}"#;
    assert_eq!(rows_as_json(&d.columns), [full, empty]);
}

#[test]
fn a_projection_reads_over_what_no_query_needs() {
    let mut age = column("age", T::Int);
    age.path = vec![PathStep::Member("who".into()), PathStep::Member("age".into())];
    let cx = context(vec![column("state", T::STRING), age], &[("schema", ORDER)]);
    let records = [datum(ORDER, order(true)), datum(ORDER, order(false))];
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"state":"DONE","age":36}"#, r#"{"state":"DONE","age":null}"#]);

    // The schema that the columns make is that of all of them.
    let declared = vec![column("a", T::STRING), Column::new("b", T::Int, false), column("c", T::BigInt)];
    let whole = context(declared.clone(), &[]);
    let schema = derive::derive(&whole.schema, true).unwrap();
    let some = |v| union(1, v);
    let value = Value::Record(vec![
        ("a".into(), some(Value::String("x".into()))),
        ("b".into(), Value::Int(2)),
        ("c".into(), some(Value::Long(3))),
    ]);
    let record = datum(&schema, value);
    let mut part = context(vec![declared[2].clone()], &[]);
    part.declared = Some(whole.schema.clone());
    let d = Avro.decoder(&part).unwrap().decode(&chunk(&[record])).unwrap();
    assert_eq!((rows_as_json(&d.columns), messages(&d)), (vec![r#"{"c":3}"#.to_string()], vec![]));
}

#[test]
fn broken_records_are_refused_one_by_one() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"n","type":"int"},{"name":"s","type":"string"}]}"#;
    let cx = context(vec![Column::new("n", T::TinyInt, false), column("s", T::STRING)], &[("schema", schema)]);
    let good = [2_u8, 2, b'x'];
    let records: [&[u8]; 9] = [
        &good,
        &[],
        &[2, 200, 1, b'x'],
        &[2, 2, b'x', 0],
        &[2, 1],
        &[2, 2, 0xff],
        &[0xff; 20],
        &[0x80, 0x02, 2, b'x'],
        &good,
    ];
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    assert_eq!(d.records, Some(vec![0, 8]));
    let prefix = "not Avro of the table's schema: ";
    let found: Vec<String> = messages(&d).iter().map(|m| m.replace(prefix, "")).collect();
    assert_eq!(
        found,
        [
            "the record ends at byte 0 within a value",
            "the record ends at byte 4 within a value",
            "1 bytes follow the record",
            "a negative length at byte 2",
            "text that is not valid UTF-8 at byte 3",
            "a number of more than 64 bits at byte 10",
            "'128' is out of range for TINYINT",
        ]
    );
    assert_eq!(d.errors[6].column.as_deref(), Some("n"));
}

#[test]
fn lengths_that_lie_allocate_nothing() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":"null"}},
        {"name":"b","type":{"type":"array","items":{"type":"array","items":"null"}}}]}"#;
    let list = T::Array(Box::new(T::Int));
    let cx = context(vec![column("a", list.clone()), column("b", T::Array(Box::new(list)))], &[("schema", schema)]);
    let mut huge = vec![];
    encode::put_long(&mut huge, 1 << 40);
    // A thousand arrays of 65,000 elements without a byte each.
    let mut many = vec![0];
    encode::put_long(&mut many, 1000);
    for _ in 0..1000 {
        encode::put_long(&mut many, 65_000);
        many.push(0);
    }
    many.push(0);
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&[huge, many])).unwrap();
    assert_eq!(d.errors.len(), 2, "{:?}", d.errors);
    assert!(messages(&d).iter().all(|m| m.contains("more elements than the record can hold")), "{:?}", d.errors);
}

#[test]
fn values_that_do_not_fit_become_null_where_the_table_says_so() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"n","type":"int"},{"name":"m","type":"int"}]}"#;
    let mut cx = context(vec![column("n", T::TinyInt), column("m", T::Int)], &[("schema", schema)]);
    cx.null_on_error = true;
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&[[0x80_u8, 0x02, 4]])).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"n":null,"m":2}"#]);
    assert_eq!((d.records, d.errors.len()), (None, 1));
}

#[test]
fn schemas_are_checked_with_a_message_for_people() {
    let refusal = |schema: &str, t: T| {
        let cx = context(vec![column("c", t)], &[("schema", schema)]);
        Avro.decoder(&cx).err().unwrap_or_else(|| panic!("{schema}")).message
    };
    let record = |ty: &str| format!(r#"{{"type":"record","name":"r","fields":[{{"name":"c","type":{ty}}}]}}"#);
    assert!(refusal("{", T::Int).starts_with("table t: the Avro schema cannot be used: "));
    assert!(refusal("\"string\"", T::Int).ends_with("the Avro schema is no record but string"));
    assert!(refusal(&record("\"string\""), T::Int).ends_with("column c: Avro's string cannot become INT"));
    assert!(refusal(&record("[\"null\",\"string\"]"), T::Int).ends_with("column c: Avro's string cannot become INT"));
    let other = r#"{"type":"record","name":"r","fields":[{"name":"x","type":"int"},{"name":"y","type":"int"}]}"#;
    assert!(refusal(other, T::Int).ends_with("column c: the Avro schema has no field c; its fields are x, y"));
    let cx = context(vec![column("c", T::Int)], &[("record-class", "com.acme.Order")]);
    assert!(Avro.decoder(&cx).err().unwrap().message.contains("Java class com.acme.Order"));
    let cx =
        context(vec![column("c", T::Int)], &[("schema", &record(r#"{"type":"enum","name":"e","symbols":["A"]}"#))]);
    assert!(Avro.encoder(&cx).err().unwrap().message.ends_with("INT cannot become Avro's enum"));
    let cx = context(vec![column("d", T::Int)], &[("schema", &record("\"int\""))]);
    assert!(
        Avro.encoder(&cx).err().unwrap().message.ends_with("the Avro schema's field c has no column and no default")
    );
}

fn batch(cx: &FormatContext, lines: &[&str]) -> Batch {
    let d = crate::formats::json::Json.decoder(&context(cx.schema.columns.clone(), &[])).unwrap();
    let d = { d }.decode(&chunk(lines)).unwrap();
    assert!(d.errors.is_empty(), "{:?}", d.errors);
    Batch::new(d.columns, Origin::unknown())
}

fn encode(cx: &FormatContext, batch: &Batch) -> (Vec<Vec<u8>>, Vec<String>) {
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    Avro.encoder(cx).unwrap().encode(batch, &mut out, &mut errors).unwrap();
    let mut start = 0;
    let record = |(end, _): &(usize, u32)| out.bytes[std::mem::replace(&mut start, *end)..*end].to_vec();
    (out.records.iter().map(record).collect(), errors.into_iter().map(|e| e.message).collect())
}

const LINES: [&str; 3] = [
    r#"{"b":true,"i":-5,"l":9007199254740993,"f":0.5,"d":1e300,"n":-123.45,"s":"ä\"","y":"aGk=","dt":"2020-02-29","t":"23:59:59.125","ts":"2020-01-01 00:00:00.5","a":["x",null],"m":{"k":1,"j":null},"r":{"x":1,"y":["z"]}}"#,
    r#"{}"#,
    r#"{"n":0.00,"s":"","a":[],"m":{},"r":{"x":null,"y":null}}"#,
];

fn all_columns() -> Vec<Column> {
    let row = T::Row(vec![("x".into(), T::Int), ("y".into(), T::Array(Box::new(T::STRING)))]);
    vec![
        column("b", T::Boolean),
        column("i", T::SmallInt),
        column("l", T::BigInt),
        column("f", T::Float),
        column("d", T::Double),
        column("n", T::Decimal(12, 2)),
        column("s", T::STRING),
        column("y", T::BYTES),
        column("dt", T::Date),
        column("t", T::Time(3)),
        column("ts", T::Timestamp(3)),
        column("a", T::Array(Box::new(T::STRING))),
        column("m", T::Map(Box::new(T::STRING), Box::new(T::Int))),
        column("r", row),
    ]
}

#[test]
fn what_is_written_is_avro_for_the_avro_library_and_reads_back() {
    for encoding in ["binary", "json"] {
        let cx = context(all_columns(), &[("encoding", encoding)]);
        let rows = batch(&cx, &LINES);
        let (records, errors) = encode(&cx, &rows);
        assert_eq!((records.len(), errors), (3, vec![]));
        let d = Avro.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
        assert!(d.errors.is_empty(), "{:?}", d.errors);
        assert_eq!(rows_as_json(&d.columns), rows_as_json(&rows.columns), "{encoding}");
        if encoding == "binary" {
            let schema = Schema::parse_str(&derive::derive(&cx.schema, true).unwrap()).unwrap();
            for record in &records {
                let mut rest = record.as_slice();
                let value = apache_avro::from_avro_datum(&schema, &mut rest, None).unwrap();
                assert!(rest.is_empty());
                assert_eq!(apache_avro::to_avro_datum(&schema, value).unwrap().len(), record.len());
            }
        }
    }
}

#[test]
fn the_json_encoding_names_the_branches_of_unions() {
    let cx = context(vec![column("s", T::STRING), Column::new("y", T::BYTES, false)], &[("encoding", "json")]);
    let (records, _) = encode(&cx, &batch(&cx, &[r#"{"s":"x","y":"/wA="}"#, r#"{"y":""}"#]));
    let text: Vec<String> = records.into_iter().map(|r| String::from_utf8(r).unwrap()).collect();
    assert_eq!(text, [r#"{"s":{"string":"x"},"y":"ÿ\u0000"}"#, r#"{"s":null,"y":""}"#]);
    let lines = [r#"{"s":"x","y":""}"#, r#"{"y":"Ā","s":null}"#, r#"{"s":{"int":1},"y":""}"#, r#"{"s":null}"#, "{"];
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&lines)).unwrap();
    assert_eq!(d.errors.len(), 5, "{:?}", d.errors);
    assert_eq!(d.errors[0].message, "s: \"x\" is no Avro union of null and string");
    assert_eq!(d.errors[3].message, "the field y is missing");
    assert_eq!(Avro.framing(&cx.options).unwrap(), Framing::Lines);
}

#[test]
fn rows_that_the_schema_cannot_hold_are_refused_by_column() {
    let schema = r#"{"type":"record","name":"r","fields":[
        {"name":"n","type":"int"},{"name":"e","type":{"type":"enum","name":"e","symbols":["A"]}},
        {"name":"d","type":["null",{"type":"fixed","name":"f","size":1,"logicalType":"decimal","precision":2,"scale":1}]},
        {"name":"k","type":"int","default":7}]}"#;
    let columns = vec![column("n", T::BigInt), column("e", T::STRING), column("d", T::Decimal(9, 2))];
    let cx = context(columns, &[("schema", schema)]);
    let lines = [
        r#"{"n":1,"e":"A","d":1.50}"#,
        r#"{"e":"A"}"#,
        r#"{"n":3000000000,"e":"A"}"#,
        r#"{"n":1,"e":"B"}"#,
        r#"{"n":1,"e":"A","d":1.55}"#,
        r#"{"n":1,"e":"A","d":20}"#,
    ];
    let (records, errors) = encode(&cx, &batch(&cx, &lines));
    assert_eq!(records, [[2, 0, 2, 15, 14]]);
    assert_eq!(
        errors,
        [
            "is NULL, which Avro's int cannot hold",
            "3000000000 is out of range for Avro's int",
            "'B' is no symbol of Avro's enum",
            "the decimal does not fit Avro's decimal(2, 1)",
            "the decimal does not fit Avro's decimal(2, 1)",
        ]
    );
}

#[test]
fn flinkstreamsqls_retract_field_is_a_field_of_the_schema() {
    let schema =
        r#"{"type":"record","name":"r","fields":[{"name":"n","type":"int"},{"name":"retract","type":"boolean"}]}"#;
    let cx = context(vec![column("n", T::Int)], &[("schema", schema)]);
    let mut rows = batch(&cx, &[r#"{"n":1}"#, r#"{"n":1}"#]);
    rows.kinds = Some([RowKind::UpdateAfter, RowKind::Delete].into());
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    crate::formats::RetractEncoder::new(&Avro, &cx).unwrap().encode(&rows, &mut out, &mut errors).unwrap();
    assert_eq!((out.bytes, errors), (vec![2, 1, 2, 0], vec![]));
}

#[test]
fn instants_need_flinks_newer_mapping_when_the_columns_make_the_schema() {
    let columns = || vec![column("l", T::TimestampLtz(3)), column("w", T::Timestamp(6))];
    assert!(Avro.encoder(&context(columns(), &[])).is_err());
    let cx = context(columns(), &[("timestamp_mapping.legacy", "false")]);
    let rows = batch(&cx, &[r#"{"l":"2020-01-01 00:00:00Z","w":"2020-01-01 00:00:00.000001"}"#]);
    let (records, errors) = encode(&cx, &rows);
    assert_eq!(errors, [""; 0]);
    let d = Avro.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    assert_eq!(rows_as_json(&d.columns), rows_as_json(&rows.columns));
}

proptest::proptest! {
    #[test]
    fn random_bytes_never_panic_and_never_make_more_than_they_can_hold(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
    ) {
        let cx = context(order_columns(), &[("schema", ORDER)]);
        let d = Avro.decoder(&cx).unwrap().decode(&chunk(&[&bytes])).unwrap();
        proptest::prop_assert!(d.columns.num_rows() + d.errors.len() == 1);
        proptest::prop_assert!(d.columns.get_array_memory_size() < 4 << 20);
        let json = context(order_columns(), &[("schema", ORDER), ("encoding", "json")]);
        let _ = Avro.decoder(&json).unwrap().decode(&chunk(&[&bytes])).unwrap();
    }

    #[test]
    fn damaged_records_never_panic(
        hits in proptest::collection::vec((proptest::prelude::any::<proptest::sample::Index>(), proptest::prelude::any::<u8>()), 1..5),
    ) {
        let mut bytes = datum(ORDER, order(true));
        for (at, byte) in &hits {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let cx = context(order_columns(), &[("schema", ORDER)]);
        let d = Avro.decoder(&cx).unwrap().decode(&chunk(&[&bytes])).unwrap();
        proptest::prop_assert!(d.columns.num_rows() + d.errors.len() == 1);
    }
}
