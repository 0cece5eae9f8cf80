use super::*;
use crate::connectors::api::SourceOutput;
use crate::connectors::testing::{batch, block_on, context, load, read_all, subtask, write_all};
use crate::data::{Batch, ChangelogMode, Column, LogicalType as T, Reason, RowKind};
use crate::formats::testing::column;
use std::path::Path;

const OPTIONS: &[(&str, &str)] = &[("path", "f.db"), ("table", "we\"ird")];

fn table(dir: &Path, columns: &[Column], key: &[&str]) -> TableContext {
    let mut cx = context(dir, columns.to_vec(), OPTIONS);
    cx.primary_key = key.iter().map(|k| k.to_string()).collect();
    cx
}

fn rows(cx: &TableContext) -> Vec<String> {
    let (rows, refused) = read_all(SqliteFactory.source(cx).unwrap().as_ref(), 1).unwrap();
    assert!(refused.is_empty(), "{refused:?}");
    rows.into_iter().map(|(_, row)| row).collect()
}

fn every_type() -> Vec<Column> {
    vec![
        column("b", T::Boolean),
        column("i", T::TinyInt),
        column("l", T::BigInt),
        column("f", T::Float),
        column("d", T::Double),
        column("n", T::Decimal(38, 10)),
        column("s", T::STRING),
        column("y", T::BYTES),
        column("da", T::Date),
        column("t", T::Time(3)),
        column("ts", T::Timestamp(6)),
        column("lt", T::TimestampLtz(3)),
    ]
}

#[test]
fn every_type_comes_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let columns = every_type();
    let lines = [
        r#"{"b":true,"i":-128,"l":9007199254740993,"f":0.1,"d":0.1,"n":1234567890123456789012345678.0123456789,"s":"","y":"","da":"2020-02-29","t":"23:59:59.5","ts":"2020-01-01 00:00:00.123456","lt":"1969-12-31 23:59:59.5Z"}"#,
        r#"{"b":false,"i":0,"l":-9223372036854775808,"f":3.0,"d":1e+300,"n":0.0000000000,"s":"a'\"ä","y":"AP8=","da":null,"t":null,"ts":null,"lt":null}"#,
        r#"{"b":null,"i":null,"l":null,"f":null,"d":null,"n":null,"s":null,"y":null,"da":null,"t":null,"ts":null,"lt":null}"#,
    ];
    let cx = table(dir.path(), &columns, &[]);
    let sink = SqliteFactory.sink(&cx).unwrap();
    assert!(write_all(sink.as_ref(), &[batch(&columns, &lines)]).unwrap().is_empty());
    assert_eq!(rows(&cx), lines);
    assert_eq!(load(SqliteFactory.lookup(&cx).unwrap().as_ref()).unwrap().0, lines);
}

#[test]
fn rows_with_a_primary_key_replace_and_delete_one_another() {
    let dir = tempfile::tempdir().unwrap();
    let columns = vec![column("k", T::Int), column("v", T::STRING)];
    let cx = table(dir.path(), &columns, &["k"]);
    let sink = SqliteFactory.sink(&cx).unwrap();
    assert_eq!(sink.changelog_mode(), ChangelogMode::Upsert);
    let mut changes = batch(
        &columns,
        &[
            r#"{"k":1,"v":"a"}"#,
            r#"{"k":2,"v":"b"}"#,
            r#"{"k":1,"v":"a"}"#,
            r#"{"k":1,"v":"c"}"#,
            r#"{"k":2,"v":"b"}"#,
            r#"{"k":3,"v":"d"}"#,
        ],
    );
    use RowKind::*;
    changes.kinds = Some([Insert, Insert, UpdateBefore, UpdateAfter, Delete, Insert].into());
    let second = batch(&columns, &[r#"{"k":3,"v":"e"}"#, r#"{"k":null,"v":"x"}"#, r#"{"k":4,"v":null}"#]);
    let errors = write_all(sink.as_ref(), &[changes, second]).unwrap();
    assert_eq!(rows(&cx), [r#"{"k":1,"v":"c"}"#, r#"{"k":3,"v":"e"}"#, r#"{"k":4,"v":null}"#]);
    assert_eq!((errors.len(), errors[0].row, errors[0].reason), (1, 1, Reason::NotNull));
    assert_eq!(errors[0].message, "is NULL, but part of the PRIMARY KEY");
}

#[test]
fn one_bad_row_of_a_batch_is_named_and_the_rest_is_stored_b93() {
    let dir = tempfile::tempdir().unwrap();
    let mut columns = vec![column("id", T::Int), column("x", T::Double)];
    let cx = table(dir.path(), &columns, &[]);
    block_on(SqliteFactory.sink(&cx).unwrap().prepare(None)).unwrap();
    block_on(async {
        let mut db = super::connection::Location::new(&cx).unwrap().open_to_write().await.unwrap();
        sqlx::query("CREATE UNIQUE INDEX i ON \"we\"\"ird\" (id)").execute(&mut db).await.unwrap();
    });
    columns[0].nullable = true;
    let mut lines: Vec<String> = (0..500).map(|i| format!("{{\"id\":{i},\"x\":{i}.5}}")).collect();
    lines[250] = r#"{"id":7,"x":1.0}"#.into();
    lines[300] = r#"{"id":300,"x":"NaN"}"#.into();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let errors = write_all(SqliteFactory.sink(&cx).unwrap().as_ref(), &[batch(&columns, &lines)]).unwrap();
    assert_eq!(
        errors.iter().map(|e| (e.row, e.reason)).collect::<Vec<_>>(),
        [(250, Reason::Sink), (300, Reason::Encode)]
    );
    assert!(errors[0].message.contains("UNIQUE"), "{errors:?}");
    assert_eq!(rows(&cx).len(), 498);
}

#[test]
fn nothing_is_visible_before_the_flush() {
    let dir = tempfile::tempdir().unwrap();
    let columns = vec![column("id", T::Int)];
    let cx = table(dir.path(), &columns, &[]);
    let sink = SqliteFactory.sink(&cx).unwrap();
    let one = batch(&columns, &[r#"{"id":1}"#]);
    block_on(async {
        sink.prepare(None).await.unwrap();
        let mut writer = sink.writer(&subtask()).unwrap();
        writer.write(&one, &mut vec![]).await.unwrap();
        assert_eq!(load_rows(&cx).await, 0);
        writer.flush(&mut vec![]).await.unwrap();
        assert_eq!(load_rows(&cx).await, 1);
        writer.write(&one, &mut vec![]).await.unwrap();
        drop(writer);
    });
    assert_eq!(rows(&cx).len(), 1);
}

async fn load_rows(cx: &TableContext) -> usize {
    let snapshot = SqliteFactory.lookup(cx).unwrap().load_all().await.unwrap();
    snapshot.batches.iter().map(|b| b.num_rows()).sum()
}

#[test]
fn a_value_of_another_class_is_refused_with_its_row() {
    let dir = tempfile::tempdir().unwrap();
    let text = vec![column("a", T::STRING)];
    let cx = table(dir.path(), &text, &[]);
    let values = batch(&text, &[r#"{"a":"12"}"#, r#"{"a":"x"}"#, r#"{"a":null}"#, r#"{"a":"13"}"#]);
    write_all(SqliteFactory.sink(&cx).unwrap().as_ref(), &[values]).unwrap();
    let mut number = column("a", T::Int);
    number.nullable = false;
    let cx = table(dir.path(), &[number], &[]);
    let (rows, refused) = read_all(SqliteFactory.source(&cx).unwrap().as_ref(), 1).unwrap();
    assert_eq!(rows, [(1, r#"{"a":12}"#.to_string()), (4, r#"{"a":13}"#.to_string())]);
    assert_eq!(refused[0], (2, "'x' is not a valid INT".to_string()));
    assert_eq!(refused[1], (3, "is NULL, but the column is NOT NULL".to_string()));
}

#[test]
fn reading_goes_on_at_a_snapshot_and_physical_names_count() {
    let dir = tempfile::tempdir().unwrap();
    let columns = vec![column("id", T::Int)];
    let cx = table(dir.path(), &columns, &[]);
    let lines: Vec<String> = (1..=10).map(|i| format!("{{\"id\":{i}}}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    write_all(SqliteFactory.sink(&cx).unwrap().as_ref(), &[batch(&columns, &lines)]).unwrap();
    let mut renamed = column("other", T::Int);
    renamed.path = columns[0].path.clone();
    let cx = table(dir.path(), &[renamed], &[]);
    let source = SqliteFactory.source(&cx).unwrap();
    let mut first = source.reader(&subtask()).unwrap();
    block_on(source.enumerate(1)).unwrap().into_iter().for_each(|s| first.add_split(s));
    let mut seen = 0;
    while seen == 0 {
        let Ok(SourceOutput::Rows(batch, _)) = block_on(first.poll(4, std::time::Duration::from_secs(1))) else {
            panic!("no rows")
        };
        seen = batch.num_rows();
    }
    assert_eq!(seen, 4);
    let mut second = source.reader(&subtask()).unwrap();
    first.snapshot().into_iter().for_each(|s| second.add_split(s));
    let mut rest = vec![];
    while let SourceOutput::Rows(batch, chunk) = block_on(second.poll(4, std::time::Duration::from_secs(1))).unwrap() {
        rest.extend(chunk.records.iter().map(|r| r.position).zip(crate::formats::testing::rows_as_json(&batch)));
    }
    assert_eq!(rest.first(), Some(&(5, r#"{"other":5}"#.to_string())));
    assert_eq!(rest.len(), 6);
}

#[test]
fn what_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let columns = vec![column("id", T::Int)];
    let cx = table(dir.path(), &columns, &[]);
    let error = read_all(SqliteFactory.source(&cx).unwrap().as_ref(), 1).err().unwrap();
    assert!(error.message.contains("f.db") && error.domain.exit_code() == 3, "{error}");
    write_all(SqliteFactory.sink(&cx).unwrap().as_ref(), &[batch(&columns, &[r#"{"id":1}"#])]).unwrap();

    let wider = table(dir.path(), &[column("id", T::Int), column("nosuch", T::STRING)], &[]);
    let error = read_all(SqliteFactory.source(&wider).unwrap().as_ref(), 1).err().unwrap();
    assert!(error.message.contains("nosuch"), "{error}");
    let error = write_all(SqliteFactory.sink(&wider).unwrap().as_ref(), &[]).err().unwrap();
    assert!(error.message.contains("has no column nosuch"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("its columns are: id"));

    let keyed = table(dir.path(), &columns, &["id"]);
    let error = write_all(SqliteFactory.sink(&keyed).unwrap().as_ref(), &[]).err().unwrap();
    assert!(error.message.contains("ON CONFLICT"), "{error}");

    std::fs::write(dir.path().join("f.db"), "this is no database, but it is long enough to be looked at".repeat(20))
        .unwrap();
    let error = read_all(SqliteFactory.source(&cx).unwrap().as_ref(), 1).err().unwrap();
    assert!(error.message.contains("not a database"), "{error}");
}

#[test]
fn nested_types_and_retractions_without_a_key_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let cx = table(dir.path(), &[column("a", T::Array(Box::new(T::Int)))], &[]);
    assert!(SqliteFactory.sink(&cx).err().unwrap().message.contains("cannot hold a ARRAY"));
    let columns = vec![column("id", T::Int)];
    let mut delete: Batch = batch(&columns, &[r#"{"id":1}"#]);
    delete.kinds = Some([RowKind::Delete].into());
    let cx = table(dir.path(), &columns, &[]);
    let errors = write_all(SqliteFactory.sink(&cx).unwrap().as_ref(), &[delete]).unwrap();
    assert!(errors[0].message.contains("PRIMARY KEY"), "{errors:?}");
}
