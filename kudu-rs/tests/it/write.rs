use crate::support::*;
use arrow::array::RecordBatch;
use kudu_rs::{ColumnSchema, DataType, Error, FlushMode, OpKind, RowLayout, Schema, StatusCode, Value};
use std::time::Duration;

fn all_types() -> Schema {
    let decimal = |precision, scale| DataType::Decimal { precision, scale };
    let c = |name: &str, t| ColumnSchema::new(name, t).nullable();
    Schema::new([
        ColumnSchema::new("k", DataType::Int32).key(),
        c("bool", DataType::Bool),
        c("i8", DataType::Int8),
        c("i16", DataType::Int16),
        c("i32", DataType::Int32),
        c("i64", DataType::Int64),
        c("f", DataType::Float),
        c("d", DataType::Double),
        c("d9", decimal(9, 2)),
        c("d18", decimal(18, 18)),
        c("d38", decimal(38, 0)),
        c("s", DataType::String),
        c("vc", DataType::Varchar { length: 3 }),
        c("bin", DataType::Binary),
        c("date", DataType::Date),
        c("t", DataType::UnixtimeMicros),
        ColumnSchema::new("needed", DataType::Bool),
    ])
    .expect("a schema")
}

fn least() -> Vec<Value> {
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    vec![
        false.into(),
        i8::MIN.into(),
        i16::MIN.into(),
        i32::MIN.into(),
        i64::MIN.into(),
        f32::MIN.into(),
        f64::MIN.into(),
        decimal(-999_999_999, 2),
        decimal(-999_999_999_999_999_999, 18),
        decimal(1 - 10i128.pow(38), 0),
        "".into(),
        "".into(),
        Value::Binary(Default::default()),
        Value::Date(-719_162),
        Value::UnixtimeMicros(i64::MIN),
        true.into(),
    ]
}

fn greatest() -> Vec<Value> {
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    vec![
        true.into(),
        i8::MAX.into(),
        i16::MAX.into(),
        i32::MAX.into(),
        i64::MAX.into(),
        f32::MAX.into(),
        f64::MAX.into(),
        decimal(999_999_999, 2),
        decimal(999_999_999_999_999_999, 18),
        decimal(10i128.pow(38) - 1, 0),
        "a\0\u{1F600}".into(),
        "\u{e9}\u{20ac}\u{1F600}".into(),
        vec![0u8, 255].into(),
        Value::Date(2_932_896),
        Value::UnixtimeMicros(i64::MAX),
        false.into(),
    ]
}

#[tokio::test]
async fn every_type_comes_back_as_it_was_written_in_both_layouts() {
    let client = client().await;
    let table = client
        .create_table(unique("types"), &all_types())
        .hash_partitions(["k"], 2)
        .replicas(1)
        .create()
        .await
        .expect("made");
    let session = client.new_session();
    let mut nulls = vec![Value::Null; 15];
    nulls.push(true.into());
    for (k, values) in [(1, least()), (2, greatest()), (3, nulls)] {
        let mut row = table.row().with("k", k).expect("fits");
        for (i, v) in values.into_iter().enumerate() {
            row.set(i + 1, v).expect("fits");
        }
        session.apply(table.insert(row)).await.expect("taken");
    }
    let done = session.flush().await;
    assert!(done.errors.is_empty(), "{:?}", done.errors);
    assert_eq!(done.written, 3);

    let mut texts = vec![];
    for layout in [RowLayout::Columnar, RowLayout::Rows] {
        let scan = table.scan().layout(layout).fault_tolerant().build().expect("valid");
        let schema = scan.schema();
        let batches: Vec<RecordBatch> = scan.collect().await.expect("rows");
        let one = arrow::compute::concat_batches(&schema, &batches).expect("one schema");
        let order = arrow::compute::sort_to_indices(one.column(0), None, None).expect("sortable");
        let sorted = arrow::compute::take_record_batch(&one, &order).expect("indices");
        texts.push(sorted);
    }
    assert_eq!(texts[0], texts[1]);
    let column = |name: &str| format!("{:?}", texts[0].column_by_name(name).expect("there"));
    let has = |name: &str, values: &str| {
        let c = column(name).replace("\n  ", " ").replace('\n', " ");
        assert!(c.contains(values), "{values} in {c}");
    };
    has("bool", "false, true, null,");
    has("i8", "-128, 127, null,");
    has("i64", "-9223372036854775808, 9223372036854775807, null,");
    has("d9", "-999999999, 999999999, null,");
    has("d18", "-999999999999999999, 999999999999999999, null,");
    has("d38", "-99999999999999999999999999999999999999, 99999999999999999999999999999999999999, null,");
    has("s", "\"\", \"a\\0\u{1F600}\", null,");
    has("vc", "\"\", \"\u{e9}\u{20ac}\u{1F600}\", null,");
    has("bin", "[], [0, 255], null,");
    has("date", "0001-01-01, 9999-12-31, null,");
    has("needed", "true, false, true,");
    let seen = tool("table", "scan", &[table.name(), "-columns=k,i16,d9,date,vc"]);
    assert!(
        seen.contains("int32 k=1, int16 i16=-32768, decimal d9=-999999999_D32, date date=1-01-01, varchar vc=\"\""),
        "{seen}"
    );
    assert!(seen.contains("int32 k=3, int16 i16=NULL"), "{seen}");
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn each_refused_row_is_told_by_its_number_and_the_others_are_written() {
    let client = client().await;
    let table = table(&client, "row_errors", 1).await;
    fill(&table, [(1, 1)]).await;
    let session = client.session().flush_mode(FlushMode::Manual).build();
    let apply = |kind, k, v: i64| session.apply(table.operation(kind, row(&table, k, v)));
    let duplicate = apply(OpKind::Insert, 1, 2).await.expect("taken");
    let fine = apply(OpKind::Insert, 2, 2).await.expect("taken");
    let absent = apply(OpKind::Update, 3, 3).await.expect("taken");
    let not_there = apply(OpKind::Delete, 4, 4).await.expect("taken");
    let nothing = session.apply(table.update(table.row().with("k", 1).expect("fits"))).await.expect("taken");
    let no_key = session.apply(table.insert(table.row().with("v", 1i64).expect("fits"))).await.expect("taken");
    let done = session.flush().await;
    let error = |id| done.errors.iter().find(|e| e.id == id).map(|e| e.error.clone());
    assert!(error(duplicate).expect("refused").is_already_present());
    assert!(error(fine).is_none());
    assert!(error(absent).expect("refused").is_not_found());
    assert!(error(not_there).expect("refused").is_not_found());
    assert_eq!(error(nothing).expect("refused").status(), Some(StatusCode::InvalidArgument));
    assert!(error(no_key).expect("refused").to_string().contains("without a value for the column `k`"));
    assert_eq!((done.written, done.errors.len(), done.more_errors), (1, 5, 0));
    assert_eq!(done.errors.iter().filter(|e| e.error.is_outcome_unknown()).count(), 0);
    assert_eq!(
        pairs(&table.scan().build().expect("valid").collect().await.expect("rows")),
        [(1, Some(1)), (2, Some(2))]
    );
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn operations_that_ignore_do_not_fail() {
    let client = client().await;
    let table = table(&client, "ignore", 1).await;
    fill(&table, [(1, 1)]).await;
    let session = client.new_session();
    for (kind, k) in
        [(OpKind::InsertIgnore, 1), (OpKind::UpdateIgnore, 2), (OpKind::DeleteIgnore, 3), (OpKind::UpsertIgnore, 4)]
    {
        session.apply(table.operation(kind, row(&table, k, 9i64))).await.expect("taken");
    }
    let done = session.flush().await;
    assert!(done.errors.is_empty(), "{:?}", done.errors);
    assert_eq!(
        pairs(&table.scan().build().expect("valid").collect().await.expect("rows")),
        [(1, Some(1)), (4, Some(9))]
    );
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn an_upsert_keeps_what_it_does_not_set_and_null_is_a_value() {
    let client = client().await;
    let table = table(&client, "upsert", 1).await;
    let session = client.session().flush_mode(FlushMode::Sync).build();
    session.apply(table.insert(row(&table, 1, 5i64).with("s", "text").expect("fits"))).await.expect("written");
    session.apply(table.upsert(row(&table, 1, 6i64))).await.expect("written");
    session
        .apply(table.upsert(table.row().with("k", 1).and_then(|r| r.with("s", Value::Null)).expect("fits")))
        .await
        .expect("written");
    let e = session.apply(table.insert(row(&table, 1, 7i64))).await.expect_err("there");
    assert!(e.is_already_present());
    let seen = tool("table", "scan", &[table.name()]);
    assert!(seen.contains("int32 k=1, int64 v=6, string s=NULL"), "{seen}");
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_manual_session_refuses_what_it_has_no_room_for_and_loses_nothing() {
    let client = client().await;
    let table = table(&client, "manual", 1).await;
    let session = client.session().flush_mode(FlushMode::Manual).buffer_rows(10).batch_rows(3).build();
    let mut flushes = 0;
    for k in 0..25 {
        let operation = table.insert(row(&table, k, 1i64));
        match session.apply(operation.clone()).await {
            Ok(_) => {}
            Err(Error::BufferFull { rows: 10, .. }) => {
                flushes += 1;
                assert_eq!(session.flush().await.written, 10);
                session.apply(operation).await.expect("room now");
            }
            Err(e) => panic!("{e}"),
        }
    }
    assert_eq!(session.flush().await.written, 5);
    assert_eq!(flushes, 2);
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 25);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_background_session_sends_rows_by_itself_and_keeps_to_its_buffer() {
    let client = client().await;
    let table = table(&client, "background", 1).await;
    let session = client.session().flush_interval(Duration::from_millis(50)).buffer_rows(20).batch_rows(7).build();
    for k in 0..500 {
        session.apply(table.insert(row(&table, k, 1i64))).await.expect("taken");
        assert!(session.pending_rows() <= 20);
    }
    for _ in 0..200 {
        if session.pending_rows() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let report = session.take_report();
    assert_eq!((report.written, report.errors.len()), (500, 0), "without a flush");
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 500);
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn operations_on_one_key_happen_in_their_order() {
    let client = client().await;
    let table = table(&client, "order", 1).await;
    let session = client.session().batch_rows(3).flush_interval(Duration::from_millis(1)).build();
    for round in 0..201i64 {
        for k in 0..4 {
            session.apply(table.upsert(row(&table, k, round))).await.expect("taken");
            if round % 3 == 1 {
                session.apply(table.delete(row(&table, k, 0i64))).await.expect("taken");
            }
        }
    }
    let done = session.flush().await;
    assert!(done.errors.is_empty(), "{:?}", done.errors.first());
    let left = pairs(&table.scan().build().expect("valid").collect().await.expect("rows"));
    assert_eq!(left, [(0, None::<i64>), (1, None), (2, None), (3, None)].map(|(k, _)| (k, Some(200))));
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn a_table_that_lost_a_column_is_opened_again() {
    let client = client().await;
    let table = table(&client, "lost_column", 1).await;
    client.alter_table(table.name()).drop_column("s").alter().await.expect("changed");
    let session = client.new_session();
    let old = row(&table, 1, 1i64).with("s", "x").expect("fits");
    session.apply(table.insert(old)).await.expect("taken");
    let done = session.flush().await;
    assert!(
        matches!(&done.errors[0].error, Error::Tablet { code: kudu_rs::TabletCode::MismatchedSchema, .. }),
        "{:?}",
        done.errors
    );
    let table = table.reopen().await.expect("there");
    fill(&table, [(1, 1)]).await;
    client.delete_table(table.name()).await.expect("deleted");
}

#[tokio::test]
async fn too_large_values_are_refused_before_they_are_sent() {
    let client = client().await;
    let table = table(&client, "large", 1).await;
    let e = table.row().with("s", "x".repeat(65537)).expect_err("too large");
    assert!(e.to_string().contains("column `s`"), "{e}");
    let session = client.session().flush_mode(FlushMode::Sync).build();
    let row = row(&table, 1, 1i64).with("s", "x".repeat(65536)).expect("just fits");
    session.apply(table.insert(row)).await.expect("written");
    client.delete_table(table.name()).await.expect("deleted");
}
