use super::*;
use crate::connectors::api::SinkWriter;
use crate::connectors::testing::{
    Positioned, batch, block_on, context, load, read_all, subtask, with_format, write_all,
};
use crate::data::{Column, Epoch, LogicalType as T};
use crate::formats::testing::column;
use std::fs;
use std::path::Path;

fn columns() -> Vec<Column> {
    vec![column("a", T::Int)]
}

fn json_table(dir: &Path, path: &str) -> TableContext {
    with_format(context(dir, columns(), &[("path", path)]), "json", &[])
}

fn texts(rows: &[(u64, String)]) -> Vec<&str> {
    rows.iter().map(|(_, row)| row.as_str()).collect()
}

fn read(cx: &TableContext, parallelism: usize) -> (Positioned, Positioned) {
    read_all(FileFactory.source(cx).unwrap().as_ref(), parallelism).unwrap()
}

#[test]
fn a_file_a_folder_and_a_glob_are_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("in/sub")).unwrap();
    for (name, text) in [("in/b", "{\"a\":2}"), ("in/a", "{\"a\":1}\n"), ("in/sub/c", "{\"a\":3}"), ("in/_hidden", "x")]
    {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let read_texts = |path: &str| texts(&read(&json_table(dir.path(), path), 1).0).join(" ");
    assert_eq!(read_texts("in"), r#"{"a":1} {"a":2} {"a":3}"#);
    assert_eq!(read_texts("in/[ab]"), r#"{"a":1} {"a":2}"#);
    assert_eq!(read_texts("in/b"), r#"{"a":2}"#);
    let whole = format!("file://{}", dir.path().join("in/sub").display());
    assert_eq!(read_texts(&whole), r#"{"a":3}"#);

    let cx =
        with_format(context(dir.path(), columns(), &[("path", "in"), ("regex-pattern", ".*/sub/.*")]), "json", &[]);
    assert_eq!(texts(&read(&cx, 1).0), [r#"{"a":3}"#]);
}

#[test]
fn what_cannot_be_read_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (path, part) in
        [("nosuch", "No such file"), ("no*such", "there is no file to read"), ("hdfs://h/x", "not hdfs://")]
    {
        let cx = json_table(dir.path(), path);
        let error = match FileFactory.source(&cx) {
            Err(e) => e,
            Ok(source) => block_on(source.enumerate(1)).unwrap_err(),
        };
        assert!(error.message.to_lowercase().contains(&part.to_lowercase()), "{error}");
        assert!(error.message.contains(path), "{error}");
    }
}

#[test]
fn bad_records_have_their_line_number() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), b"{\"a\":1}\n\nx\n{\"a\":\"\xff\"}\r\n{\"a\":4}\n{\"a\":").unwrap();
    let mut cx = json_table(dir.path(), "f");
    cx.max_record_bytes = 7;
    let (rows, refused) = read(&cx, 1);
    assert_eq!(rows, [(1, r#"{"a":1}"#.to_string()), (5, r#"{"a":4}"#.to_string())]);
    assert_eq!(refused.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 6, 4]);
    assert!(refused[2].1.contains("more than the limit of 7"), "{refused:?}");
}

#[test]
fn a_large_file_is_shared_between_subtasks_and_every_record_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    let line = format!("{{\"a\":1,\"pad\":\"{}\"}}\n", "x".repeat(1000));
    let count = (20 << 20) / line.len();
    fs::write(dir.path().join("f"), line.repeat(count)).unwrap();
    let cx = json_table(dir.path(), "f");
    let source = FileFactory.source(&cx).unwrap();
    assert_eq!(block_on(source.enumerate(1)).unwrap().len(), 1);
    let splits = block_on(source.enumerate(2)).unwrap();
    assert!(splits.len() >= 2, "{splits:?}");
    assert_eq!(read(&cx, 2).0.len(), count);
    let csv = with_format(context(dir.path(), columns(), &[("path", "f")]), "csv", &[]);
    assert_eq!(block_on(FileFactory.source(&csv).unwrap().enumerate(2)).unwrap().len(), 1);
}

#[test]
fn csv_with_a_header_is_read_by_name_also_as_a_side_table_b53() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("dim.csv"), "id,name,age\n1,n,30\nx,n,1\n2,\"a\nb\",NA\n").unwrap();
    let wanted = vec![column("age", T::Int), column("id", T::Int)];
    let cx = context(dir.path(), wanted, &[("path", "dim.csv")]);
    let cx = with_format(cx, "csv", &[("header", "true"), ("null-literal", "NA")]);
    let (rows, refused) = load(FileFactory.lookup(&cx).unwrap().as_ref()).unwrap();
    assert_eq!(rows, [r#"{"age":30,"id":1}"#, r#"{"age":null,"id":2}"#]);
    assert_eq!(refused, [(3, "'x' is not a valid INT".to_string())]);
    assert_eq!(read(&cx, 2).0.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4]);
}

#[test]
fn lines_before_from_line_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "title\n{\"a\":1}\n").unwrap();
    let mut cx = json_table(dir.path(), "f");
    let entry = crate::sql::options::OptionEntry {
        value: crate::sql::options::OptionValue::Int(2),
        text: "2".into(),
        key: "fromLine".into(),
        span: None,
        sensitive: false,
    };
    cx.options.entries.insert("from-line", entry);
    assert_eq!(read(&cx, 1), (vec![(2, r#"{"a":1}"#.to_string())], vec![]));
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn part_files_appear_with_the_commit_and_never_replace_older_ones() {
    let dir = tempfile::tempdir().unwrap();
    let cx = json_table(dir.path(), "out/here");
    let folder = dir.path().join("out/here");
    let rows = batch(&columns(), &[r#"{"a":1}"#, r#"{"a":2}"#]);
    for (run, expected) in [&["part-0-0"][..], &["part-0-0", "part-0-1"]].iter().enumerate() {
        let sink = FileFactory.sink(&cx).unwrap();
        assert!(write_all(sink.as_ref(), std::slice::from_ref(&rows)).unwrap().is_empty());
        assert_eq!(names(&folder).iter().filter(|n| !n.starts_with('.')).count(), run);
        block_on(sink.commit()).unwrap();
        assert_eq!(names(&folder), *expected);
    }
    assert_eq!(fs::read_to_string(folder.join("part-0-1")).unwrap(), "{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn a_run_that_does_not_commit_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cx = json_table(dir.path(), "out");
    let sink = FileFactory.sink(&cx).unwrap();
    write_all(sink.as_ref(), &[batch(&columns(), &[r#"{"a":1}"#])]).unwrap();
    let left = names(&dir.path().join("out"));
    assert!(left.len() == 1 && left[0].starts_with(".part-0-0.") && left[0].ends_with(".inprogress"), "{left:?}");
    drop(sink);
    assert!(names(&dir.path().join("out")).is_empty());
}

#[test]
fn a_header_is_written_once_per_part() {
    let dir = tempfile::tempdir().unwrap();
    let cx = with_format(context(dir.path(), columns(), &[("path", "out")]), "csv", &[("header", "true")]);
    let sink = FileFactory.sink(&cx).unwrap();
    let one = batch(&columns(), &[r#"{"a":1}"#]);
    write_all(sink.as_ref(), &[one.clone(), one]).unwrap();
    block_on(sink.commit()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("out/part-0-0")).unwrap(), "a\n1\n1\n");
}

#[test]
fn a_sink_whose_path_is_a_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("out"), "").unwrap();
    let error = block_on(FileFactory.sink(&json_table(dir.path(), "out")).unwrap().prepare(None)).unwrap_err();
    assert!(error.message.contains("is a file"), "{error}");
}

/// Writes a row into a new part and takes a snapshot.
fn row_and_snapshot(writer: &mut dyn SinkWriter, row: &str, epoch: u64) -> serde_json::Value {
    block_on(async {
        writer.write(&batch(&columns(), &[row]), &mut vec![]).await.unwrap();
        writer.snapshot(Epoch(epoch), &mut vec![]).await.unwrap().unwrap()
    })
}

/// The content of all visible files, and how many hidden ones there are.
fn seen(folder: &Path) -> (String, usize) {
    let (hidden, visible): (Vec<String>, Vec<String>) = names(folder).into_iter().partition(|n| n.starts_with('.'));
    (visible.iter().map(|n| fs::read_to_string(folder.join(n)).unwrap()).collect(), hidden.len())
}

/// As a crash would: nothing is cleaned up.
fn crash(sink: Box<dyn Sink>, writer: Box<dyn SinkWriter>) {
    std::mem::forget((sink, writer));
}

#[test]
fn a_part_is_visible_once_its_checkpoint_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let (cx, folder) = (json_table(dir.path(), "out"), dir.path().join("out"));
    let sink = FileFactory.sink(&cx).unwrap();
    block_on(sink.prepare(None)).unwrap();
    let mut writer = sink.writer(&subtask()).unwrap();
    // Checkpoint 1 is given up; its part becomes visible with the second one, whose state names both.
    row_and_snapshot(writer.as_mut(), r#"{"a":1}"#, 1);
    let state = row_and_snapshot(writer.as_mut(), r#"{"a":2}"#, 2);
    assert_eq!(state["parts"].as_array().unwrap().len(), 2);
    row_and_snapshot(writer.as_mut(), r#"{"a":3}"#, 3);
    assert_eq!(seen(&folder), (String::new(), 3));
    block_on(sink.checkpoint_complete(Epoch(2))).unwrap();
    assert_eq!(seen(&folder), ("{\"a\":1}\n{\"a\":2}\n".to_string(), 1));
    drop(writer);
    drop(sink);
    assert_eq!(seen(&folder), ("{\"a\":1}\n{\"a\":2}\n".to_string(), 0));
}

#[test]
fn each_row_is_visible_once_wherever_a_crash_comes() {
    // The checkpoint is published, and its parts are made visible or not before the crash.
    for completed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (cx, folder) = (json_table(dir.path(), "out"), dir.path().join("out"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(".part-0-7.other.inprogress"), "another job's").unwrap();
        let sink = FileFactory.sink(&cx).unwrap();
        block_on(sink.prepare(None)).unwrap();
        let mut writer = sink.writer(&subtask()).unwrap();
        let state = row_and_snapshot(writer.as_mut(), r#"{"a":1}"#, 1);
        if completed {
            block_on(sink.checkpoint_complete(Epoch(1))).unwrap();
        }
        // Written after the checkpoint: read and written again.
        row_and_snapshot(writer.as_mut(), r#"{"a":2}"#, 2);
        block_on(writer.write(&batch(&columns(), &[r#"{"a":3}"#]), &mut vec![])).unwrap();
        crash(sink, writer);
        for _ in 0..2 {
            let sink = FileFactory.sink(&cx).unwrap();
            block_on(sink.prepare(Some(vec![state.clone()]))).unwrap();
            assert_eq!(seen(&folder), ("{\"a\":1}\n".to_string(), 1), "completed: {completed}");
        }
    }
}

#[test]
fn a_visible_name_that_was_taken_meanwhile_is_passed_over_also_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let (cx, folder) = (json_table(dir.path(), "out"), dir.path().join("out"));
    let sink = FileFactory.sink(&cx).unwrap();
    block_on(sink.prepare(None)).unwrap();
    let mut writer = sink.writer(&subtask()).unwrap();
    let state = row_and_snapshot(writer.as_mut(), r#"{"a":1}"#, 1);
    fs::write(folder.join("part-0-0"), "theirs\n").unwrap();
    crash(sink, writer);
    let sink = FileFactory.sink(&cx).unwrap();
    block_on(sink.prepare(Some(vec![state]))).unwrap();
    assert_eq!(seen(&folder), ("theirs\n{\"a\":1}\n".to_string(), 0));
}

#[test]
fn a_number_that_comes_again_is_not_taken_for_the_part_of_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let (cx, folder) = (json_table(dir.path(), "out"), dir.path().join("out"));
    let sink = FileFactory.sink(&cx).unwrap();
    block_on(sink.prepare(None)).unwrap();
    let mut writer = sink.writer(&subtask()).unwrap();
    let state = row_and_snapshot(writer.as_mut(), r#"{"a":1}"#, 1);
    block_on(sink.checkpoint_complete(Epoch(1))).unwrap();
    // Somebody takes the file; the next run writes a part of the same number and crashes.
    fs::remove_file(folder.join("part-0-0")).unwrap();
    for _ in 0..2 {
        let sink = FileFactory.sink(&cx).unwrap();
        block_on(sink.prepare(Some(vec![state.clone()]))).unwrap();
        assert_eq!(seen(&folder), (String::new(), 0));
        let mut writer = sink.writer(&subtask()).unwrap();
        row_and_snapshot(writer.as_mut(), r#"{"a":2}"#, 2);
        crash(sink, writer);
    }
}

#[test]
fn a_state_that_is_none_of_ours_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let sink = FileFactory.sink(&json_table(dir.path(), "out")).unwrap();
    let error = block_on(sink.prepare(Some(vec![serde_json::json!({"parts": "many"})]))).unwrap_err();
    assert!(error.message.contains("the checkpoint's state"), "{error}");
}
