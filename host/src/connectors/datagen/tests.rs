use super::Datagen;
use crate::connectors::api::{Boundedness, ConnectorFactory, Source, SourceOutput, TableContext};
use crate::connectors::testing::{block_on, context, read_all, subtask};
use crate::data::{Column, LogicalType};
use crate::formats::testing::{column, rows_as_json};
use crate::sql::options::{OptionEntry, OptionValue};
use std::path::Path;
use std::time::{Duration, Instant};

fn table(columns: Vec<Column>, numbers: &[(&'static str, i64)], fields: &[(&str, &str)]) -> TableContext {
    let mut cx = context(Path::new("."), columns, &[]);
    let fast = [("rows-per-second", 100_000_000)];
    for (name, number) in fast.iter().chain(numbers) {
        let entry = OptionEntry {
            value: OptionValue::Int(*number),
            text: number.to_string(),
            key: name.to_string(),
            span: None,
            sensitive: false,
        };
        cx.options.entries.insert(name, entry);
    }
    let fields = fields.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    cx.options.prefixed.insert("fields", fields);
    cx
}

fn source(cx: &TableContext) -> Box<dyn Source> {
    Datagen.source(cx).unwrap_or_else(|e| panic!("{e}"))
}

fn refusal(columns: Vec<Column>, fields: &[(&str, &str)]) -> String {
    match Datagen.source(&table(columns, &[("seed", 1)], fields)) {
        Ok(_) => panic!("accepted"),
        Err(e) => e.message,
    }
}

fn every_type() -> Vec<Column> {
    use LogicalType as T;
    let row = T::Row(vec![("a".into(), T::Int), ("b".into(), T::STRING)]);
    vec![
        column("t", T::Boolean),
        column("i", T::Int),
        column("l", T::BigInt),
        column("f", T::Float),
        column("d", T::Double),
        column("n", T::Decimal(38, 10)),
        column("c", T::Char(3)),
        column("v", T::Varchar(Some(8))),
        column("s", T::STRING),
        column("b", T::Varbinary(Some(4))),
        column("day", T::Date),
        column("tm", T::Time(0)),
        column("ts", T::Timestamp(3)),
        column("arr", T::Array(Box::new(T::Int))),
        column("m", T::Map(Box::new(T::STRING), Box::new(T::Int))),
        column("r", row),
    ]
}

#[test]
fn the_shortest_sequence_ends_the_table() {
    let columns = vec![column("a", LogicalType::BigInt), column("b", LogicalType::STRING)];
    let fields = [
        ("a.kind", "sequence"),
        ("a.start", "5"),
        ("a.end", "1000"),
        ("b.kind", "sequence"),
        ("b.start", "-1"),
        ("b.end", "1"),
    ];
    let cx = table(columns, &[("seed", 1)], &fields);
    let source = source(&cx);
    assert_eq!(source.boundedness(), Boundedness::Bounded);
    let (rows, refused) = read_all(&*source, 1).unwrap();
    let rows: Vec<String> = rows.into_iter().map(|(_, r)| r).collect();
    assert_eq!(rows, [r#"{"a":5,"b":"-1"}"#, r#"{"a":6,"b":"0"}"#, r#"{"a":7,"b":"1"}"#]);
    assert!(refused.is_empty());
}

#[test]
fn subtasks_share_the_rows_and_each_is_made_once() {
    let fields = [("a.kind", "sequence"), ("a.start", "0"), ("a.end", "999")];
    let cx = table(vec![column("a", LogicalType::Int)], &[("number-of-rows", 100)], &fields);
    let (rows, _) = read_all(&*source(&cx), 3).unwrap();
    let mut rows: Vec<u64> =
        rows.iter().map(|(_, r)| r.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
}

#[test]
fn values_of_every_type_stay_within_their_settings() {
    let fields = [
        ("i.min", "-2"),
        ("i.max", "2"),
        ("n.min", "1.5"),
        ("n.max", "1.6"),
        ("d.min", "0"),
        ("d.max", "1"),
        ("v.var-len", "true"),
        ("s.length", "5"),
        ("arr.length", "2"),
        ("arr.element.min", "7"),
        ("arr.element.max", "7"),
        ("m.length", "1"),
        ("m.key.length", "2"),
        ("r.a.min", "3"),
        ("r.a.max", "3"),
        ("r.b.null-rate", "1"),
        ("l.null-rate", "0.5"),
    ];
    let cx = table(every_type(), &[("number-of-rows", 1000), ("seed", 7)], &fields);
    let (rows, refused) = read_all(&*source(&cx), 1).unwrap();
    assert_eq!((rows.len(), refused), (1000, vec![]));
    let (mut nulls, mut whole, mut lengths) = (0, vec![], vec![]);
    for (_, row) in &rows {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let number: f64 = row["n"].to_string().parse().unwrap();
        assert!((1.5..=1.6).contains(&number), "{row}");
        assert!((0.0..=1.0).contains(&row["d"].as_f64().unwrap()), "{row}");
        assert_eq!(row["c"].as_str().unwrap().len(), 3);
        assert_eq!(row["s"].as_str().unwrap().len(), 5);
        assert_eq!(row["arr"], serde_json::json!([7, 7]));
        assert_eq!(row["r"], serde_json::json!({"a": 3, "b": null}));
        assert_eq!(row["m"].as_object().unwrap().keys().map(String::len).collect::<Vec<_>>(), [2]);
        whole.push(row["i"].as_i64().unwrap());
        lengths.push(row["v"].as_str().unwrap().len());
        nulls += usize::from(row["l"].is_null());
    }
    for list in [&mut whole, &mut lengths.iter().map(|n| *n as i64).collect()] {
        list.sort_unstable();
        list.dedup();
    }
    assert_eq!(whole, [-2, -1, 0, 1, 2]);
    lengths.sort_unstable();
    lengths.dedup();
    assert_eq!(lengths, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!((400..600).contains(&nulls), "{nulls} of 1000 are NULL");
}

#[test]
fn a_restored_reader_goes_on_with_the_rows_it_would_have_made() {
    let columns = vec![column("l", LogicalType::BigInt), column("s", LogicalType::STRING)];
    let cx = table(columns, &[("number-of-rows", 50)], &[("s.length", "4")]);
    let source = source(&cx);
    let split = block_on(source.enumerate(1)).unwrap().remove(0);
    let rows_from = |split, rows| {
        let mut reader = source.reader(&subtask()).unwrap();
        reader.add_split(split);
        let mut all = vec![];
        while all.len() < rows {
            match block_on(reader.poll(10, Duration::from_millis(50))).unwrap() {
                SourceOutput::Rows(batch, _) => all.extend(rows_as_json(&batch)),
                SourceOutput::Exhausted => break,
                _ => {}
            }
        }
        (all, reader.snapshot().remove(0))
    };
    let (all, ended) = rows_from(split.clone(), 51);
    assert_eq!((all.len(), ended.position), (50, 50));
    let (first, middle) = rows_from(split, 20);
    let (rest, _) = rows_from(middle, 51);
    assert_eq!([first, rest].concat(), all);
}

#[test]
fn rows_come_at_the_rate() {
    let cx = table(vec![column("a", LogicalType::Int)], &[("rows-per-second", 200), ("number-of-rows", 60)], &[]);
    let begun = Instant::now();
    let (rows, _) = read_all(&*source(&cx), 2).unwrap();
    let (took, rows) = (begun.elapsed().as_millis(), rows.len());
    // 60 rows at 200 a second, whatever the splits. Slower is the machine's matter.
    assert!(rows == 60 && took >= 290, "{rows} rows in {took} ms");
}

#[test]
fn settings_that_mean_nothing_are_refused_by_name() {
    let int = || vec![column("a", LogicalType::Int)];
    assert_eq!(refusal(int(), &[("a.length", "3")]), "table t: fields.a.length means nothing for a INT");
    assert_eq!(
        refusal(int(), &[("a.min", "x")]),
        "table t: fields.a.min = 'x': expected a number from -2147483648 to 2147483647"
    );
    assert_eq!(
        refusal(int(), &[("a.min", "3"), ("a.max", "2")]),
        "table t: fields.a.min = '3' is beyond the maximum, 2"
    );
    assert_eq!(
        refusal(int(), &[("a.kind", "sequence"), ("a.start", "1")]),
        "table t: fields.a.end is missing: a sequence needs start and end"
    );
    assert_eq!(refusal(int(), &[("a.kind", "gauss")]), "table t: fields.a.kind = 'gauss': expected random or sequence");
    let flag = vec![column("a", LogicalType::Boolean)];
    assert_eq!(refusal(flag, &[("a.kind", "sequence")]), "table t: fields.a.kind: a BOOLEAN cannot be a sequence");
}
