//! What happens to records and rows that cannot be processed: policies, limits, dead letters, and counts that add up.

use serde_json::json;
use wasmill_tests::{Run, Sandbox, from_base64, sorted_lines};

/// Five good records of ten; the bad ones fail in the decoder (2), a cast (1), a division (1) and at the sink (1).
const RECORDS: &str = "{\"id\":1,\"n\":\"10\",\"d\":2}\n{\"id\":2,\"n\":\"x\",\"d\":1}\n{\"id\":3,\"n\":\"30\",\"d\":0}\n\
                       not json\n{\"id\":\"five\",\"n\":\"5\",\"d\":1}\n{\"id\":6,\"n\":\"60\",\"d\":3}\n\
                       {\"id\":7,\"n\":null,\"d\":1}\n{\"id\":8,\"n\":\"80\",\"d\":4}\n{\"id\":9,\"n\":\"90\",\"d\":5}\n\
                       {\"id\":10,\"n\":\"100\",\"d\":5}\n";

/// Decodes, joins, filters, casts, divides and writes into a NOT NULL column.
fn job(policy: &str) -> String {
    format!(
        "CREATE TABLE src(id INT, n STRING, d INT) WITH ('connector'='filesystem', 'path'='in.jsonl', \
         'format'='json'{policy});\n\
         CREATE TABLE dim(id INT, name STRING) WITH ('connector'='filesystem', 'path'='dim.jsonl', 'format'='json');\n\
         CREATE TABLE sink(id INT, q INT NOT NULL, name STRING) WITH ('connector'='print');\n\
         CREATE VIEW v AS SELECT id, CAST(n AS INT) / d AS q, PROCTIME() AS p FROM src;\n\
         INSERT INTO sink SELECT v.id, v.q, dim.name FROM v LEFT JOIN dim FOR SYSTEM_TIME AS OF v.p ON v.id = dim.id \
         WHERE v.id <> 10;\n"
    )
}

fn sandbox(policy: &str) -> Sandbox {
    let s = Sandbox::new();
    s.write("in.jsonl", RECORDS);
    s.write("dim.jsonl", "{\"id\":1,\"name\":\"one\"}\n{\"id\":8,\"name\":\"eight\"}\n{\"id\":8,\"name\":\"ate\"}\n");
    s.write("job.sql", job(policy));
    s
}

const GOOD: &[&str] = &[
    r#"{"id":1,"q":5,"name":"one"}"#,
    r#"{"id":6,"q":20,"name":null}"#,
    r#"{"id":8,"q":20,"name":"ate"}"#,
    r#"{"id":8,"q":20,"name":"eight"}"#,
    r#"{"id":9,"q":18,"name":null}"#,
];

#[test]
fn every_record_is_written_counted_as_dropped_or_a_dead_letter_at_any_parallelism() {
    for parallelism in ["1", "2"] {
        for chaining in ["true", "false"] {
            let s = sandbox("");
            let parallelism = format!("parallelism.default={parallelism}");
            let chaining = format!("pipeline.operator-chaining.enabled={chaining}");
            let args = ["run", "job.sql", "--dead-letters", "dead.jsonl", "--set", &parallelism, "--set", &chaining];
            let run = s.wasmill(&args).expect_code(0);
            assert_eq!(sorted_lines(&run.stdout), GOOD, "{parallelism} {chaining}");
            run.expect_balanced();
            let source = run.operator("Source: src");
            assert_eq!((source.count("read"), source.count("decoded"), source.count("dead")), (10, 8, 2));
            let sink = run.operator("Sink: sink");
            assert_eq!((sink.count("received"), sink.count("written"), sink.count("dead")), (6, 5, 1));
            let mut lines: Vec<_> = s.json_lines("dead.jsonl").iter().map(|d| d["origin"]["line"].clone()).collect();
            lines.sort_by_key(|l| l.as_u64());
            assert_eq!(lines, [2, 3, 4, 5, 7]);
        }
    }
}

#[test]
fn a_dead_letter_names_job_table_place_reason_column_function_and_holds_the_exact_record() {
    let s = sandbox("");
    s.wasmill(&["run", "job.sql", "--dead-letters", "dead.jsonl"]).expect_code(0);
    let records: Vec<&str> = RECORDS.lines().collect();
    for d in s.json_lines("dead.jsonl") {
        let members: Vec<&str> = d.as_object().expect("an object").keys().map(String::as_str).collect();
        let mut sorted = ["job", "table", "origin", "reason", "column", "function", "message", "raw"];
        sorted.sort_unstable();
        let mut members = members;
        members.sort_unstable();
        assert_eq!(members, sorted);
        assert_eq!((&d["job"], &d["table"]), (&json!("job"), &json!("src")));
        let line = d["origin"]["line"].as_u64().expect("a line") as usize;
        assert!(d["origin"]["split"].as_str().is_some_and(|p| p.ends_with("in.jsonl")), "{d}");
        assert_eq!(from_base64(d["raw"].as_str().expect("raw")), records[line - 1].as_bytes());
        let (reason, column, message) = match line {
            2 => ("cast", json!(null), "'x'"),
            3 => ("division", json!(null), "zero"),
            4 => ("decode", json!(null), "no JSON object"),
            5 => ("decode", json!("id"), "'five' is not a valid INT"),
            7 => ("not-null", json!("q"), "NULL for a NOT NULL column"),
            _ => panic!("line {line} is good"),
        };
        assert!(d["message"].as_str().is_some_and(|m| m.contains(message)), "{d}");
        if ["decode", "not-null"].contains(&reason) {
            assert_eq!((&d["reason"], &d["column"]), (&json!(reason), &column), "{d}");
        }
        if reason == "cast" {
            assert_eq!((&d["reason"], &d["function"]), (&json!("cast"), &json!("CAST")), "{d}");
        }
    }
}

#[test]
fn a_flink_table_fails_the_job_and_names_the_record() {
    let s = sandbox("");
    let run = s.wasmill(&["run", "job.sql"]).expect_code(3);
    let run = run.expect_stderr("in.jsonl line 4: the record is no JSON object").expect_stderr("--dead-letters PATH");
    assert!(run.stderr.contains("job: failed in"), "{}", run.stderr);
}

#[test]
fn skip_null_and_dead_letter_are_set_per_table() {
    let written = |policy: &str| {
        let s = sandbox(&format!(", 'on-error'='{policy}'"));
        // The sink has a policy of its own.
        s.write("job.sql", job(&format!(", 'on-error'='{policy}'")).replace("'print'", "'print', 'on-error'='skip'"));
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        run.expect_balanced();
        run
    };
    let run = written("skip");
    assert_eq!(sorted_lines(&run.stdout), GOOD);
    assert_eq!(run.operator("Source: src").count("skipped"), 2);
    assert!(!run.stderr.contains("dead letter"), "{}", run.stderr);
    let run = written("dead-letter");
    assert_eq!(sorted_lines(&run.stdout), GOOD);
    assert!(run.stderr.contains("dead letter: table src: "), "{}", run.stderr);
    // NULL where the failure was: 2 and 3 go on and fail the sink's NOT NULL with 7; 5 has no id, so WHERE drops it.
    let run = written("null");
    assert_eq!(sorted_lines(&run.stdout), GOOD);
    assert_eq!(run.operator("Source: src").count("skipped"), 1);
    assert_eq!(run.operator("Sink: sink").count("skipped"), 3);
}

#[test]
fn a_limit_lets_that_many_through_and_then_fails_the_job() {
    let with_limit = |limit: i32| {
        let s = sandbox(&format!(", 'on-error'='skip', 'on-error.limit'='{limit}'"));
        s.write("job.sql", s.read("job.sql").replace("q INT NOT NULL", "q INT"));
        s.wasmill(&["run", "job.sql"])
    };
    with_limit(3).expect_code(3).expect_stderr("more than 3 rows were refused");
    with_limit(0).expect_code(3).expect_stderr("no row may be refused");
    with_limit(4).expect_code(0);
    with_limit(-1).expect_code(0);
}

#[test]
fn dead_letters_that_cannot_be_written_are_an_error_before_the_job_starts() {
    let s = sandbox("");
    let run = s.wasmill(&["run", "job.sql", "--dead-letters", "no/such/folder/dead.jsonl"]).expect_code(3);
    assert_eq!(run.stdout, "");
    run.expect_stderr("dead letters: cannot write no/such/folder/dead.jsonl");
}

#[test]
fn without_an_output_the_first_dead_letters_are_printed_and_the_rest_counted() {
    let s = Sandbox::new();
    s.write("in.jsonl", "nope\n".repeat(1000));
    s.write(
        "job.sql",
        "CREATE TABLE src(id int)WITH(type='file', fileName='in.jsonl', format='json');\n\
         CREATE TABLE sink(id int)WITH(type='console');\nINSERT INTO sink SELECT id FROM src;",
    );
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(run.stderr.matches("dead letter: table src: in.jsonl line").count(), 5);
    assert!(run.stderr.contains("--dead-letters PATH keeps them"), "{}", run.stderr);
    assert_eq!(run.operator("Source: src").count("dead"), 1000);
}

#[test]
fn a_policy_at_the_sink_does_not_excuse_the_source_and_the_reverse() {
    let s = sandbox("");
    s.write("job.sql", job("").replace("'print'", "'print', 'on-error'='skip'"));
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("table src: ");
    s.write("job.sql", job(", 'on-error'='skip'"));
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("NULL for a NOT NULL column");
}

fn side_job(policy: &str) -> Run {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1}\n{\"id\":2}\n");
    s.write("dim.jsonl", "{\"id\":1,\"name\":\"one\"}\nbroken\n{\"id\":2,\"name\":\"two\"}\n");
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(id INT, p AS PROCTIME()) WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
             CREATE TABLE dim(id INT, name STRING) WITH ('connector'='filesystem', 'path'='dim.jsonl', 'format'='json'{policy});\n\
             CREATE TABLE sink(name STRING) WITH ('connector'='print');\n\
             INSERT INTO sink SELECT d.name FROM src JOIN dim FOR SYSTEM_TIME AS OF src.p AS d ON src.id = d.id;"
        ),
    );
    s.wasmill(&["run", "job.sql"])
}

#[test]
fn a_bad_record_of_a_side_table_follows_the_side_tables_policy() {
    side_job("").expect_code(3).expect_stderr("dim.jsonl line 2");
    let run = side_job(", 'on-error'='skip'").expect_code(0);
    assert_eq!(run.stdout, "{\"name\":\"one\"}\n{\"name\":\"two\"}\n");
    let side = run.operator("LookupJoin: dim (side table)");
    assert_eq!((side.count("read"), side.count("decoded"), side.count("skipped")), (3, 2, 1));
    run.expect_balanced();
}
