//! Side tables: what matches, what does not, and what is refused.

use wasmill_tests::{Run, Sandbox, sorted_lines};

const TABLES: &str = "CREATE TABLE src(id INT, k STRING, n INT, ts TIMESTAMP(3), p AS PROCTIME()) \
                      WITH ('connector'='filesystem', 'path'='in.jsonl', 'format'='json');\n\
                      CREATE TABLE dim(id INT, name STRING, lim INT) \
                      WITH ('connector'='filesystem', 'path'='dim.jsonl', 'format'='json');\n\
                      CREATE TABLE dim2(name STRING, city STRING) \
                      WITH ('connector'='filesystem', 'path'='dim2.csv', 'format'='csv');\n\
                      CREATE TABLE sink(id INT, name STRING, city STRING) WITH ('connector'='print');\n";

fn sandbox(query: &str) -> Sandbox {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"id\":1,\"n\":5}\n{\"id\":2,\"n\":50}\n{\"id\":3,\"n\":5}\n{\"id\":null,\"n\":1}\n");
    s.write(
        "dim.jsonl",
        "{\"id\":1,\"name\":\"a\",\"lim\":10}\n{\"id\":2,\"name\":\"b\",\"lim\":10}\n\
             {\"id\":2,\"name\":\"c\",\"lim\":100}\n{\"id\":null,\"name\":\"null\",\"lim\":1}\n",
    );
    s.write("dim2.csv", "a,Aachen\nb,Berlin\nb,Bonn\n");
    s.write("job.sql", format!("{TABLES}INSERT INTO sink {query};\n"));
    s
}

#[track_caller]
fn expect_rows(query: &str, rows: &[&str]) {
    let s = sandbox(query);
    for parallelism in ["1", "2"] {
        let run = s.wasmill(&["run", "job.sql", "--set", &format!("parallelism.default={parallelism}")]).expect_code(0);
        assert_eq!(sorted_lines(&run.stdout), rows, "{query} at {parallelism}");
    }
}

fn refused(query: &str) -> Run {
    sandbox(query).wasmill(&["check", "job.sql"]).expect_code(2)
}

#[test]
fn inner_gives_each_match_and_left_also_what_has_none() {
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id",
        &[
            r#"{"id":1,"name":"a","city":"x"}"#,
            r#"{"id":2,"name":"b","city":"x"}"#,
            r#"{"id":2,"name":"c","city":"x"}"#,
        ],
    );
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s LEFT OUTER JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON d.id = s.id",
        &[
            r#"{"id":1,"name":"a","city":"x"}"#,
            r#"{"id":2,"name":"b","city":"x"}"#,
            r#"{"id":2,"name":"c","city":"x"}"#,
            r#"{"id":3,"name":null,"city":"x"}"#,
            r#"{"id":null,"name":null,"city":"x"}"#,
        ],
    );
}

#[test]
fn a_residual_condition_of_left_makes_no_match_and_where_drops_rows() {
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id AND s.n < d.lim",
        &[
            r#"{"id":1,"name":"a","city":"x"}"#,
            r#"{"id":2,"name":"c","city":"x"}"#,
            r#"{"id":3,"name":null,"city":"x"}"#,
            r#"{"id":null,"name":null,"city":"x"}"#,
        ],
    );
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id AND s.n > 1000 \
         WHERE s.id = 1",
        &[r#"{"id":1,"name":null,"city":"x"}"#],
    );
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id WHERE d.lim = 10",
        &[r#"{"id":1,"name":"a","city":"x"}"#, r#"{"id":2,"name":"b","city":"x"}"#],
    );
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id \
         WHERE d.id IS NULL",
        &[r#"{"id":3,"name":null,"city":"x"}"#, r#"{"id":null,"name":null,"city":"x"}"#],
    );
}

#[test]
fn several_side_tables_in_a_row() {
    expect_rows(
        "SELECT s.id, d.name, e.city FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id \
         LEFT JOIN dim2 FOR SYSTEM_TIME AS OF s.p AS e ON d.name = e.name WHERE s.n <> 7",
        &[
            r#"{"id":1,"name":"a","city":"Aachen"}"#,
            r#"{"id":2,"name":"b","city":"Berlin"}"#,
            r#"{"id":2,"name":"b","city":"Bonn"}"#,
            r#"{"id":2,"name":"c","city":null}"#,
        ],
    );
}

#[test]
fn keys_may_be_expressions_and_two_columns() {
    expect_rows(
        "SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id + 1 = d.id AND d.lim = s.n * 2",
        &[r#"{"id":1,"name":"b","city":"x"}"#],
    );
}

#[test]
fn one_key_with_ten_thousand_matches() {
    let s = sandbox("SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id");
    s.write("dim.jsonl", (0..10_000).map(|i| format!("{{\"id\":2,\"name\":\"{i}\"}}\n")).collect::<String>());
    s.write("in.jsonl", "{\"id\":2}\n{\"id\":1}\n".repeat(30));
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(run.stdout.lines().count(), 300_000);
    let join = run.operator("LookupJoin: dim");
    assert_eq!((join.count("in"), join.count("out"), join.count("without match")), (60, 300_000, 30));
}

#[test]
fn an_empty_side_table_matches_nothing_and_a_missing_one_fails() {
    let s = sandbox("SELECT s.id, d.name, 'x' FROM src s LEFT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id");
    s.write("dim.jsonl", "");
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(run.stdout.matches("\"name\":null").count(), 4);
    std::fs::remove_file(s.path("dim.jsonl")).expect("dim");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("dim.jsonl");
}

#[test]
fn as_of_takes_a_processing_time_column_only() {
    let query =
        |t: &str| format!("SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF {t} AS d ON s.id = d.id");
    expect_rows(
        &query("PROCTIME()").replace("AS d", "d").replace("PROCTIME() d", "s.p d"),
        &[
            r#"{"id":1,"name":"a","city":"x"}"#,
            r#"{"id":2,"name":"b","city":"x"}"#,
            r#"{"id":2,"name":"c","city":"x"}"#,
        ],
    );
    refused(&query("s.ts")).expect_stderr("job.sql:5:").expect_stderr("s.ts: not a processing-time attribute");
    refused(&query("s.nope")).expect_stderr("nope");
    refused(&query("TIMESTAMP '2024-01-01 00:00:00'")).expect_stderr("job.sql:5:");
}

#[test]
fn joins_that_are_no_lookups_are_refused_at_their_place() {
    for (query, text) in [
        ("SELECT s.id, d.name, 'x' FROM src s RIGHT JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id", "RIGHT"),
        (
            "SELECT s.id, d.name, 'x' FROM src s FULL OUTER JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id",
            "FULL",
        ),
        ("SELECT s.id, d.name, 'x' FROM src s CROSS JOIN dim FOR SYSTEM_TIME AS OF s.p AS d", "CROSS"),
        ("SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id > d.id", "equal"),
        ("SELECT s.id, d.name, 'x' FROM src s JOIN dim d ON s.id = d.id", "job.sql:5:"),
        ("SELECT s.id, d.name, 'x' FROM src s, dim d WHERE s.id = d.id", "job.sql:5:"),
        ("SELECT s.id, d.name, 'x' FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.nope", "nope"),
        ("SELECT id, name, 'x' FROM dim FOR SYSTEM_TIME AS OF PROCTIME()", "job.sql:5:"),
        (
            "SELECT s.id, s.name, d.n FROM dim s JOIN src FOR SYSTEM_TIME AS OF PROCTIME() AS d ON s.id = d.id",
            "job.sql:5:",
        ),
    ] {
        let run = refused(query);
        assert!(run.stderr.contains("job.sql:5:") && run.stderr.contains(text), "{query}\n{}", run.stderr);
    }
}

const DTSTACK: &str = "CREATE TABLE src(id int, name varchar)WITH(type='kafka11', bootstrapServers='h', topic='t');\n\
     CREATE TABLE side(id int, city varchar, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME)WITH(type='kudu', kuduMasters='h', tableName='t', cache='ALL');\n\
     CREATE TABLE sink(id int, city varchar)WITH(type='console');\n";

#[test]
fn a_side_table_on_the_wrong_side_is_refused() {
    for (query, text) in [
        ("SELECT b.id, a.city FROM side a JOIN src b ON a.id = b.id", "right"),
        ("SELECT b.id, b.city FROM src a RIGHT JOIN side b ON a.id = b.id", "RIGHT"),
        ("SELECT b.id, b.city FROM src a FULL JOIN side b ON a.id = b.id", "FULL"),
        ("SELECT id, city FROM side", "side"),
        ("SELECT b.id, b.city FROM src a JOIN side b ON a.id < b.id", "equal"),
    ] {
        let s = Sandbox::new();
        s.write("job.sql", format!("{DTSTACK}INSERT INTO sink {query};"));
        let run = s.wasmill(&["check", "job.sql"]).expect_code(2);
        assert!(run.stderr.contains("job.sql:4:") && run.stderr.contains(text), "{query}\n{}", run.stderr);
    }
}
