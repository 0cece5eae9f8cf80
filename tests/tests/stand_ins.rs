//! Stand-ins: local files (or the standard streams) in place of any table.

use wasmill_tests::{Run, Sandbox, from_base64};

const EVERY_TYPE: &str = "l BIGINT, d DECIMAL(38,18), t TIMESTAMP(3), t6 TIMESTAMP(6), da DATE, y BYTES, b BOOLEAN, \
                          x DOUBLE, s STRING";

/// A Flink job that copies a Kafka table `src` of these columns to a JDBC table `sink`.
fn copy_job(columns: &str, format: &str) -> String {
    format!(
        "CREATE TABLE src({columns}) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h:1', \
         'format'={format});\n\
         CREATE TABLE sink({columns}) WITH ('connector'='jdbc', 'url'='jdbc:mysql://h/d', 'table-name'='x');\n\
         INSERT INTO sink SELECT * FROM src;\n"
    )
}

fn copy(s: &Sandbox, columns: &str, format: &str, from: &str, to: &str) -> Run {
    s.write("job.sql", copy_job(columns, format));
    s.wasmill(&["run", "job.sql", "--stand-in", &format!("src={from}"), "--stand-in", &format!("sink={to}")])
}

#[test]
fn json_lines_keep_every_value_exact_and_the_columns_in_the_sinks_order() {
    let s = Sandbox::new();
    s.write(
        "in.jsonl",
        "{\"s\":\"é\\\"\\n\",\"l\":9223372036854775807,\"d\":12345678901234567890.123456789012345678,\
         \"t\":\"2024-01-02 03:04:05.006\",\"t6\":\"2024-01-02 03:04:05.000007\",\"da\":\"1969-12-31\",\"y\":\"AAH/\",\
         \"b\":false,\"x\":-0.1}\n\
         {\"l\":-9223372036854775808,\"d\":\"-0.000000000000000001\",\"t\":\"1969-12-31 23:59:59\",\
         \"t6\":\"0001-01-01 00:00:00\"}\n{}\n",
    );
    copy(&s, EVERY_TYPE, "'json'", "in.jsonl", "out.jsonl").expect_code(0);
    assert_eq!(
        s.read("out.jsonl"),
        "{\"l\":9223372036854775807,\"d\":12345678901234567890.123456789012345678,\"t\":\"2024-01-02 03:04:05.006\",\
         \"t6\":\"2024-01-02 03:04:05.000007\",\"da\":\"1969-12-31\",\"y\":\"AAH/\",\"b\":false,\"x\":-0.1,\
         \"s\":\"é\\\"\\n\"}\n\
         {\"l\":-9223372036854775808,\"d\":-0.000000000000000001,\"t\":\"1969-12-31 23:59:59\",\
         \"t6\":\"0001-01-01 00:00:00\",\"da\":null,\"y\":null,\"b\":null,\"x\":null,\"s\":null}\n\
         {\"l\":null,\"d\":null,\"t\":null,\"t6\":null,\"da\":null,\"y\":null,\"b\":null,\"x\":null,\"s\":null}\n"
    );
}

#[test]
fn csv_is_read_by_the_names_of_its_header_whatever_the_tables_format() {
    let s = Sandbox::new();
    s.write("in.csv", "b,unused,a\n\"x,\"\"y\"\"\",?,1\n,,-2\n\"line\nbreak\",,3\n");
    for format in ["'json'", "'csv', 'csv.field-delimiter'='|'", "'raw'"] {
        // `raw` takes one column only, which the stand-in does not mind: its own format is not used.
        let columns = if format == "'raw'" { "a STRING" } else { "a STRING, b STRING" };
        let run = copy(&s, columns, format, "in.csv", "-").expect_code(0);
        let expected = if format == "'raw'" {
            "{\"a\":\"1\"}\n{\"a\":\"-2\"}\n{\"a\":\"3\"}\n"
        } else {
            "{\"a\":\"1\",\"b\":\"x,\\\"y\\\"\"}\n{\"a\":\"-2\",\"b\":\"\"}\n{\"a\":\"3\",\"b\":\"line\\nbreak\"}\n"
        };
        assert_eq!(run.stdout, expected, "{format}");
    }
}

#[test]
fn another_ending_is_raw_records_of_the_declared_format() {
    let s = Sandbox::new();
    s.write("in.txt", "1|a b\n2|\n");
    copy(&s, "a INT, b STRING", "'csv', 'csv.field-delimiter'='|'", "in.txt", "out.jsonl").expect_code(0);
    assert_eq!(s.read("out.jsonl"), "{\"a\":1,\"b\":\"a b\"}\n{\"a\":2,\"b\":\"\"}\n");
    s.write("in.log", "{\"a\":1}\nnot json\n");
    copy(&s, "a STRING", "'raw'", "in.log", "out.jsonl").expect_code(0);
    assert_eq!(s.read("out.jsonl"), "{\"a\":\"{\\\"a\\\":1}\"}\n{\"a\":\"not json\"}\n");
}

#[test]
fn a_sink_with_another_ending_gets_what_its_own_format_gives() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1,\"b\":\"x;y\"}\n{\"a\":2}\n");
    s.write(
        "job.sql",
        "CREATE TABLE src(a INT, b STRING) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h', \
         'format'='json');\n\
         CREATE TABLE sink(a INT, b STRING) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h', \
         'format'='csv', 'csv.field-delimiter'=';', 'csv.null-literal'='NULL');\n\
         INSERT INTO sink SELECT a, b FROM src;",
    );
    let run = s.wasmill(&["run", "job.sql", "--stand-in", "src=in.jsonl", "--stand-in", "sink=out.records"]);
    run.expect_code(0);
    assert_eq!(s.read("out.records"), "1;\"x;y\"\n2;NULL\n");
}

#[test]
fn path_columns_are_followed_in_json_lines_of_a_json_table_only() {
    let s = Sandbox::new();
    s.write("nested.jsonl", "{\"message\":{\"id\":7,\"tags\":[\"p\",\"q\"]},\"id\":8}\n{\"message\":null}\n{}\n");
    s.write("side.jsonl", "{\"id\":7,\"name\":\"seven\"}\n{\"message\":{\"id\":7},\"name\":\"by path\"}\n");
    s.write(
        "job.sql",
        "CREATE TABLE src(message.id int AS id, message.tags varchar AS tags)WITH(type='kafka11', \
         bootstrapServers='ip:port', topic='t');\n\
         CREATE TABLE side(id int, name varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)WITH(type='kudu', \
         kuduMasters='ip', tableName='t', cache='ALL');\n\
         CREATE TABLE sink(id int, tags varchar, name varchar)WITH(type='console');\n\
         INSERT INTO sink SELECT s.id, s.tags, d.name FROM src s LEFT JOIN side d ON s.id = d.id;",
    );
    let run = s.wasmill(&["run", "job.sql", "--stand-in", "src=nested.jsonl", "--stand-in", "side=side.jsonl"]);
    assert_eq!(
        run.expect_code(0).stdout,
        "{\"id\":7,\"tags\":\"[\\\"p\\\",\\\"q\\\"]\",\"name\":\"seven\"}\n\
         {\"id\":null,\"tags\":null,\"name\":null}\n{\"id\":null,\"tags\":null,\"name\":null}\n"
    );
}

#[test]
fn the_dash_is_stdin_and_stdout() {
    let s = Sandbox::new();
    s.write("job.sql", copy_job("a INT", "'json'"));
    let args = ["run", "job.sql", "--quiet", "--stand-in", "src=-", "--stand-in", "sink=-"];
    let run = s.wasmill_with_input(&args, b"{\"a\":1}\n{\"a\":2}").expect_code(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("{\"a\":1}\n{\"a\":2}\n", ""));
    let run = s.wasmill_with_input(&args, b"").expect_code(0);
    assert_eq!(run.stdout, "");
}

#[test]
fn stdin_cannot_feed_two_tables() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        copy_job("a INT", "'json'")
            + "CREATE TABLE src2(a INT) WITH ('connector'='kafka', 'topic'='t', 'properties.bootstrap.servers'='h', \
               'format'='json');\nINSERT INTO sink SELECT * FROM src2;",
    );
    let args = ["run", "job.sql", "--stand-in", "src=-", "--stand-in", "src2=-", "--stand-in", "sink=-"];
    s.wasmill_with_input(&args, b"{\"a\":1}\n").expect_code(2).expect_stderr("standard input");
}

#[test]
fn stdin_feeds_several_inserts_that_read_one_table() {
    let s = Sandbox::new();
    s.write("job.sql", copy_job("a INT", "'json'") + "INSERT INTO sink SELECT a + 1 FROM src;");
    let run = s.wasmill_with_input(&["run", "job.sql", "--stand-in", "src=-", "--stand-in", "sink=-"], b"{\"a\":1}\n");
    let mut lines: Vec<String> = run.expect_code(0).stdout.lines().map(str::to_string).collect();
    lines.sort();
    assert_eq!(lines, [r#"{"a":1}"#, r#"{"a":2}"#]);
}

#[test]
fn paths_on_the_command_line_start_at_the_working_folder_and_those_in_sql_at_the_job_file() {
    let s = Sandbox::new();
    s.write("jobs/data/in.jsonl", "{\"a\":1}\n");
    s.write("data/in.jsonl", "{\"a\":2}\n");
    s.write(
        "jobs/job.sql",
        "CREATE TABLE src(a INT) WITH ('connector'='filesystem', 'path'='data/in.jsonl', 'format'='json');\n\
         CREATE TABLE sink(a INT) WITH ('connector'='filesystem', 'path'='out', 'format'='json');\n\
         INSERT INTO sink SELECT * FROM src;",
    );
    s.wasmill(&["run", "jobs/job.sql"]).expect_code(0);
    assert_eq!(s.read("jobs/out/part-0-0"), "{\"a\":1}\n");
    let run = s.wasmill(&["run", "jobs/job.sql", "--stand-in", "src=data/in.jsonl", "--stand-in", "sink=out.jsonl"]);
    run.expect_code(0);
    assert_eq!(s.read("out.jsonl"), "{\"a\":2}\n");
}

#[test]
fn gzip_is_read_through() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    let gzip = std::process::Command::new("gzip").arg(s.path("in.jsonl")).status().expect("gzip");
    assert!(gzip.success());
    copy(&s, "a INT", "'json'", "in.jsonl.gz", "out.jsonl").expect_code(0);
    assert_eq!(s.read("out.jsonl"), "{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn a_missing_file_or_folder_of_a_stand_in_is_named() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n");
    for (from, to, text) in [
        ("gone.jsonl", "-", "cannot read the stand-in gone.jsonl: No such file"),
        (".", "-", "the stand-in . "),
        ("in.jsonl", "no/such/folder/out.jsonl", "cannot write the stand-in no/such/folder/out.jsonl"),
        ("in.jsonl", ".", "the stand-in ."),
    ] {
        let run = copy(&s, "a INT", "'json'", from, to);
        assert!([2, 3].contains(&run.code), "{from} {to}: exit {}", run.code);
        run.expect_stderr(text);
    }
    // `check` does not look at files.
    s.wasmill(&["check", "job.sql", "--stand-in", "src=gone.jsonl"]).expect_code(0);
}

#[test]
fn a_sink_without_a_record_format_needs_jsonl() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"a\":1}\n");
    let run = copy(&s, "a INT", "'json'", "in.jsonl", "out.txt").expect_code(2);
    run.expect_stderr("no record format").expect_stderr("ends in .jsonl works for every table");
}

#[test]
fn a_record_that_is_refused_holds_its_bytes() {
    let s = Sandbox::new();
    s.write("in.jsonl", b"{\"a\":1}\n{\"a\":\"\xff\xfe\"}\n{\"a\":2}\r\n".as_slice());
    s.write("job.sql", copy_job("a INT", "'json'"));
    let args = ["run", "job.sql", "--stand-in", "src=in.jsonl", "--stand-in", "sink=-", "--dead-letters", "dead.jsonl"];
    let run = s.wasmill(&args).expect_code(0);
    assert_eq!(run.stdout, "{\"a\":1}\n{\"a\":2}\n");
    let dead = s.json_lines("dead.jsonl");
    assert_eq!(dead.len(), 1);
    assert_eq!(from_base64(dead[0]["raw"].as_str().unwrap_or_default()), b"{\"a\":\"\xff\xfe\"}");
}

#[test]
fn explain_shows_the_file_that_stands_in() {
    let s = Sandbox::new();
    s.write("job.sql", copy_job("a INT", "'json'"));
    let run = s.wasmill(&["explain", "job.sql", "--stand-in", "src=in.jsonl"]).expect_code(0);
    assert!(run.stdout.contains("table: src (stand-in in.jsonl)"), "{}", run.stdout);
}
