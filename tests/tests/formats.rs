//! Formats through SQL, with files: plugins that decode and format, avro, change streams, and their refusals.

use wasmill_tests::{Run, Sandbox, plugin};

fn with_plugins() -> Sandbox {
    let s = Sandbox::new();
    for name in ["log_lines.wasm", "console_table.wasm"] {
        std::fs::copy(plugin(name), s.path(name)).expect("a built plugin");
    }
    s
}

fn run(s: &Sandbox, more: &[&str]) -> Run {
    s.wasmill(&[&["run", "job.sql", "--quiet"], more].concat())
}

const LOG: &str =
    "# a comment\nlevel=warn took=12 msg=\"disk is full\"\nlevel=info took=soon\ntook=1\n\nlevel=info took=7\n";

#[test]
fn a_decoder_and_a_formatter_work_on_the_same_data_in_one_job() {
    let s = with_plugins();
    s.write("app.log", LOG);
    s.write(
        "job.sql",
        "CREATE TABLE lines(level STRING NOT NULL, took INT, msg STRING) WITH ('connector'='filesystem',
           'path'='app.log','format'='wasm','wasm.module'='log_lines.wasm','wasm.function'='logfmt',
           'on-error'='dead-letter');
         CREATE TABLE board(level STRING, msg STRING, twice INT) WITH ('connector'='print','format'='wasm',
           'wasm.module'='console_table.wasm','wasm.width'='5');
         INSERT INTO board SELECT level, msg, took * 2 FROM lines;",
    );
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(done.stdout, "warn   disk is full     24\ninfo   -         14\n");
    let dead = s.json_lines("dead.jsonl");
    let told: Vec<_> = dead.iter().map(|d| (d["origin"]["line"].as_u64(), d["reason"].as_str())).collect();
    assert_eq!(told, [(Some(3), Some("plugin")), (Some(4), Some("not-null"))]);
    assert_eq!(dead[0]["function"], "logfmt");
    assert_eq!(dead[0]["message"], "column took (INT): 'soon' does not fit");
}

#[test]
fn a_row_that_fails_later_names_the_record_that_the_plugin_made_it_of() {
    let s = with_plugins();
    s.write("in.txt", "a 1 5 6\nb 0\nc 3 7 x9 8\n");
    s.write(
        "job.sql",
        "CREATE TABLE src(sensor STRING, `at` BIGINT, `value` STRING) WITH ('connector'='filesystem','path'='in.txt',
           'format'='wasm','wasm.module'='log_lines.wasm','wasm.function'='samples');
         CREATE TABLE sink(sensor STRING, `at` BIGINT, n INT) WITH ('connector'='print');
         INSERT INTO sink SELECT sensor, `at`, CAST(`value` AS INT) FROM src;",
    );
    run(&s, &[]).expect_code(3).expect_stderr("table src: in.txt line 3");
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(done.stdout.lines().count(), 4, "{}", done.stdout);
    assert_eq!(s.json_lines("dead.jsonl")[0]["origin"]["line"], 3);
}

#[test]
fn a_plugin_that_cannot_decode_is_refused_at_check() {
    let s = with_plugins();
    for (options, message) in [
        ("'wasm.module'='console_table.wasm'", "has no decoder"),
        ("'wasm.module'='log_lines.wasm'", "has several decoders (logfmt, samples)"),
        ("'wasm.module'='log_lines.wasm','wasm.function'='nope'", "has no function 'nope'; its decoder functions are"),
    ] {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(level STRING) WITH ('connector'='filesystem','path'='x','format'='wasm',{options});
                 CREATE TABLE sink(level STRING) WITH ('connector'='print');
                 INSERT INTO sink SELECT * FROM src;"
            ),
        );
        s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr(message);
    }
}

#[test]
fn flinkstreamsql_reads_a_file_with_a_decoder_too() {
    let s = with_plugins();
    s.write("app.log", LOG);
    s.write(
        "job.sql",
        "CREATE TABLE src(level varchar, took int)WITH(type='file', fileName='app.log', format='wasm',
           wasm.module='log_lines.wasm', wasm.function='logfmt');
         CREATE TABLE sink(level varchar, took int)WITH(type='console');
         INSERT INTO sink SELECT level, took FROM src;",
    );
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(
        done.stdout,
        "{\"level\":\"warn\",\"took\":12}\n{\"level\":null,\"took\":1}\n{\"level\":\"info\",\"took\":7}\n"
    );
}

fn flink_job(s: &Sandbox, columns: &str, source: &str, sink: &str, query: &str) {
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src({columns}) WITH ('connector'='filesystem','path'='in.jsonl',{source});
             CREATE TABLE sink({columns}) WITH ({sink});
             INSERT INTO sink {query};"
        ),
    );
}

const CHANGES: &str = r#"{"before":null,"after":{"id":1,"name":"a"},"op":"c"}
{"before":{"id":1,"name":"a"},"after":{"id":1,"name":"b"},"op":"u"}
{"before":null,"after":{"id":1},"op":"u"}
{"before":{"id":1,"name":"b"},"after":null,"op":"d"}
"#;

#[test]
fn a_change_stream_goes_through_a_job_with_its_kinds_b29() {
    let s = Sandbox::new();
    s.write("in.jsonl", CHANGES);
    let source = "'format'='debezium-json','on-error'='dead-letter'";
    flink_job(&s, "id INT, name STRING", source, "'connector'='print'", "SELECT id, UPPER(name) FROM src");
    let done = run(&s, &["--dead-letters", "dead.jsonl"]).expect_code(0);
    assert_eq!(
        done.stdout,
        "{\"$kind\":\"+I\",\"id\":1,\"name\":\"A\"}\n{\"$kind\":\"-U\",\"id\":1,\"name\":\"A\"}\n\
         {\"$kind\":\"+U\",\"id\":1,\"name\":\"B\"}\n{\"$kind\":\"-D\",\"id\":1,\"name\":\"B\"}\n"
    );
    let dead = s.json_lines("dead.jsonl");
    assert_eq!((dead.len(), &dead[0]["origin"]["line"]), (1, &3.into()));
    assert!(dead[0]["message"].as_str().is_some_and(|m| m.contains("'before'")), "{}", dead[0]);
    // Without a policy the job ends, as Flink's does.
    flink_job(&s, "id INT, name STRING", "'format'='debezium-json'", "'connector'='print'", "SELECT * FROM src");
    run(&s, &[]).expect_code(3).expect_stderr("in.jsonl line 3: the update (op = 'u') has no row in 'before'");
}

#[test]
fn changes_are_translated_from_one_format_to_another() {
    let s = Sandbox::new();
    s.write(
        "in.jsonl",
        CHANGES.lines().filter(|l| !l.contains("null,\"after\":{\"id\":1},")).collect::<Vec<_>>().join("\n"),
    );
    flink_job(
        &s,
        "id INT, name STRING",
        "'format'='debezium-json'",
        "'connector'='print','format'='canal-json'",
        "SELECT * FROM src",
    );
    assert_eq!(
        run(&s, &[]).expect_code(0).stdout,
        "{\"data\":[{\"id\":1,\"name\":\"a\"}],\"type\":\"INSERT\"}\n{\"data\":[{\"id\":1,\"name\":\"a\"}],\"type\":\"DELETE\"}\n\
         {\"data\":[{\"id\":1,\"name\":\"b\"}],\"type\":\"INSERT\"}\n{\"data\":[{\"id\":1,\"name\":\"b\"}],\"type\":\"DELETE\"}\n"
    );
}

#[test]
fn a_sink_that_only_appends_refuses_a_change_stream() {
    let s = Sandbox::new();
    s.write("in.jsonl", CHANGES);
    flink_job(
        &s,
        "id INT, name STRING",
        "'format'='canal-json'",
        "'connector'='filesystem','path'='out','format'='json'",
        "SELECT * FROM src",
    );
    s.wasmill(&["check", "job.sql"])
        .expect_code(2)
        .expect_stderr("doesn't support consuming update and delete changes");
}

#[test]
fn avro_in_its_json_encoding_goes_through_files_and_back() {
    let s = Sandbox::new();
    s.write(
        "in.jsonl",
        "{\"id\":7,\"name\":{\"string\":\"a\"},\"at\":{\"long\":1500}}\n{\"id\":8,\"name\":null,\"at\":null}\nno\n",
    );
    let columns = "id BIGINT NOT NULL, name STRING, `at` TIMESTAMP(3)";
    let avro = "'format'='avro','avro.encoding'='json'";
    flink_job(&s, columns, &format!("{avro},'on-error'='skip'"), "'connector'='print'", "SELECT * FROM src");
    assert_eq!(
        run(&s, &[]).expect_code(0).stdout,
        "{\"id\":7,\"name\":\"a\",\"at\":\"1970-01-01 00:00:01.5\"}\n{\"id\":8,\"name\":null,\"at\":null}\n"
    );
    let sink = format!("'connector'='filesystem','path'='out',{avro}");
    flink_job(&s, columns, &format!("{avro},'on-error'='skip'"), &sink, "SELECT * FROM src");
    run(&s, &[]).expect_code(0);
    let part = std::fs::read_dir(s.path("out")).expect("a folder").next().expect("a part").expect("a part").path();
    let written = std::fs::read_to_string(part).expect("text");
    assert_eq!(
        written,
        "{\"id\":7,\"name\":{\"string\":\"a\"},\"at\":{\"long\":1500}}\n{\"id\":8,\"name\":null,\"at\":null}\n"
    );
}

#[test]
fn what_avro_has_against_a_table_is_told_at_check() {
    let s = Sandbox::new();
    let check = |columns: &str, options: &str, message: &str| {
        flink_job(&s, columns, options, "'connector'='print'", "SELECT * FROM src");
        s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr(message);
    };
    let json = "'format'='avro','avro.encoding'='json'";
    check("a TIMESTAMP(6)", json, "Avro has no TIMESTAMP(6) with timestamp_mapping.legacy = true");
    check("a INT", &format!("{json},'avro.schema'='{{'"), "the Avro schema cannot be used");
    check("a INT", "'format'='avro'", "records of the format avro cannot be told apart in a file");
    check("a INT", "'format'='avro-confluent'", "needs the option avro-confluent.url");
    s.write(
        "job.sql",
        "CREATE TABLE src(a int)WITH(type='file', fileName='x', format='csv');
         CREATE TABLE sink(a int)WITH(type='console', format='avro',
           schemaInfo='{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"b\",\"type\":\"int\"}]}');
         INSERT INTO sink SELECT a FROM src;",
    );
    s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr("field b has no column and no default");
}
