//! The file connector: parts that appear only at the end, gzip, globs, CSV, and the console into a closed pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use wasmill_tests::{Sandbox, finish, sorted_lines};

fn job(path: &str, format: &str) -> String {
    format!(
        "CREATE TABLE src(a INT, b STRING) WITH ('connector'='filesystem', 'path'='{path}', 'format'='{format}');\n\
         CREATE TABLE sink(a INT, b STRING) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
         INSERT INTO sink SELECT a, b FROM src;\n"
    )
}

/// Names in a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn visible(folder: &Path) -> Vec<String> {
    names(folder).into_iter().filter(|n| !n.starts_with(['.', '_'])).collect()
}

fn records(n: usize) -> String {
    (0..n).map(|i| format!("{{\"a\":{i},\"b\":\"{}\"}}\n", "text ".repeat(i % 7))).collect()
}

#[test]
fn a_killed_run_shows_no_part_and_the_next_run_is_whole() {
    let s = Sandbox::new();
    s.write("job.sql", job("in.jsonl", "json"));
    let args = ["run", "job.sql", "--stand-in", "src=-"];
    let mut child =
        s.command(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(records(50_000).as_bytes()).expect("the job reads");
    let started = std::time::Instant::now();
    while names(&s.path("out")).is_empty() {
        assert!(started.elapsed().as_secs() < 30, "nothing is written");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().expect("kill");
    child.wait().expect("wait");
    assert_eq!(visible(&s.path("out")), Vec::<String>::new());
    s.write("in.jsonl", records(100));
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    let parts = visible(&s.path("out"));
    assert_eq!(parts.len(), 1);
    assert_eq!(s.read(&format!("out/{}", parts[0])), records(100));
}

#[test]
fn a_failed_run_leaves_nothing_behind() {
    let s = Sandbox::new();
    s.write("in.jsonl", records(20_000) + "broken\n");
    s.write("job.sql", job("in.jsonl", "json"));
    s.wasmill(&["run", "job.sql"]).expect_code(3);
    assert_eq!(names(&s.path("out")), Vec::<String>::new());
}

#[test]
fn runs_add_parts_and_never_overwrite() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n");
    s.write("job.sql", job("in.jsonl", "json"));
    for n in 1..=3 {
        s.wasmill(&["run", "job.sql"]).expect_code(0);
        assert_eq!(visible(&s.path("out")).len(), n);
    }
    s.write("in.jsonl", "");
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(names(&s.path("out")).len(), 3);
}

#[test]
fn files_of_a_folder_or_glob_give_the_same_rows_at_any_parallelism() {
    let s = Sandbox::new();
    for i in 0..5 {
        s.write(&format!("in/f{i}.jsonl"), records(1000 + i));
    }
    s.write("in/_hidden", "broken");
    s.write("in/.hidden", "broken");
    assert!(std::process::Command::new("gzip").arg(s.path("in/f3.jsonl")).status().expect("gzip").success());
    let mut expected = sorted_lines(&(0..5).map(|i| records(1000 + i)).collect::<String>());
    expected.sort_unstable();
    for path in ["in", "in/f*.jsonl*", "in/f[0-9].*"] {
        for parallelism in ["1", "2", "7"] {
            s.write("job.sql", job(path, "json"));
            let setting = format!("parallelism.default={parallelism}");
            s.wasmill(&["run", "job.sql", "--set", &setting]).expect_code(0).expect_balanced();
            let parts: String = visible(&s.path("out")).iter().map(|n| s.read(&format!("out/{n}"))).collect();
            assert!(sorted_lines(&parts) == expected, "{path} at {parallelism}");
            std::fs::remove_dir_all(s.path("out")).expect("out");
        }
    }
}

#[test]
fn a_large_file_is_split_without_losing_or_doubling_a_line() {
    let s = Sandbox::new();
    s.write("in.jsonl", records(300_000));
    s.write("job.sql", job("in.jsonl", "json"));
    for parallelism in ["2", "5"] {
        let setting = format!("parallelism.default={parallelism}");
        s.wasmill(&["run", "job.sql", "--set", &setting]).expect_code(0);
        let parts: String = visible(&s.path("out")).iter().map(|n| s.read(&format!("out/{n}"))).collect();
        assert!(sorted_lines(&parts) == sorted_lines(&records(300_000)), "parallelism {parallelism}");
        std::fs::remove_dir_all(s.path("out")).expect("out");
    }
}

#[test]
fn csv_records_with_newlines_in_quotes_survive_parallel_reading() {
    let s = Sandbox::new();
    let text: String = (0..200_000).map(|i| format!("{i},\"line {i}\nsecond, \"\"quoted\"\" line\"\n")).collect();
    let expected: String =
        (0..200_000).map(|i| format!("{{\"a\":{i},\"b\":\"line {i}\\nsecond, \\\"quoted\\\" line\"}}\n")).collect();
    s.write("in.csv", text);
    s.write("job.sql", job("in.csv", "csv"));
    for parallelism in ["1", "2"] {
        let setting = format!("parallelism.default={parallelism}");
        s.wasmill(&["run", "job.sql", "--set", &setting]).expect_code(0);
        let parts: String = visible(&s.path("out")).iter().map(|n| s.read(&format!("out/{n}"))).collect();
        assert!(sorted_lines(&parts) == sorted_lines(&expected), "parallelism {parallelism}");
        std::fs::remove_dir_all(s.path("out")).expect("out");
    }
}

#[test]
fn csv_written_is_csv_read() {
    let s = Sandbox::new();
    let rows = "{\"a\":1,\"b\":\"plain\"}\n{\"a\":2,\"b\":\"com,ma\"}\n{\"a\":3,\"b\":\"quo\\\"te\"}\n\
                {\"a\":4,\"b\":\"new\\nline\"}\n{\"a\":5,\"b\":\" blank \"}\n{\"a\":6,\"b\":\"é\"}\n{\"a\":null,\"b\":\"n\"}\n";
    s.write("in.jsonl", rows);
    let table = |name: &str, path: &str, format: &str| {
        format!(
            "CREATE TABLE {name}(a INT, b STRING) WITH ('connector'='filesystem', 'path'='{path}', 'format'={format});\n"
        )
    };
    let csv = "'csv', 'csv.null-literal'='\\N'";
    s.write("to.sql", table("i", "in.jsonl", "'json'") + &table("o", "mid", csv) + "INSERT INTO o SELECT * FROM i;");
    s.write("back.sql", table("i", "mid", csv) + &table("o", "end", "'json'") + "INSERT INTO o SELECT * FROM i;");
    s.wasmill(&["run", "to.sql"]).expect_code(0);
    s.wasmill(&["run", "back.sql"]).expect_code(0);
    assert_eq!(s.read("end/part-0-0"), rows);
}

#[test]
fn a_sink_folder_that_is_a_file_is_refused() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n");
    s.write("out", "a file");
    s.write("job.sql", job("in.jsonl", "json"));
    let run = s.wasmill(&["run", "job.sql"]);
    assert!([2, 3].contains(&run.code), "exit {}", run.code);
    run.expect_stderr("table sink: path").expect_stderr("is a file");
    assert_eq!(s.read("out"), "a file");
}

#[test]
fn the_console_into_a_pipe_that_closes_ends_the_job_without_a_panic() {
    let s = Sandbox::new();
    s.write("in.jsonl", records(200_000));
    s.write("job.sql", job("in.jsonl", "json").replace("'filesystem', 'path'='out', 'format'='json'", "'print'"));
    let args = ["run", "job.sql"];
    let mut child =
        s.command(&args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    out.read_line(&mut first).expect("a line");
    assert_eq!(first, "{\"a\":0,\"b\":\"\"}\n");
    drop(out);
    // `finish` wants a standard output to read.
    let (reader, _) = std::io::pipe().map(|(r, w)| (r, drop(w))).expect("pipe");
    child.stdout = Some(std::os::fd::OwnedFd::from(reader).into());
    let run = finish(child, &args);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    // Rows were lost, so it is no success; and one message says why.
    run.expect_code(3).expect_stderr("standard output was closed by the program that read it");
}
