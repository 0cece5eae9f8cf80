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
