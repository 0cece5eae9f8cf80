//! Against the servers of the tests: what no job can make them do yet (change streams, positions).

use super::*;
use crate::connectors::api::{FailedRow, SourceOutput};
use crate::connectors::testing::{batch, block_on, context, subtask};
use crate::data::{Batch, ChangelogMode, Column, LogicalType as T, RowKind};
use crate::formats::testing::{column, rows_as_json};
use crate::sql::options::Dialect;
use std::time::Duration;

fn service(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `./dev tests`"))
}

fn urls() -> [String; 2] {
    [
        format!("jdbc:mysql://{}/test", service("WASMILL_MYSQL")),
        format!("jdbc:postgresql://{}/test", service("WASMILL_POSTGRES")),
    ]
}

/// A table of a fresh name, made by the statement `CREATE TABLE name (columns)`.
async fn table(url: &str, name: &str, columns: &str) -> (TableContext, String) {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let name = format!("lib_{name}_{}_{time}", std::process::id());
    let job = vec![column("k", T::Int), column("a", T::STRING), column("b", T::STRING)];
    let cx = declared(url, &name, job);
    let server = std::sync::Arc::new(connection::Server::new(&cx).unwrap());
    let mut connection = server.connect().await.unwrap();
    let sql = format!("CREATE TABLE {name} ({columns})");
    connection.execute(&sql, connection::Arguments::none(server.product()), false).await.unwrap();
    connection.close().await;
    (cx, name)
}

fn declared(url: &str, name: &str, columns: Vec<Column>) -> TableContext {
    let options = [("url", url), ("table", name), ("username", "wasmill"), ("password", "wasmill-secret")];
    let mut cx = context(std::path::Path::new("."), columns, &options);
    cx.primary_key = vec!["k".into()];
    cx
}

fn changes(cx: &TableContext, rows: &[(RowKind, i32, Option<&str>, &str)]) -> Batch {
    let lines: Vec<String> =
        rows.iter().map(|(_, k, a, b)| serde_json::json!({ "k": k, "a": a, "b": b }).to_string()).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut batch = batch(&cx.schema.columns, &lines);
    batch.kinds = Some(rows.iter().map(|r| r.0).collect());
    batch
}

/// Writes each batch with a flush of its own; gives the messages of rows that failed.
async fn write(cx: &TableContext, batches: &[Batch]) -> Vec<String> {
    let sink = JdbcFactory.sink(cx).unwrap();
    sink.prepare(None).await.unwrap();
    let mut writer = sink.writer(&subtask()).unwrap();
    let (mut errors, mut failed) = (vec![], Vec::<FailedRow>::new());
    for batch in batches {
        writer.write(batch, &mut errors).await.unwrap();
        writer.flush(&mut failed).await.unwrap();
    }
    writer.close().await.unwrap();
    errors.into_iter().map(|e| e.message).chain(failed.into_iter().map(|f| f.error.message)).collect()
}

async fn rows(cx: &TableContext) -> Vec<String> {
    let loaded = JdbcFactory.lookup(cx).unwrap().load_all().await.unwrap();
    let mut rows: Vec<String> = loaded.batches.iter().flat_map(rows_as_json).collect();
    rows.sort_unstable();
    rows
}

use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

#[test]
fn a_change_stream_ends_as_what_its_last_changes_say() {
    block_on(async {
        for url in urls() {
            let (cx, _) = table(&url, "changes", "k int primary key, a varchar(20), b varchar(20)").await;
            assert_eq!(JdbcFactory.sink(&cx).unwrap().changelog_mode(), ChangelogMode::Upsert);
            let first = changes(
                &cx,
                &[
                    (Insert, 1, Some("x"), "1"),
                    (Insert, 2, Some("x"), "2"),
                    (Insert, 3, Some("x"), "3"),
                    (Insert, 4, Some("x"), "4"),
                    (Delete, 4, Some("x"), "4"),
                ],
            );
            let second = changes(
                &cx,
                &[
                    (Delete, 1, Some("x"), "1"),
                    (UpdateBefore, 2, Some("x"), "2"),
                    (UpdateAfter, 2, None, "two"),
                    // The key itself changes.
                    (UpdateBefore, 3, Some("x"), "3"),
                    (UpdateAfter, 5, Some("x"), "five"),
                    // Not there: no error.
                    (Delete, 9, None, ""),
                ],
            );
            assert_eq!(write(&cx, &[first, second]).await, Vec::<String>::new());
            assert_eq!(rows(&cx).await, [r#"{"k":2,"a":null,"b":"two"}"#, r#"{"k":5,"a":"x","b":"five"}"#], "{url}");
        }
    });
}

#[test]
fn where_null_keeps_an_update_keeps_and_a_delete_does_not() {
    block_on(async {
        for url in urls() {
            let (mut cx, _) = table(&url, "keep", "k int primary key, a varchar(20), b varchar(20)").await;
            cx.dialect = Dialect::DtStack;
            let first = changes(&cx, &[(Insert, 1, Some("x"), "1"), (Insert, 2, Some("x"), "2")]);
            let second = changes(
                &cx,
                &[
                    (UpdateBefore, 1, Some("x"), "1"),
                    (UpdateAfter, 1, None, "one"),
                    (Delete, 2, Some("x"), "2"),
                    (Insert, 2, None, "two"),
                ],
            );
            assert_eq!(write(&cx, &[first, second]).await, Vec::<String>::new());
            assert_eq!(rows(&cx).await, [r#"{"k":1,"a":"x","b":"one"}"#, r#"{"k":2,"a":null,"b":"two"}"#], "{url}");
        }
    });
}

#[test]
fn without_a_key_flink_refuses_changes_and_flinkstreamsql_leaves_them_out() {
    block_on(async {
        for url in urls() {
            let (mut cx, _) = table(&url, "append", "k int, a varchar(20), b varchar(20)").await;
            cx.primary_key.clear();
            let both = changes(&cx, &[(Insert, 1, None, "1"), (Delete, 1, None, "1")]);
            assert_eq!(JdbcFactory.sink(&cx).unwrap().changelog_mode(), ChangelogMode::Append);
            assert!(write(&cx, std::slice::from_ref(&both)).await[0].contains("PRIMARY KEY"));
            cx.dialect = Dialect::DtStack;
            assert_eq!(JdbcFactory.sink(&cx).unwrap().changelog_mode(), ChangelogMode::All);
            assert_eq!(write(&cx, &[both]).await, Vec::<String>::new());
            assert_eq!(rows(&cx).await.len(), 2, "{url}");
        }
    });
}

#[test]
fn a_null_in_the_key_is_refused_and_the_rows_beside_it_are_written() {
    block_on(async {
        for url in urls() {
            let (cx, _) = table(&url, "nullkey", "k int primary key, a varchar(20), b varchar(20)").await;
            let lines = [r#"{"k":1,"a":"x","b":"y"}"#, r#"{"k":null,"a":"x","b":"y"}"#, r#"{"k":2,"a":"x","b":"y"}"#];
            let refused = write(&cx, &[batch(&cx.schema.columns, &lines)]).await;
            assert_eq!(refused, ["is NULL, but part of the PRIMARY KEY"]);
            assert_eq!(rows(&cx).await.len(), 2);
        }
    });
}

#[test]
fn a_scan_goes_on_at_its_snapshot_where_the_table_has_a_key_and_else_starts_anew() {
    block_on(async {
        for url in urls() {
            for (key, next) in [(" primary key", 5), ("", 1)] {
                let columns = format!("k int{key}, a varchar(20), b varchar(20)");
                let (mut cx, _) = table(&url, "resume", &columns).await;
                if key.is_empty() {
                    cx.primary_key.clear();
                }
                let all: Vec<_> = (1..=10).map(|k| (Insert, k, Some("x"), "y")).collect();
                write(&cx, &[changes(&cx, &all)]).await;
                let source = JdbcFactory.source(&cx).unwrap();
                let mut first = source.reader(&subtask()).unwrap();
                source.enumerate(1).await.unwrap().into_iter().for_each(|s| first.add_split(s));
                let SourceOutput::Rows(seen, _) = first.poll(4, Duration::from_secs(10)).await.unwrap() else {
                    panic!("no rows")
                };
                assert_eq!(seen.num_rows(), 4);
                let mut second = source.reader(&subtask()).unwrap();
                first.snapshot().into_iter().for_each(|s| second.add_split(s));
                let SourceOutput::Rows(rest, chunk) = second.poll(100, Duration::from_secs(10)).await.unwrap() else {
                    panic!("no rows")
                };
                assert_eq!((chunk.records[0].position, rest.num_rows() as u64), (next, 11 - next), "{url}");
                assert!(matches!(second.poll(100, Duration::from_secs(10)).await.unwrap(), SourceOutput::Exhausted));
            }
        }
    });
}

#[test]
fn a_look_up_gives_all_rows_of_all_its_keys() {
    block_on(async {
        for url in urls() {
            let (cx, _) = table(&url, "lookup", "k int, a varchar(20), b varchar(20)").await;
            let mut writes = cx.clone();
            writes.primary_key.clear();
            let all = [(Insert, 1, Some("x"), "1"), (Insert, 1, Some("x"), "2"), (Insert, 2, Some("y"), "3")];
            write(&writes, &[changes(&writes, &all)]).await;
            let lookup = JdbcFactory.lookup(&cx).unwrap();
            lookup.probe().await.unwrap();
            let keys =
                batch(&cx.schema.columns[..2], &[r#"{"k":1,"a":"x"}"#, r#"{"k":2,"a":"y"}"#, r#"{"k":2,"a":"x"}"#]);
            let found = lookup.lookup(&["k".into(), "a".into()], &keys.columns).await.unwrap();
            let mut rows: Vec<String> = found.batches.iter().flat_map(rows_as_json).collect();
            rows.sort_unstable();
            assert_eq!(
                rows,
                [r#"{"k":1,"a":"x","b":"1"}"#, r#"{"k":1,"a":"x","b":"2"}"#, r#"{"k":2,"a":"y","b":"3"}"#],
                "{url}"
            );
            let none = lookup.lookup(&["k".into()], &batch(&cx.schema.columns[..1], &[r#"{"k":7}"#]).columns).await;
            assert!(none.unwrap().batches.is_empty());
        }
    });
}
