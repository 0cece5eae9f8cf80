//! Bad input of every sort: a clear error (exit 2 or 3) or a dead letter; never a panic, a crash or a hang.

use std::fmt::Write as _;
use wasmill_tests::{Run, Sandbox};

const FILE_JOB: &str = "CREATE TABLE src(a INT, b STRING) WITH ('connector'='filesystem', 'path'='in', 'format'='json');\n\
                        CREATE TABLE sink(a INT, b STRING) WITH ('connector'='print');\n\
                        INSERT INTO sink SELECT a, b FROM src;\n";

/// Not a crash: 0, or the exit codes of refused jobs and failed runs.
#[track_caller]
fn expect_sane(run: &Run) {
    assert!([0, 2, 3].contains(&run.code), "exit {}:\n{}\n{}", run.code, run.stdout, run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    if run.code != 0 {
        assert!(run.stderr.contains("error"), "no message:\n{}", run.stderr);
    }
}

fn run_with(format: &str, input: impl AsRef<[u8]>, args: &[&str]) -> Run {
    let s = Sandbox::new();
    s.write("in", input);
    s.write("job.sql", FILE_JOB.replace("'format'='json'", format));
    let run = s.wasmill(&[&["run", "job.sql"], args].concat());
    expect_sane(&run);
    run
}

#[test]
fn a_missing_file_folder_or_match_is_named_with_the_table() {
    let s = Sandbox::new();
    for path in ["in", "no/such/folder/in", "in*.jsonl", "no/*/in"] {
        s.write("job.sql", FILE_JOB.replace("'path'='in'", &format!("'path'='{path}'")));
        let run = s.wasmill(&["run", "job.sql"]).expect_code(3);
        run.expect_stderr("table src").expect_stderr(path);
    }
}

#[test]
fn an_empty_folder_is_an_error_and_an_empty_file_is_no_record() {
    let s = Sandbox::new();
    s.write("job.sql", FILE_JOB);
    std::fs::create_dir(s.path("in")).expect("folder");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("there is no file to read");
    let run = run_with("'format'='json'", "", &[]).expect_code(0);
    assert_eq!((run.stdout.as_str(), run.operator("Source: src").count("read")), ("", 0));
    for empty in ["\n", "\r\n\n"] {
        let run = run_with("'format'='csv'", empty, &["--dead-letters", "/dev/null"]).expect_code(0);
        run.expect_balanced();
    }
}

#[test]
fn an_unreadable_gzip_fails_the_job_and_names_the_file() {
    let s = Sandbox::new();
    s.write("job.sql", FILE_JOB.replace("'path'='in'", "'path'='in.gz'"));
    s.write("in.gz", "{\"a\":1}\n");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("in.gz");
    s.write("in", "{\"a\":1}\n".repeat(10_000));
    assert!(std::process::Command::new("gzip").arg("-f").arg(s.path("in")).status().expect("gzip").success());
    let whole = std::fs::read(s.path("in.gz")).expect("in.gz");
    s.write("in.gz", &whole[..whole.len() / 2]);
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("in.gz");
    s.write("in.gz", "");
    expect_sane(&s.wasmill(&["run", "job.sql"]));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_or_a_socket_is_no_panic() {
    use std::os::unix::net::UnixListener;
    let s = Sandbox::new();
    s.write("job.sql", FILE_JOB);
    let _listener = UnixListener::bind(s.path("in")).expect("socket");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("in");
}

#[test]
fn a_half_written_last_line_is_one_bad_record_and_a_missing_newline_is_none() {
    let args = ["--dead-letters", "/dev/null"];
    let run = run_with("'format'='json'", "{\"a\":1}\n{\"a\":2,\"b\":\"x", &args).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":null}\n");
    assert_eq!(run.operator("Source: src").count("dead"), 1);
    let run = run_with("'format'='json'", "{\"a\":1}\n{\"a\":2}", &args).expect_code(0);
    assert_eq!(run.operator("Source: src").count("decoded"), 2);
    let run = run_with("'format'='csv'", "1,x\n2,\"open\nand on", &args).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":\"x\"}\n");
    assert_eq!(run.operator("Source: src").count("dead"), 1);
    run.expect_balanced();
}

#[test]
fn records_that_are_no_text_or_no_object_are_dead_letters_one_by_one() {
    let bad: &[&[u8]] = &[
        b"{\"a\":1,\"b\":\"\xff\"}",
        b"\xff\xfe\x00",
        b"1",
        b"\"x\"",
        b"{",
        b"}",
        b"{\"a\"}",
        b"{\"a\":}",
        b"{\"a\":1}}",
        b"{\"a\":1}{\"a\":2}",
        b"{\"a\":1,}",
        b"{'a':1}",
        b"{\"a\":01}",
        b"{\"a\":1e999}",
        b"{\"a\":NaN}",
        b"{\"a\":2147483648}",
        b"{\"a\":1.5}",
        b"{\"a\":true}",
        b"{\"a\":\"\"}",
        b"{\"b\":\"\\ud800\"}",
        b"{\"b\":\"\\x\"}",
        b"{\"b\":\"\x00\"}",
        b"\x00\x00",
        b"nul",
        b"{\"a\":[1]}",
        b"{\"a\":{\"a\":1}}",
    ];
    for record in bad {
        let mut input = b"{\"a\":1,\"b\":\"first\"}\n".to_vec();
        input.extend_from_slice(record);
        input.extend_from_slice(b"\n{\"a\":3,\"b\":\"last\"}\n");
        let run = run_with("'format'='json'", &input, &["--dead-letters", "/dev/null"]).expect_code(0);
        let (source, shown) = (run.operator("Source: src"), String::from_utf8_lossy(record));
        assert_eq!((source.count("read"), source.count("dead"), source.count("decoded")), (3, 1, 2), "{shown}");
        assert!(run.stdout.contains("first") && run.stdout.contains("last"), "{shown}: {}", run.stdout);
    }
}

#[test]
fn csv_lines_with_a_wrong_number_of_fields_or_bad_quotes_are_dead_letters() {
    for bad in ["1,x,y", "1,x,,", "x,y", "1,\"x\" y", "1,\"x\"\"", "2147483648,x", "1,a\"b"] {
        let run = run_with("'format'='csv'", format!("7,first\n{bad}\n"), &["--dead-letters", "/dev/null"]);
        let run = run.expect_code(0);
        run.expect_balanced();
        assert!(run.stdout.starts_with("{\"a\":7,\"b\":\"first\"}\n"), "{bad}: {}", run.stdout);
        if bad != "1,a\"b" {
            assert_eq!(run.operator("Source: src").count("dead"), 1, "{bad}: {}", run.stdout);
        }
    }
}

#[test]
fn csv_lines_may_lack_the_last_fields_and_end_with_a_delimiter() {
    let run = run_with("'format'='csv'", "1\n2,x,\n", &[]).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":\"x\"}\n");
}

#[test]
fn csv_fields_beyond_the_tables_columns_are_refused_whatever_the_query_reads() {
    let s = Sandbox::new();
    s.write("in", "1,x\n2,y,z\n");
    s.write("job.sql", FILE_JOB.replace("'format'='json'", "'format'='csv'").replace("SELECT a, b", "SELECT a, 'c'"));
    let run = s.wasmill(&["run", "job.sql"]).expect_code(3);
    run.expect_stderr("in line 2: the record has 3 fields, the table has 2 columns");
}

#[test]
fn a_byte_order_mark_and_crlf_in_data_are_no_part_of_it() {
    let run = run_with("'format'='json'", "\u{feff}{\"a\":1}\r\n{\"a\":2}\r\n", &[]).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":null}\n{\"a\":2,\"b\":null}\n");
    let run = run_with("'format'='csv'", "\u{feff}1,x\r\n2,y\r\n", &[]).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n");
    let run = run_with("'format'='csv', 'csv.header'='true'", "\u{feff}a,b\r\n1,x\r\n", &[]).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1,\"b\":\"x\"}\n");
}

#[test]
fn deeply_nested_json_is_a_dead_letter() {
    for (open, close) in [("[", "]"), ("{\"x\":", "}")] {
        for column in ["a", "zz", "b"] {
            let middle = if open == "[" { "" } else { "1" };
            let deep = format!("{}{middle}{}", open.repeat(200_000), close.repeat(200_000));
            let input = format!("{{\"{column}\":{deep}}}\n{{\"a\":2}}\n");
            let run = run_with("'format'='json'", input, &["--dead-letters", "/dev/null"]).expect_code(0);
            assert_eq!(run.stdout, "{\"a\":2,\"b\":null}\n");
            assert_eq!(run.operator("Source: src").count("dead"), 1);
        }
    }
}

#[test]
fn two_thousand_columns_run() {
    let s = Sandbox::new();
    let columns: Vec<String> = (0..2000).map(|i| format!("c{i} INT")).collect();
    let members: Vec<String> = (0..2000).map(|i| format!("\"c{i}\":{i}")).collect();
    let values: Vec<String> = (0..2000).map(|i| i.to_string()).collect();
    let record = format!("{{{}}}\n", members.join(","));
    for (format, input) in [("json", record.clone()), ("csv", values.join(",") + "\n")] {
        s.write("in", input.repeat(20));
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src({0}) WITH ('connector'='filesystem', 'path'='in', 'format'='{format}');\n\
                 CREATE TABLE sink({0}) WITH ('connector'='print');\nINSERT INTO sink SELECT * FROM src WHERE c1999 > 0;",
                columns.join(", ")
            ),
        );
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        assert!(run.stdout == record.repeat(20), "{format}: {}", &run.stdout[..200]);
    }
}

fn expression_job(expression: &str) -> Run {
    let s = Sandbox::new();
    s.write("in", "{\"a\":1,\"b\":\"x\"}\n");
    s.write("job.sql", FILE_JOB.replace("SELECT a, b", &format!("SELECT {expression} AS a, b")));
    let run = s.wasmill(&["run", "job.sql"]);
    expect_sane(&run);
    run
}

#[test]
fn an_expression_of_a_thousand_terms_runs_and_one_of_five_thousand_is_refused_with_its_place() {
    let run = expression_job(&vec!["a"; 900].join(" + "));
    assert_eq!(run.expect_code(0).stdout, "{\"a\":900,\"b\":\"x\"}\n");
    let run = expression_job(&format!("CASE WHEN {} THEN 1 ELSE 0 END", vec!["a = 2"; 400].join(" OR ")));
    assert_eq!(run.expect_code(0).stdout, "{\"a\":0,\"b\":\"x\"}\n");
    let run = expression_job(&vec!["a"; 5000].join(" + ")).expect_code(2);
    run.expect_stderr("job.sql:3:4027: error[E0103]: the statement has more than 1000 operators in a row");
}

#[test]
fn deep_nesting_in_sql_is_refused_or_runs_but_never_overflows_the_stack() {
    for depth in [40, 500, 20_000] {
        let run = expression_job(&format!("{}a{}", "(".repeat(depth), ")".repeat(depth)));
        if depth == 40 {
            assert_eq!(run.clone().expect_code(0).stdout, "{\"a\":1,\"b\":\"x\"}\n");
        }
        expression_job(&format!("{}a{}", "ABS(".repeat(depth), ")".repeat(depth)));
        expression_job(&format!("{}a", "- ".repeat(depth)));
        expression_job(&format!("{}a = 1 THEN 1 ELSE 2 END", "CASE WHEN NOT ".repeat(depth)));
        expression_job(&format!("{}a{}", "CASE WHEN a = 0 THEN 0 ELSE ".repeat(depth), " END".repeat(depth)));
    }
    let s = Sandbox::new();
    s.write("in", "{\"a\":1}\n");
    for depth in [40, 2000] {
        let from = format!("{}src{}", "(SELECT a, b FROM ".repeat(depth), ") t".repeat(depth));
        s.write("job.sql", FILE_JOB.replace("FROM src", &format!("FROM {from}")));
        expect_sane(&s.wasmill(&["run", "job.sql"]));
        let nested = format!("{}INT{}", "ARRAY<".repeat(depth), ">".repeat(depth));
        s.write("job.sql", FILE_JOB.replace("src(a INT,", &format!("src(a INT, n {nested},")));
        expect_sane(&s.wasmill(&["run", "job.sql"]));
        let mut views = String::new();
        for i in 0..depth {
            let from = if i == 0 { "src".to_string() } else { format!("v{}", i - 1) };
            let _ = writeln!(views, "CREATE VIEW v{i} AS SELECT a, b FROM {from};");
        }
        s.write(
            "job.sql",
            FILE_JOB
                .replace("INSERT", &format!("{views}INSERT"))
                .replace("FROM src;\n", ";\n")
                .replace("SELECT a, b;", &format!("SELECT a, b FROM v{};", depth - 1)),
        );
        expect_sane(&s.wasmill(&["run", "job.sql"]));
    }
}

#[test]
fn a_huge_in_list_runs() {
    let list: Vec<String> = (2..20_000).map(|i| i.to_string()).collect();
    let run = expression_job(&format!("CASE WHEN a IN ({0}) THEN 1 WHEN a + 1 IN ({0}) THEN 2 END", list.join(", ")));
    assert_eq!(run.expect_code(0).stdout, "{\"a\":2,\"b\":\"x\"}\n");
}

#[test]
fn unknown_columns_types_options_and_functions_are_refused_with_their_places() {
    let s = Sandbox::new();
    s.write("in", "{\"a\":1}\n");
    for (from, to, message) in [
        ("SELECT a, b", "SELECT a, c", "job.sql:3:28: error[E0403]: column 'c'"),
        ("SELECT a, b", "SELECT a, FOO(b)", "job.sql:3:28: error[E0501]: unknown function FOO"),
        ("SELECT a, b", "SELECT a", "job.sql:3:"),
        ("SELECT a, b", "SELECT DATE '2024-01-02', b", "job.sql:3:"),
        (
            "a INT, b STRING) WITH ('connector'='filesystem'",
            "a IMT, b STRING) WITH ('connector'='filesystem'",
            "job.sql:1:20: error[E0601]: unknown type IMT",
        ),
        (
            "'format'='json'",
            "'format'='json', 'json.frmat'='x'",
            "job.sql:1:97: error[E0301]: unknown option json.frmat",
        ),
        ("'format'='json'", "'format'='jsn'", "error[E0309]"),
        ("FROM src", "FROM scr", "job.sql:3:35: error[E0405]: unknown table scr"),
    ] {
        s.write("job.sql", FILE_JOB.replacen(from, to, 1));
        let run = s.wasmill(&["run", "job.sql"]).expect_code(2);
        assert_eq!(run.stdout, "");
        run.expect_stderr(message);
    }
}

#[test]
fn a_job_file_cut_anywhere_is_refused_or_read_but_no_panic() {
    let s = Sandbox::new();
    let text = std::fs::read_to_string(wasmill_tests::root().join("jobs/dtstack/kudu_sink.sql")).expect("job");
    for cut in (1..text.len()).step_by(37).filter(|c| text.is_char_boundary(*c)) {
        s.write("job.sql", &text[..cut]);
        expect_sane(&s.wasmill(&["check", "job.sql"]));
    }
}
