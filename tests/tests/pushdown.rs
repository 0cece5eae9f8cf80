//! Conditions that databases apply: fewer rows come, and the result is what it is without.

use wasmill_tests::services::{MySql, Postgres, unique};
use wasmill_tests::{Run, Sandbox, sorted_lines};

const COLUMNS: &str = "id INT, name STRING, amount DECIMAL(10,2), d DATE, ts TIMESTAMP(3), x DOUBLE";

/// Each condition with the number of rows that the database sends; None: all.
const CONDITIONS: &[(&str, Option<u64>)] = &[
    ("id > 95", Some(5)),
    ("95 < id AND id <> 97", Some(4)),
    ("id BETWEEN 3 AND 5", Some(3)),
    ("id IN (1, 2, 3, 4, 5, 1000)", Some(5)),
    ("id = 7 OR id = 8", Some(2)),
    ("name = 'n3'", Some(1)),
    ("name IN ('n3', 'O''Brien')", Some(1)),
    ("amount >= 99.5", Some(1)),
    ("amount = 3.25", Some(1)),
    ("d = DATE '2024-01-05'", Some(1)),
    ("ts >= TIMESTAMP '2024-04-08 00:00:00.123'", Some(9)),
    ("x < 2", Some(1)),
    ("name IS NULL", Some(1)),
    ("name IS NOT NULL AND id < 4", Some(3)),
    // Not sent: an order of texts, digits that are cut, expressions.
    ("name > 'n90'", None),
    ("name <> 'n3'", None),
    ("ts = TIMESTAMP '2024-01-02 00:00:00.123'", None),
    ("id + 1 = 5", None),
    ("UPPER(name) = 'N4'", None),
];

/// 1..=99 with all values, and 100 without a name.
fn rows(timestamp: &str) -> String {
    let row = |i: u32| {
        let name = if i == 100 { "NULL".to_string() } else { format!("'n{i}'") };
        let day = format!("2024-{:02}-{:02}", (i - 1) / 28 + 1, (i - 1) % 28 + 1);
        format!("({i}, {name}, {i}.25, '{day}', {timestamp}'{day} 00:00:00.123456', {i}.5)")
    };
    (1..=100).map(row).collect::<Vec<_>>().join(", ")
}

fn job(connector: &str, condition: &str) -> String {
    format!(
        "CREATE TABLE src ({COLUMNS}) WITH ({connector});\n\
         CREATE TABLE o ({COLUMNS}) WITH ('connector' = 'print');\n\
         INSERT INTO o SELECT * FROM src WHERE {condition};\n"
    )
}

fn run(sql: &str) -> Run {
    let s = Sandbox::new();
    s.write("job.sql", sql);
    s.wasmill(&["run", "job.sql"]).expect_code(0)
}

#[track_caller]
fn expect_same_with_fewer_rows(connector: &str) {
    for (condition, sent) in CONDITIONS {
        let here = run(&job(&format!("{connector}, 'filter.handling.policy' = 'never'"), condition));
        assert_eq!(here.operator("Source: src").count("read"), 100, "{condition}");
        let there = run(&job(connector, condition));
        assert_eq!(sorted_lines(&there.stdout), sorted_lines(&here.stdout), "{condition}");
        assert_eq!(there.operator("Source: src").count("read"), sent.unwrap_or(100), "{condition}");
        there.expect_balanced();
    }
}

fn jdbc(url: &str, table: &str) -> String {
    format!(
        "'connector' = 'jdbc', 'url' = '{url}', 'table-name' = '{table}', 'username' = 'wasmill', \
         'password' = 'wasmill-secret'"
    )
}

#[test]
fn mysql_sends_only_rows_that_may_meet_the_conditions() {
    let (db, name) = (MySql::shared(), unique("push"));
    db.query(&format!(
        "CREATE TABLE {name} (id int primary key, name varchar(20), amount decimal(10,2), d date, ts datetime(6), \
         x double); INSERT INTO {name} VALUES {}",
        rows("")
    ));
    expect_same_with_fewer_rows(&jdbc(&db.jdbc_url(), &name));
}

#[test]
fn postgres_sends_only_rows_that_may_meet_the_conditions() {
    let (db, name) = (Postgres::shared(), unique("push"));
    db.query(&format!(
        "CREATE TABLE {name} (id int primary key, name varchar(20), amount numeric(10,2), d date, ts timestamp, \
         x double precision); INSERT INTO {name} VALUES {}",
        rows("timestamp ")
    ));
    expect_same_with_fewer_rows(&jdbc(&db.jdbc_url(), &name));
}

/// What the database takes for equal is not equal here.
#[test]
fn a_collation_that_ignores_case_sends_more_rows_which_are_left_out_here() {
    let (db, name) = (MySql::shared(), unique("push"));
    db.query(&format!(
        "CREATE TABLE {name} (id int, name varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci); \
         INSERT INTO {name} VALUES (1, 'a'), (2, 'A'), (3, 'b'), (4, 'a ')"
    ));
    let done = run(&format!(
        "CREATE TABLE src (id INT, name STRING) WITH ({});\nCREATE TABLE o (id INT) WITH ('connector' = 'print');\n\
         INSERT INTO o SELECT id FROM src WHERE name = 'a';",
        jdbc(&db.jdbc_url(), &name)
    ));
    assert_eq!(done.stdout, "{\"id\":1}\n");
    assert_eq!(done.operator("Source: src").count("read"), 3);
}

/// Columns that the job declares otherwise than the database has them.
#[test]
fn where_types_differ_nothing_is_lost() {
    let (db, name) = (MySql::shared(), unique("push"));
    db.query(&format!(
        "CREATE TABLE {name} (a varchar(20), b decimal(10,3), c timestamp(6) NOT NULL, d bigint unsigned); \
         INSERT INTO {name} VALUES ('07', 1.005, '2024-01-01 12:00:00.5', 18446744073709551615), \
         (' 7', 1.014, '2024-01-01 12:00:01', 1)"
    ));
    let count = |condition: &str| {
        let done = run(&format!(
            "CREATE TABLE src (a INT, b DECIMAL(10,2), c TIMESTAMP(3), d DECIMAL(20,0)) WITH ({});\n\
             CREATE TABLE o (a INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT a FROM src WHERE {condition};",
            jdbc(&db.jdbc_url(), &name)
        ));
        (done.stdout.lines().count(), done.operator("Source: src").count("read"))
    };
    assert_eq!(count("a = 7"), (2, 2));
    assert_eq!(count("b = 1.01"), (2, 2));
    assert_eq!(count("c >= TIMESTAMP '2024-01-01 12:00:00.600'"), (1, 2));
    assert_eq!(count("d = 18446744073709551615"), (1, 1));
}

#[test]
fn sqlite_sends_rows_of_other_classes_too() {
    let s = Sandbox::new();
    crate::sqlite::python(
        &s,
        "import sqlite3\nc=sqlite3.connect('db.sqlite')\nc.execute('CREATE TABLE t(id, name TEXT COLLATE NOCASE)')\n\
         c.executemany('INSERT INTO t VALUES(?,?)', [(1,'a'),(2,'A'),(3,'b'),('4','a'),(None,'a')])\nc.commit()",
    );
    let read = |condition: &str| {
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src (id INT, name STRING) WITH ('connector'='sqlite', 'path'='db.sqlite', 'table'='t');\n\
                 CREATE TABLE o (id INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT id FROM src WHERE {condition};"
            ),
        );
        let done = s.wasmill(&["run", "job.sql"]).expect_code(0);
        (sorted_lines(&done.stdout).join(" "), done.operator("Source: src").count("read"))
    };
    assert_eq!(read("id > 2"), (r#"{"id":3} {"id":4}"#.to_string(), 2));
    assert_eq!(read("name = 'a' AND id IS NOT NULL"), (r#"{"id":1} {"id":4}"#.to_string(), 3));
    assert_eq!(read("id IN (1, 4)"), (r#"{"id":1} {"id":4}"#.to_string(), 2));
}

/// ON constants go with each look-up, those of WHERE below an inner join only.
#[test]
fn b65_constants_of_a_side_join_are_sent_as_parameters() {
    let (db, name) = (MySql::shared(), unique("push"));
    db.query(&format!(
        "CREATE TABLE {name} (id int, city varchar(20) CHARACTER SET utf8mb4, name varchar(20), n int); \
         INSERT INTO {name} VALUES (1, '杭州', 'O\\'Brien', 1), (1, '上海', 'O\\'Brien', 2), \
         (1, '杭州', 'x', 3), (2, '上海', 'y', 4)"
    ));
    let join = |kind: &str, cache: &str, rest: &str| {
        let s = Sandbox::new();
        s.write("in.jsonl", "{\"id\":1}\n{\"id\":2}\n");
        s.write(
            "job.sql",
            format!(
                "CREATE TABLE src(id int) WITH (type='file', path='in.jsonl', format='json');\n\
                 CREATE TABLE dim(id int, city varchar, name varchar, n int, PRIMARY KEY(id), PERIOD FOR SYSTEM_TIME) WITH \
                 (type='mysql', url='{}', userName='wasmill', password='wasmill-secret', tableName='{name}', cache='{cache}');\n\
                 CREATE TABLE o(id int, n int) WITH (type='console');\n\
                 INSERT INTO o SELECT a.id, s.n FROM src a {kind} JOIN dim s ON a.id = s.id {rest};",
                db.jdbc_url()
            ),
        );
        let explained = s.wasmill(&["explain", "job.sql"]).expect_code(0).stdout;
        let done = s.wasmill(&["run", "job.sql"]).expect_code(0);
        let rows: Vec<String> = done.stdout.lines().map(str::to_string).collect();
        (rows, done.operator("LookupJoin: dim (side table)").count("read"), explained)
    };
    for cache in ["NONE", "LRU", "ALL"] {
        let (rows, read, explained) = join("LEFT", cache, "AND s.city = '杭州' AND s.name = 'O''Brien'");
        assert_eq!((rows, read), (vec![r#"{"id":1,"n":1}"#.into(), r#"{"id":2,"n":null}"#.into()], 1), "{cache}");
        assert!(explained.contains("pushed down: city = '杭州' AND name = 'O''Brien'"), "{explained}");
        let (rows, read, _) = join("", cache, "WHERE s.n >= 3");
        assert_eq!((rows, read), (vec![r#"{"id":1,"n":3}"#.into(), r#"{"id":2,"n":4}"#.into()], 2), "{cache}");
        let (rows, read, explained) = join("LEFT", cache, "WHERE s.n >= 3");
        assert_eq!((rows, read), (vec![r#"{"id":1,"n":3}"#.into(), r#"{"id":2,"n":4}"#.into()], 4), "{cache}");
        assert!(!explained.contains("pushed down"), "{explained}");
    }
}
