//! Side tables in a database, asked key by key: caches, constants, rows in flight, answers that do not come.

use crate::mysql::{Fed, table, wait_for_rows};
use std::time::{Duration, Instant};
use wasmill_tests::services::{MySql, unique};
use wasmill_tests::{Run, Sandbox, sorted_lines};

/// A file, a side table of flinkStreamSQL and a query over both.
fn job(s: &Sandbox, db: &MySql, src: &str, dim: &str, name: &str, options: &str, query: &str) {
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src({src}) WITH (type='file', path='in.jsonl', format='json');\n\
             CREATE TABLE dim({dim}, PERIOD FOR SYSTEM_TIME) WITH (type='mysql', url='{}', userName='wasmill', \
             password='wasmill-secret', tableName='{name}'{options});\n{query}",
            db.jdbc_url()
        ),
    );
}

const ONE_BY_ONE: &[&str] = &["run", "job.sql", "--set", "job.batch-rows=1"];

fn side(run: &Run, what: &str) -> u64 {
    run.operator("LookupJoin: dim (side table)").count(what)
}

#[test]
fn b46_an_empty_side_table_pads_each_row_and_is_asked_once() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b46", "id int primary key, v varchar(20)");
    s.write("in.jsonl", "{\"id\":1}\n{\"id\":1}\n");
    let query = "CREATE TABLE o(id int, v varchar) WITH (type='console');\n\
                 INSERT INTO o SELECT a.id, b.v FROM src a LEFT JOIN dim b ON a.id = b.id;";
    job(&s, &db, "id int", "id int, v varchar, PRIMARY KEY(id)", &name, ", cache='LRU', asyncPoolSize='1'", query);
    let run = s.wasmill(ONE_BY_ONE).expect_code(0);
    assert_eq!(run.stdout, "{\"id\":1,\"v\":null}\n".repeat(2));
    assert_eq!(side(&run, "queries"), 1);
}

#[test]
fn b47_a_null_in_the_key_matches_nothing_and_is_not_asked_for() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b47", "a int, b int, c int, v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (1, NULL, 3, 'null'), (1, 2, 3, 'x')"));
    s.write("in.jsonl", "{\"a\":1,\"b\":null,\"c\":3}\n");
    for (kind, expected) in [("", ""), ("LEFT", "{\"a\":1,\"v\":null}\n")] {
        let query = format!(
            "CREATE TABLE o(a int, v varchar) WITH (type='console');\n\
             INSERT INTO o SELECT s.a, d.v FROM src s {kind} JOIN dim d ON s.a = d.a AND s.b = d.b AND s.c = d.c;"
        );
        job(&s, &db, "a int, b int, c int", "a int, b int, c int, v varchar, PRIMARY KEY(a, b, c)", &name, "", &query);
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        assert_eq!(run.stdout, expected);
        assert_eq!((side(&run, "queries"), side(&run, "read")), (0, 0));
    }
}

#[test]
fn b49_a_null_key_in_a_table_that_is_loaded_whole_matches_nothing() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b49", "id int, v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (NULL, 'null'), (1, 'x')"));
    s.write("in.jsonl", "{\"id\":1}\n{\"id\":null}\n");
    let query = "CREATE TABLE o(id int, v varchar) WITH (type='console');\n\
                 INSERT INTO o SELECT a.id, b.v FROM src a LEFT JOIN dim b ON a.id = b.id;";
    job(&s, &db, "id int", "id int, v varchar, PRIMARY KEY(id)", &name, ", cache='ALL'", query);
    let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(run.stdout, "{\"id\":1,\"v\":\"x\"}\n{\"id\":null,\"v\":null}\n");
    assert_eq!(side(&run, "read"), 2);
}

#[test]
fn b53_b54_columns_go_by_their_names_and_only_those_in_use_are_read() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b54", "id int, user_name varchar(20), age int");
    db.query(&format!("INSERT INTO {name} VALUES (1, 'n', 30)"));
    s.write("in.jsonl", "{\"id\":1}\n");
    for cache in ["ALL", "LRU", "NONE"] {
        for (columns, expected) in
            [("d.age, 'x'", r#"{"age":30,"name":"x"}"#), ("0, d.name", r#"{"age":0,"name":"n"}"#)]
        {
            let query = format!(
                "CREATE TABLE o(age int, name varchar) WITH (type='console');\n\
                 INSERT INTO o(age, name) SELECT {columns} FROM src a JOIN dim d ON a.id = d.id;"
            );
            let dim = "id int, user_name varchar AS name, age int, PRIMARY KEY(id)";
            job(&s, &db, "id int", dim, &name, &format!(", cache='{cache}'"), &query);
            assert_eq!(s.wasmill(&["run", "job.sql"]).expect_code(0).stdout.trim(), expected, "{cache}");
        }
    }
}

#[test]
fn b55_a_key_has_all_its_rows_also_from_the_cache() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b55", "dept int, user varchar(20), primary key (dept, user)");
    db.query(&format!("INSERT INTO {name} VALUES (1, 'u1'), (1, 'u2')"));
    s.write("in.jsonl", "{\"dept\":1}\n{\"dept\":1}\n");
    let query = "CREATE TABLE o(u varchar) WITH (type='console');\n\
                 INSERT INTO o SELECT d.`user` AS u FROM src a JOIN dim d ON a.dept = d.dept;";
    job(&s, &db, "dept int", "dept int, `user` varchar, PRIMARY KEY(dept)", &name, ", cache='LRU'", query);
    let run = s.wasmill(ONE_BY_ONE).expect_code(0);
    assert_eq!(run.stdout, "{\"u\":\"u1\"}\n{\"u\":\"u2\"}\n".repeat(2));
}

/// Feeds keys one after the other and looks at what comes out.
fn fed(db: &MySql, name: &str, options: &str) -> (Fed, String, Sandbox) {
    let s = Sandbox::new();
    let out = table(db, "fed", "n int, v varchar(20)");
    let query = format!(
        "CREATE TABLE o(n int, v varchar) WITH (type='mysql', url='{}', userName='wasmill', password='wasmill-secret', \
         tableName='{out}', batchSize='1');\nINSERT INTO o SELECT a.n, b.v FROM src a LEFT JOIN dim b ON a.id = b.id;",
        db.jdbc_url()
    );
    job(&s, db, "id int, n int", "id int, v varchar, PRIMARY KEY(id)", name, options, &query);
    let job = Fed::start(&s, &["run", "job.sql", "--stand-in", "src=-"]);
    (job, format!("SELECT n, v FROM {out} ORDER BY n"), s)
}

#[test]
fn b60_without_a_cache_each_row_sees_the_table_and_with_lru_until_its_time_is_over() {
    let db = MySql::shared();
    for (cache, second) in [("NONE", "2\tb"), ("LRU", "2\ta")] {
        let name = table(&db, "b60", "id int primary key, v varchar(20)");
        db.query(&format!("INSERT INTO {name} VALUES (1, 'a')"));
        let (mut job, rows, _s) = fed(&db, &name, &format!(", cache='{cache}', cacheTTLMs='3000'"));
        job.line("{\"id\":1,\"n\":1}");
        wait_for_rows(&db, &rows, &["1\ta"]);
        let cached = Instant::now();
        db.query(&format!("UPDATE {name} SET v = 'b'"));
        job.line("{\"id\":1,\"n\":2}");
        // Used all the time, and still too old in the end.
        wait_for_rows(&db, &rows, &["1\ta", second]);
        std::thread::sleep(Duration::from_millis(3200).saturating_sub(cached.elapsed()));
        job.line("{\"id\":1,\"n\":3}");
        wait_for_rows(&db, &rows, &["1\ta", second, "3\tb"]);
        job.end().expect_code(0);
    }
}

#[test]
fn b61_that_a_key_has_no_row_is_remembered_unless_told_otherwise() {
    let db = MySql::shared();
    for (missing, second) in [("true", "2\tNULL"), ("false", "2\tx")] {
        let name = table(&db, "b61", "id int primary key, v varchar(20)");
        let (mut job, rows, _s) = fed(&db, &name, &format!(", cache='LRU', cacheMissing='{missing}'"));
        job.line("{\"id\":9,\"n\":1}");
        wait_for_rows(&db, &rows, &["1\tNULL"]);
        db.query(&format!("INSERT INTO {name} VALUES (9, 'x')"));
        job.line("{\"id\":9,\"n\":2}");
        wait_for_rows(&db, &rows, &["1\tNULL", second]);
        job.end().expect_code(0);
    }
}

#[test]
fn b68_three_and_four_equalities_and_a_part_of_the_declared_key() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b68", "a int, b int, c varchar(9), d int, v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (1, 2, '3', 4, 'x'), (1, 2, '3', 5, 'y'), (1, 9, '3', 4, 'z')"));
    s.write("in.jsonl", "{\"a\":1,\"b\":2,\"c\":\"3\",\"d\":4}\n");
    for (on, expected) in [
        ("a.a = b.a AND a.b = b.b AND a.c = b.c", vec!["x", "y"]),
        ("a.a = b.a AND a.b = b.b AND a.c = b.c AND a.d = b.d", vec!["x"]),
        ("a.a = b.a AND a.d = b.d", vec!["x", "z"]),
    ] {
        let query = format!(
            "CREATE TABLE o(v varchar) WITH (type='console');\nINSERT INTO o SELECT b.v FROM src a JOIN dim b ON {on};"
        );
        let dim = "a int, b int, c varchar, d int, v varchar, PRIMARY KEY(a, b, c, d)";
        job(&s, &db, "a int, b int, c varchar, d int", dim, &name, ", cache='LRU'", &query);
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        let expected: Vec<String> = expected.iter().map(|v| format!("{{\"v\":\"{v}\"}}")).collect();
        assert_eq!(sorted_lines(&run.stdout), expected, "{on}");
        // Several rows for a key are right, but not what the declaration says.
        assert_eq!(run.stderr.contains("W0406"), !on.contains("a.d = b.d") || !on.contains("a.b"), "{}", run.stderr);
    }
}

#[test]
fn b71_keys_of_another_type_match_by_value_in_a_database_too() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b71", "id int primary key, v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (5, 'a')"));
    s.write("in.jsonl", "{\"k\":\"5\"}\n{\"k\":\"x\"}\n{\"k\":\"3000000000\"}\n");
    for (cache, on) in [("NONE", "a.k = b.id"), ("LRU", "CAST(a.k AS BIGINT) = b.id"), ("ALL", "a.k = b.id")] {
        let query = format!(
            "CREATE TABLE o(k varchar, v varchar) WITH (type='console');\n\
             INSERT INTO o SELECT a.k, b.v FROM src a LEFT JOIN dim b ON {on};"
        );
        let options = format!(", cache='{cache}'");
        job(&s, &db, "k varchar", "id int, v varchar, PRIMARY KEY(id)", &name, &options, &query);
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        let expected = "{\"k\":\"5\",\"v\":\"a\"}\n{\"k\":\"x\",\"v\":null}\n{\"k\":\"3000000000\",\"v\":null}\n";
        assert_eq!(run.stdout, expected, "{cache}");
    }
}

#[test]
fn b64_b74_joins_with_one_table_keep_their_conditions_apart() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let name = table(&db, "b74", "id int, kind varchar(2), v varchar(20)");
    db.query(&format!("INSERT INTO {name} VALUES (1, 'A', 'x'), (1, 'B', 'y')"));
    s.write("in.jsonl", "{\"id\":1}\n");
    for cache in ["LRU", "ALL", "NONE"] {
        let query = "CREATE TABLE o(id int, v varchar, w varchar) WITH (type='console');\n\
             INSERT INTO o SELECT a.id, d.v, 'first' AS w FROM src a JOIN dim d ON a.id = d.id WHERE d.kind = 'A';\n\
             INSERT INTO o SELECT a.id, d.v, 'second' AS w FROM src a JOIN dim d ON a.id = d.id WHERE d.kind = 'B';\n\
             INSERT INTO o SELECT a.id, s1.v, s2.v AS w FROM src a JOIN dim s1 ON a.id = s1.id AND s1.kind = 'A' \
             JOIN dim s2 ON a.id = s2.id AND s2.kind = 'B';";
        let options = format!(", cache='{cache}'");
        job(&s, &db, "id int", "id int, kind varchar, v varchar, PRIMARY KEY(id)", &name, &options, query);
        let run = s.wasmill(&["run", "job.sql"]).expect_code(0);
        let expected =
            [r#"{"id":1,"v":"x","w":"first"}"#, r#"{"id":1,"v":"x","w":"y"}"#, r#"{"id":1,"v":"y","w":"second"}"#];
        assert_eq!(sorted_lines(&run.stdout), expected, "{cache}");
    }
}

/// A view whose rows take their time, by key.
fn slow(db: &MySql, seconds: &str) -> String {
    let name = table(db, "slow", "id int primary key, v varchar(20)");
    let values: Vec<String> = (0..40).map(|i| format!("({i}, 'v{i}')")).collect();
    db.query(&format!("INSERT INTO {name} VALUES {}", values.join(", ")));
    let view = unique("view");
    db.query(&format!("CREATE VIEW {view} AS SELECT id, v FROM {name} WHERE SLEEP({seconds}) = 0"));
    view
}

const QUERY: &str = "CREATE TABLE o(id int, v varchar) WITH (type='console');\n\
                     INSERT INTO o SELECT a.id, b.v FROM src a LEFT JOIN dim b ON a.id = b.id;";

fn numbers(to: u32) -> String {
    (0..to).map(|i| format!("{{\"id\":{i}}}\n")).collect()
}

fn joined(ids: impl IntoIterator<Item = u32>) -> Vec<String> {
    ids.into_iter().map(|i| format!("{{\"id\":{i},\"v\":\"v{i}\"}}")).collect()
}

#[test]
fn the_look_ups_of_later_batches_do_not_wait_for_those_of_earlier_ones() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let view = slow(&db, "0.05");
    s.write("in.jsonl", numbers(40));
    let took = |pool: u32| {
        let options = format!(", asyncPoolSize='{pool}'");
        job(&s, &db, "id int", "id int, v varchar, PRIMARY KEY(id)", &view, &options, QUERY);
        let started = Instant::now();
        let run = s.wasmill(ONE_BY_ONE).expect_code(0);
        assert_eq!(run.stdout.lines().collect::<Vec<_>>(), joined(0..40), "in the order of the input");
        run.expect_balanced();
        started.elapsed()
    };
    let one_by_one = took(1);
    assert!(one_by_one >= Duration::from_secs(2), "{one_by_one:?}");
    let beside_each_other = took(10);
    assert!(beside_each_other < one_by_one * 3 / 4, "{beside_each_other:?} and {one_by_one:?}");
}

#[test]
fn unordered_rows_leave_as_their_answers_come_and_none_is_lost_at_barriers() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let view = slow(&db, "IF(id = 3, 0.7, 0.01)");
    s.write("in.jsonl", numbers(20));
    for (mode, first_last) in [("ordered", 19), ("unordered", 3)] {
        let options = format!(", asyncPoolSize='4', cacheMode='{mode}'");
        job(&s, &db, "id int", "id int, v varchar, PRIMARY KEY(id)", &view, &options, QUERY);
        let run = s.wasmill(ONE_BY_ONE).expect_code(0);
        assert_eq!(
            sorted_lines(&run.stdout),
            {
                let mut all = joined(0..20);
                all.sort();
                all
            },
            "{mode}"
        );
        assert_eq!(run.stdout.lines().last(), joined([first_last]).first().map(String::as_str), "{mode}");
        // Barriers come all the time: what is in flight goes before them.
        let checkpoints = ["run", "job.sql", "--set", "job.batch-rows=1", "--checkpoint-dir"];
        let dir = unique("ck");
        let run = s.wasmill(&[&checkpoints[..], &[&dir, "--checkpoint-interval", "30ms"]].concat()).expect_code(0);
        assert_eq!(
            sorted_lines(&run.stdout),
            {
                let mut all = joined(0..20);
                all.sort();
                all
            },
            "{mode}"
        );
    }
}

#[test]
fn a_row_without_an_answer_in_time_is_refused_by_itself() {
    let (s, db) = (Sandbox::new(), MySql::shared());
    let view = slow(&db, "IF(id = 3, 5, 0)");
    s.write("in.jsonl", numbers(6));
    let options = ", asyncTimeout='400', connectRetryMaxNum='0'";
    job(&s, &db, "id int", "id int, v varchar, PRIMARY KEY(id)", &view, options, QUERY);
    let run = s.wasmill(&[ONE_BY_ONE, &["--dead-letters", "dead.jsonl"]].concat()).expect_code(0);
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), joined([0, 1, 2, 4, 5]));
    let dead = s.read("dead.jsonl");
    assert!(dead.contains(r#""reason":"lookup""#) && dead.contains("no answer within 400 ms"), "{dead}");
    run.expect_balanced();
    job(
        &s,
        &db,
        "id int",
        "id int, v varchar, PRIMARY KEY(id)",
        &view,
        &format!("{options}, asyncFailMaxNum='0'"),
        QUERY,
    );
    s.wasmill(ONE_BY_ONE).expect_code(3).expect_stderr("more than 0 look-ups got no answer in time");
}
