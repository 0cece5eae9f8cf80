use crate::support::*;
use kudu_rs::{
    Bound, ColumnChange, ColumnSchema, Compression, DataType, Encoding, HashBuckets, OpKind, Predicate, RangePartition,
    Schema, Value,
};

#[tokio::test]
async fn a_table_is_made_as_it_was_described() {
    let client = client().await;
    let name = unique("described");
    let schema = Schema::new([
        ColumnSchema::new("a", DataType::Int16).key().encoding(Encoding::BitShuffle),
        ColumnSchema::new("b", DataType::Varchar { length: 7 }).key(),
        ColumnSchema::new("c", DataType::Decimal { precision: 20, scale: 3 })
            .default(Value::Decimal { unscaled: -1500, scale: 3 })
            .compression(Compression::Lz4)
            .block_size(8192)
            .comment("a comment"),
        ColumnSchema::new("d", DataType::Date).nullable(),
    ])
    .expect("a schema");
    let made =
        client.create_table(&name, &schema).hash_partitions(["a"], 3).hash_buckets(HashBuckets::new(["b"], 2).seed(5));
    let table = made.owner("somebody").comment("of the table").replicas(1).create().await.expect("made");
    assert_eq!((table.owner(), table.comment(), table.replica_count()), ("somebody", "of the table", 1));
    let reopened = client.open_table(&name).await.expect("there");
    let columns = reopened.schema().columns();
    assert_eq!(columns[1].data_type, DataType::Varchar { length: 7 });
    assert_eq!(columns[2].default, Some(Value::Decimal { unscaled: -1500, scale: 3 }));
    assert_eq!((columns[2].compression, columns[2].block_size), (Compression::Lz4, 8192));
    assert_eq!(columns[2].comment, "a comment");

    let seen = tool("table", "describe", &[&name, "-show_attributes"]);
    for part in [
        "a INT16 NOT NULL BIT_SHUFFLE",
        "b VARCHAR(7) NOT NULL",
        "c DECIMAL(20, 3) NOT NULL AUTO_ENCODING LZ4 8192 -1500_D128",
        "d DATE NULLABLE",
        "PRIMARY KEY (a, b)",
        "HASH (a) PARTITIONS 3",
        "HASH (b) PARTITIONS 2 SEED 5",
        "OWNER somebody",
        "COMMENT of the table",
    ] {
        assert!(seen.contains(part), "{part} in {seen}");
    }
    assert!(client.table_exists(&name).await.expect("answer"));
    let listed = client.list_tables(&name).await.expect("answer");
    assert_eq!((listed.len(), listed[0].name.as_str(), listed[0].tablets), (1, name.as_str(), Some(6)));
    client.delete_table(&name).await.expect("deleted");
    assert!(!client.table_exists(&name).await.expect("answer"));
    assert!(client.open_table(&name).await.expect_err("gone").is_not_found());
}

#[tokio::test]
async fn a_table_is_changed_and_its_rows_stay() {
    let client = client().await;
    let table = table(&client, "changed", 1).await;
    fill(&table, [(1, 10)]).await;
    let renamed = unique("renamed");
    client
        .alter_table(table.name())
        .rename_to(&renamed)
        .rename_column("v", "w")
        .drop_column("s")
        .add_column(ColumnSchema::new("n", DataType::Int32).default(7i32))
        .alter()
        .await
        .expect("changed");
    client
        .alter_table(&renamed)
        .alter_column(ColumnChange::of("n").default(8i32).compression(Compression::Zlib).comment("eight"))
        .alter()
        .await
        .expect("changed");
    let table = client.open_table(&renamed).await.expect("under its new name");
    let names: Vec<_> = table.schema().columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["k", "w", "n"]);
    assert_eq!(table.schema().columns()[2].default, Some(Value::Int32(8)));
    let session = client.new_session();
    session.apply(table.insert(table.row().with("k", 2).expect("fits"))).await.expect("taken");
    assert!(session.flush().await.errors.is_empty());
    let rows = table.scan().project(["k", "n"]).build().expect("valid").collect().await.expect("rows");
    let mut seen: Vec<_> = ints(&rows, "k").into_iter().zip(ints(&rows, "n")).collect();
    seen.sort_unstable();
    assert_eq!(seen, [(1, 7), (2, 8)]);
    let e = client.alter_table(&renamed).add_column(ColumnSchema::new("x", DataType::Int8)).alter().await;
    assert!(e.expect_err("refused").to_string().contains("needs a default or to be nullable"));
    client.delete_table(&renamed).await.expect("deleted");
}

#[tokio::test]
async fn rows_outside_of_all_ranges_are_errors_until_the_range_is_added() {
    let client = client().await;
    let schema = schema();
    let bound = |k: i32| kudu_rs::Row::new(&schema).with("k", k).expect("fits");
    let table = client
        .create_table(unique("ranges"), &schema)
        .hash_partitions(["k"], 2)
        .range_columns(["k"])
        .range_partition(RangePartition::new(bound(0), bound(10)))
        .range_partition(RangePartition::between(Bound::Exclusive(bound(19)), Bound::Inclusive(bound(29))))
        .replicas(1)
        .create()
        .await
        .expect("made");
    let session = client.new_session();
    let mut ids = vec![];
    for k in [-5, 0, 9, 10, 15, 19, 20, 29, 30, 40] {
        ids.push((session.apply(table.insert(row(&table, k, 1i64))).await.expect("taken"), k));
    }
    let done = session.flush().await;
    let mut refused: Vec<i32> =
        done.errors.iter().map(|e| ids.iter().find(|(id, _)| *id == e.id).expect("ours").1).collect();
    refused.sort_unstable();
    assert_eq!(refused, [-5, 10, 15, 19, 30, 40]);
    assert!(done.errors.iter().all(|e| e.error.is_not_found()));
    let message = done.errors[0].error.to_string();
    assert!(message.contains("covers the row (k="), "{message}");

    client
        .alter_table(table.name())
        .add_range_partition(RangePartition::new(bound(10), bound(19)))
        .alter()
        .await
        .expect("added");
    session.apply(table.insert(row(&table, 15, 1i64))).await.expect("taken");
    assert!(session.flush().await.errors.is_empty(), "the gap is forgotten");
    let again =
        client.alter_table(table.name()).add_range_partition(RangePartition::new(bound(10), bound(19))).alter().await;
    assert!(again.expect_err("there").to_string().contains("already exists"));
    client
        .alter_table(table.name())
        .drop_range_partition(RangePartition::new(bound(0), bound(10)))
        .alter()
        .await
        .expect("dropped");
    let rows = table.scan().build().expect("valid").collect().await.expect("rows");
    let mut left = ints(&rows, "k");
    left.sort_unstable();
    assert_eq!(left, [15, 20, 29]);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn ranges_may_have_buckets_of_their_own() {
    let client = client().await;
    let schema = schema();
    let bound = |k: i32| kudu_rs::Row::new(&schema).with("k", k).expect("fits");
    let none = || kudu_rs::Row::new(&schema);
    let table = client
        .create_table(unique("own_hash"), &schema)
        .hash_partitions(["k"], 2)
        .range_columns(["k"])
        .range_partition(RangePartition::new(none(), bound(0)))
        .range_partition(RangePartition::new(bound(0), bound(100)).hash([HashBuckets::new(["k"], 5).seed(3)]))
        .range_partition(RangePartition::new(bound(100), bound(200)).hash([HashBuckets::new(["k"], 3).seed(1)]))
        .replicas(1)
        .create()
        .await
        .expect("made");
    assert!(table.partition_schema().has_custom_hash());
    fill(&table, (-50..200).map(|k| (k, 1))).await;
    let rows = table.scan().build().expect("valid").collect().await.expect("rows");
    assert_eq!(count(&rows), 250);
    // Pruned: the answer is still complete.
    for k in [-50, -1, 0, 57, 99, 100, 199] {
        let found =
            table.scan().predicate(Predicate::eq("k", k)).build().expect("valid").collect().await.expect("rows");
        assert_eq!(ints(&found, "k"), [k]);
    }
    let keys = (-60..210).map(|k| vec![Value::Int32(k)]);
    let found = table.lookup().build().expect("valid").get(keys).await.expect("rows");
    assert_eq!(count(&found), 250);
    client
        .alter_table(table.name())
        .add_range_partition(RangePartition::new(bound(200), bound(300)).hash([HashBuckets::new(["k"], 3)]))
        .alter()
        .await
        .expect("added");
    let table = table.reopen().await.expect("there");
    fill(&table, (200..300).map(|k| (k, 1))).await;
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 350);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn refusals_of_the_master_can_be_told_apart() {
    let client = client().await;
    let table = table(&client, "refused", 1).await;
    let e = client.create_table(table.name(), &schema()).hash_partitions(["k"], 2).replicas(1).create().await;
    assert!(e.expect_err("there").is_already_present());
    let e = client.create_table(unique("even"), &schema()).hash_partitions(["k"], 2).replicas(2).create().await;
    assert!(matches!(e, Err(kudu_rs::Error::Master { code: kudu_rs::MasterCode::EvenReplicationFactor, .. })), "{e:?}");
    let e = client.create_table(unique("many"), &schema()).hash_partitions(["k"], 2).replicas(5).create().await;
    assert!(e.expect_err("one server").to_string().contains("replica"));
    let e = client.create_table(unique("x"), &schema()).hash_partitions(["v"], 2).create().await;
    assert!(e.expect_err("no key").to_string().contains("by key columns, `v` is none"));
    let e = client.delete_table("no_such_table").await.expect_err("not there");
    assert!(e.is_not_found() && !e.is_retryable(), "{e}");
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn statistics_count_the_rows() {
    let client = client().await;
    let table = table(&client, "statistics", 1).await;
    fill(&table, (0..100).map(|k| (k, 1))).await;
    for _ in 0..100 {
        if client.table_statistics(table.name()).await.expect("answer").live_rows == Some(100) {
            client.delete_table(table.name()).await.expect("deleted");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{:?}", client.table_statistics(table.name()).await);
}

#[tokio::test]
async fn auto_incremented_keys_are_given_by_the_server_and_read() {
    let client = client().await;
    let mut auto = ColumnSchema::new("auto_incrementing_id", DataType::Int64).key();
    auto.auto_incrementing = true;
    let schema = Schema::new([
        ColumnSchema::new("k", DataType::Int32).key(),
        auto,
        ColumnSchema::new("v", DataType::Int64).nullable(),
    ])
    .expect("a schema");
    let table = client
        .create_table(unique("auto"), &schema)
        .hash_partitions(["k"], 2)
        .replicas(1)
        .create()
        .await
        .expect("made");
    let session = client.new_session();
    for v in 0..3i64 {
        session.apply(table.operation(OpKind::Insert, row(&table, 1, v))).await.expect("taken");
    }
    let done = session.flush().await;
    assert!(done.errors.is_empty(), "{:?}", done.errors);
    let rows = table.scan().project(["auto_incrementing_id"]).build().expect("valid").collect().await.expect("rows");
    let seen = format!("{:?}", rows[0].column(0));
    assert!(seen.contains("1,\n  2,\n  3"), "{seen}");
    client.delete_table(table.name()).await.expect("deleted");
}
