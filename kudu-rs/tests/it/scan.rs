use crate::support::*;
use kudu_rs::{
    ColumnSchema, DataType, Predicate, RangePartition, ReadMode, ReplicaSelection, Row, RowLayout, ScanToken, Schema,
    Table, Value,
};
use std::time::Duration;

async fn all(scan: kudu_rs::ScanBuilder) -> Vec<(i32, Option<i64>)> {
    pairs(&scan.build().expect("valid").collect().await.expect("rows"))
}

fn v_of(k: i32) -> Option<i64> {
    (k % 5 != 0).then_some(i64::from(k) * 10)
}

async fn filled(client: &kudu_rs::Client, rows: i32) -> Table {
    let table = table(client, "scan", 1).await;
    let session = client.new_session();
    for k in 0..rows {
        session.apply(table.insert(row(&table, k, v_of(k)))).await.expect("taken");
    }
    assert!(session.flush().await.errors.is_empty());
    table
}

#[tokio::test]
async fn predicates_select_the_same_rows_as_a_filter() {
    let client = client().await;
    let table = filled(&client, 200).await;
    type Test = fn(i32, Option<i64>) -> bool;
    let cases: Vec<(Vec<Predicate>, Test)> = vec![
        (vec![Predicate::eq("k", 7)], |k, _| k == 7),
        (vec![Predicate::lt("k", 7)], |k, _| k < 7),
        (vec![Predicate::le("v", 70i64)], |_, v| v.is_some_and(|v| v <= 70)),
        (vec![Predicate::gt("v", 70i64), Predicate::lt("k", 100)], |k, v| k < 100 && v.is_some_and(|v| v > 70)),
        (vec![Predicate::ge("k", 190)], |k, _| k >= 190),
        (vec![Predicate::is_in("k", [3, 150, 999])], |k, _| k == 3 || k == 150),
        (vec![Predicate::is_in("v", [10i64, 20, 30])], |_, v| matches!(v, Some(10 | 20 | 30))),
        (vec![Predicate::is_null("v")], |_, v| v.is_none()),
        (vec![Predicate::is_not_null("v"), Predicate::lt("k", 12)], |k, v| v.is_some() && k < 12),
        (vec![Predicate::eq("k", 1), Predicate::eq("k", 2)], |_, _| false),
        (vec![Predicate::le("k", i32::MAX)], |_, _| true),
        (vec![Predicate::gt("k", i32::MAX)], |_, _| false),
    ];
    for (predicates, test) in cases {
        let expected: Vec<_> = (0..200).map(|k| (k, v_of(k))).filter(|(k, v)| test(*k, *v)).collect();
        for layout in [RowLayout::Columnar, RowLayout::Rows] {
            let seen = all(table.scan().predicates(predicates.clone()).layout(layout)).await;
            assert_eq!(seen, expected, "{predicates:?}");
        }
    }
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn predicates_work_on_every_type() {
    let client = client().await;
    let types = [
        (DataType::Bool, vec![Value::Bool(false), true.into()]),
        (DataType::Int8, vec![(-128i8).into(), 0i8.into(), 127i8.into()]),
        (DataType::Int16, vec![(-3i16).into(), 9i16.into()]),
        (DataType::Float, vec![(-1.5f32).into(), 0f32.into(), f32::MAX.into()]),
        (DataType::Double, vec![f64::MIN.into(), 2.5f64.into()]),
        (
            DataType::Decimal { precision: 9, scale: 2 },
            [-5i128, 0, 7].map(|u| Value::Decimal { unscaled: u, scale: 2 }).to_vec(),
        ),
        (
            DataType::Decimal { precision: 18, scale: 0 },
            [-5i128, 0, 7].map(|u| Value::Decimal { unscaled: u, scale: 0 }).to_vec(),
        ),
        (
            DataType::Decimal { precision: 38, scale: 5 },
            [-5i128, 0, 7].map(|u| Value::Decimal { unscaled: u, scale: 5 }).to_vec(),
        ),
        (DataType::String, vec!["".into(), "a".into(), "a\0".into(), "b".into()]),
        (DataType::Varchar { length: 2 }, vec!["".into(), "a".into(), "ab".into()]),
        (DataType::Binary, vec![vec![].into(), vec![1u8].into(), vec![1u8, 0].into()]),
        (DataType::Date, vec![Value::Date(-719_162), Value::Date(0), Value::Date(2_932_896)]),
        (DataType::UnixtimeMicros, vec![Value::UnixtimeMicros(-1), Value::UnixtimeMicros(1 << 50)]),
    ];
    for (data_type, values) in types {
        let schema = Schema::new([ColumnSchema::new("k", DataType::Int32).key(), ColumnSchema::new("c", data_type)])
            .expect("valid");
        let table = client
            .create_table(unique("predicate"), &schema)
            .hash_partitions(["k"], 2)
            .replicas(1)
            .create()
            .await
            .expect("made");
        let session = client.new_session();
        for (k, v) in values.iter().enumerate() {
            session
                .apply(
                    table.insert(table.row().with("k", k as i32).and_then(|r| r.with("c", v.clone())).expect("fits")),
                )
                .await
                .expect("taken");
        }
        assert!(session.flush().await.errors.is_empty());
        let seen = async |p: Predicate| {
            let rows = table.scan().project(["k"]).predicate(p).build().expect("valid").collect().await.expect("rows");
            let mut keys = ints(&rows, "k");
            keys.sort_unstable();
            keys
        };
        let n = values.len() as i32;
        for (i, v) in values.iter().enumerate() {
            let i = i as i32;
            assert_eq!(seen(Predicate::eq("c", v.clone())).await, [i], "{data_type} = {v}");
            assert_eq!(seen(Predicate::lt("c", v.clone())).await, (0..i).collect::<Vec<_>>(), "{data_type} < {v}");
            assert_eq!(seen(Predicate::le("c", v.clone())).await, (0..=i).collect::<Vec<_>>(), "{data_type} <= {v}");
            assert_eq!(seen(Predicate::gt("c", v.clone())).await, (i + 1..n).collect::<Vec<_>>(), "{data_type} > {v}");
            assert_eq!(seen(Predicate::ge("c", v.clone())).await, (i..n).collect::<Vec<_>>(), "{data_type} >= {v}");
        }
        assert_eq!(seen(Predicate::is_in("c", values.clone())).await.len(), values.len(), "{data_type} IN");
        client.delete_table(table.name()).await.expect("deleted");
    }
}

#[tokio::test]
async fn bounds_of_the_key_are_inclusive_or_exclusive_as_asked() {
    let client = client().await;
    let schema = Schema::new([
        ColumnSchema::new("k", DataType::Int32).key(),
        ColumnSchema::new("t", DataType::String).key(),
        ColumnSchema::new("v", DataType::Int64).nullable(),
    ])
    .expect("valid");
    let bound = |k: i32| Row::new(&schema).with("k", k).expect("fits");
    let made = client.create_table(unique("bounds"), &schema).hash_partitions(["t"], 2).range_columns(["k"]);
    let made = made
        .range_partition(RangePartition::new(bound(0), bound(2)))
        .range_partition(RangePartition::new(bound(2), bound(4)));
    let table = made.replicas(1).create().await.expect("made");
    let key = |k: i32, t: &str| table.row().with("k", k).and_then(|r| r.with("t", t)).expect("fits");
    let session = client.new_session();
    for k in 0..4 {
        for t in ["", "a", "a\0", "b"] {
            session.apply(table.insert(key(k, t).with("v", 1i64).expect("fits"))).await.expect("taken");
        }
    }
    assert!(session.flush().await.errors.is_empty());
    let count_of =
        async |scan: kudu_rs::ScanBuilder| count(&scan.build().expect("valid").collect().await.expect("rows"));
    assert_eq!(count_of(table.scan().lower_bound(key(1, "a"))).await, 11);
    assert_eq!(count_of(table.scan().exclusive_lower_bound(key(1, "a"))).await, 10);
    assert_eq!(count_of(table.scan().upper_bound(key(1, "a"))).await, 5);
    assert_eq!(count_of(table.scan().inclusive_upper_bound(key(1, "a"))).await, 6);
    assert_eq!(count_of(table.scan().lower_bound(key(1, "")).upper_bound(key(2, ""))).await, 4);
    assert_eq!(count_of(table.scan().lower_bound(key(1, "b")).upper_bound(key(1, "b"))).await, 0);
    assert_eq!(count_of(table.scan().exclusive_lower_bound(key(3, "b"))).await, 0);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn limits_counts_and_small_batches() {
    let client = client().await;
    let table = filled(&client, 5000).await;
    assert_eq!(all(table.scan().limit(7)).await.len(), 7);
    assert_eq!(all(table.scan().limit(0)).await.len(), 0);
    assert_eq!(all(table.scan().limit(9999)).await.len(), 5000);
    let none: [&str; 0] = [];
    for layout in [RowLayout::Columnar, RowLayout::Rows] {
        let counted =
            table.scan().project(none).layout(layout).build().expect("valid").collect().await.expect("counts");
        assert_eq!(count(&counted), 5000);
        let mut scan = table.scan().batch_size_bytes(1000).layout(layout).build().expect("valid");
        let (mut batches, mut rows) = (0, 0);
        while let Some(b) = scan.next().await {
            batches += 1;
            rows += b.expect("rows").num_rows();
        }
        assert_eq!(rows, 5000);
        assert!(batches > 10, "{batches}");
    }
    let mixed = table.scan().concurrency(4).build().expect("valid").collect().await.expect("rows");
    assert_eq!(count(&mixed), 5000);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_fault_tolerant_scan_is_in_the_order_of_keys_within_tablets() {
    let client = client().await;
    let table = filled(&client, 3000).await;
    let tokens = table.scan().fault_tolerant().batch_size_bytes(2000).tokens().await.expect("tokens");
    assert_eq!(tokens.len(), 4);
    let mut total = 0;
    for t in tokens {
        let keys = ints(&t.scan().collect().await.expect("rows"), "k");
        assert!(keys.is_sorted());
        total += keys.len();
    }
    assert_eq!(total, 3000);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn tokens_carry_a_scan_to_another_process() {
    let client = client().await;
    let table = filled(&client, 1000).await;
    let scan = table.scan().project(["k"]).predicate(Predicate::ge("k", 100)).predicate(Predicate::is_not_null("v"));
    let tokens = scan.tokens().await.expect("tokens");
    let bytes: Vec<Vec<u8>> = tokens.iter().map(|t| t.serialize().expect("a token")).collect();
    let other = crate::support::client().await;
    let mut keys = vec![];
    for b in bytes {
        let token = ScanToken::deserialize(&other, &b).await.expect("our own");
        keys.extend(ints(&token.scan().collect().await.expect("rows"), "k"));
    }
    keys.sort_unstable();
    assert_eq!(keys, (100..1000).filter(|k| v_of(*k).is_some()).collect::<Vec<_>>());
    assert!(ScanToken::deserialize(&other, b"\xff\xff").await.is_err());
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_snapshot_does_not_see_later_writes_and_own_writes_are_seen() {
    let client = client().await;
    let table = filled(&client, 10).await;
    let micros = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("clock").as_micros() as u64;
    tokio::time::sleep(Duration::from_millis(20)).await;
    fill(&table, [(100, 1)]).await;
    assert_eq!(all(table.scan().read_mode(ReadMode::Snapshot(Some(micros)))).await.len(), 10);
    assert_eq!(all(table.scan().read_mode(ReadMode::Snapshot(None))).await.len(), 11);
    let own = table.scan().read_mode(ReadMode::YourWrites).replica_selection(ReplicaSelection::Closest);
    assert_eq!(all(own).await.len(), 11);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn many_keys_are_looked_up_at_once_by_many_tasks() {
    let client = client().await;
    let table = filled(&client, 2000).await;
    let lookup = table.lookup().project(["k", "v"]).build().expect("valid");
    let tasks = (0..50).map(|task| {
        let lookup = lookup.clone();
        tokio::spawn(async move {
            let keys: Vec<i32> = (0..300).map(|i| (task * 131 + i * 17) % 2500).collect();
            let found = lookup.get(keys.iter().map(|k| vec![Value::Int32(*k)])).await.expect("rows");
            let mut expected: Vec<i32> = keys.into_iter().filter(|k| *k < 2000).collect();
            expected.sort_unstable();
            expected.dedup();
            let expected: Vec<_> = expected.into_iter().map(|k| (k, v_of(k))).collect();
            assert_eq!(pairs(&found), expected);
        })
    });
    for t in tasks.collect::<Vec<_>>() {
        t.await.expect("no panic");
    }
    // Wider values than the column has, and NULL: no row, no error. A text for a number is a mistake.
    let found =
        lookup.get([vec![Value::Int64(5)], vec![Value::Int64(1 << 40)], vec![Value::Null]]).await.expect("rows");
    assert_eq!(pairs(&found), [(5, None)]);
    assert!(lookup.get([vec![Value::from("x")]]).await.is_err());
    // Not by the key.
    let by_value = table.lookup().by(["v"]).build().expect("valid");
    let found =
        by_value.get([vec![Value::Int64(10)], vec![Value::Int64(30)], vec![Value::Int64(31)]]).await.expect("rows");
    assert_eq!(pairs(&found), [(1, Some(10)), (3, Some(30))]);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn keys_of_several_columns_are_looked_up_exactly() {
    let client = client().await;
    let schema = Schema::new([
        ColumnSchema::new("k", DataType::Int32).key(),
        ColumnSchema::new("t", DataType::String).key(),
        ColumnSchema::new("v", DataType::Int64).nullable(),
    ])
    .expect("valid");
    let table = client
        .create_table(unique("two"), &schema)
        .hash_partitions(["k", "t"], 3)
        .replicas(1)
        .create()
        .await
        .expect("made");
    let session = client.new_session();
    for k in 0..10 {
        for t in ["a", "b", "c"] {
            let row = table.row().with("k", k).and_then(|r| r.with("t", t)).and_then(|r| r.with("v", i64::from(k)));
            session.apply(table.insert(row.expect("fits"))).await.expect("taken");
        }
    }
    assert!(session.flush().await.errors.is_empty());
    let lookup = table.lookup().by(["t", "k"]).build().expect("valid");
    // Not the cross product: (a, 1) and (b, 2), but neither (a, 2) nor (b, 1).
    let found = lookup
        .get([vec!["a".into(), Value::Int32(1)], vec!["b".into(), Value::Int32(2)], vec!["z".into(), Value::Int32(2)]])
        .await;
    assert_eq!(pairs(&found.expect("rows")), [(1, Some(1)), (2, Some(2))]);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_slow_reader_keeps_its_scanner() {
    let cluster = Cluster::start(&[("KUDU_TSERVER_FLAGS", "--scanner_ttl_ms=600")]);
    let client = kudu_rs::Client::builder().masters([cluster.master()]).build().await.expect("up");
    let table = filled(&client, 5000).await;
    let mut scan = table.scan().batch_size_bytes(1000).keep_alive(Duration::from_millis(150)).build().expect("valid");
    let first = scan.next().await.expect("rows").expect("rows").num_rows();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let rest = count(&scan.collect().await.expect("the scanner is still there"));
    assert_eq!(first + rest, 5000);

    let mut scan = table.scan().batch_size_bytes(1000).keep_alive(Duration::from_secs(60)).build().expect("valid");
    scan.next().await.expect("rows").expect("rows");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let e = scan.next().await.expect("an error").expect_err("it is gone");
    assert!(e.to_string().contains("cannot go on"), "{e}");

    let scan = table.scan().batch_size_bytes(1000).keep_alive(Duration::from_secs(60)).fault_tolerant();
    let mut scan = scan.build().expect("valid");
    let mut keys = ints(&[scan.next().await.expect("rows").expect("rows")], "k");
    tokio::time::sleep(Duration::from_secs(3)).await;
    while let Some(b) = scan.next().await {
        keys.extend(ints(&[b.expect("it goes on")], "k"));
    }
    keys.sort_unstable();
    assert_eq!(keys, (0..5000).collect::<Vec<_>>(), "no row lost, none twice");
}
