//! What surrounds a run is not as it should be: outputs that are inputs, a closed or full standard output, nesting
//! without end.

use std::fs::File;
use std::process::Stdio;
use wasmill_tests::Sandbox;

const JOB: &str = "CREATE TABLE src(id int)WITH('connector'='filesystem', 'path'='in.jsonl', 'format'='json');
CREATE TABLE o(id int)WITH('connector'='print');
CREATE TABLE o2(id int)WITH('connector'='print');
INSERT INTO o SELECT id FROM src;
INSERT INTO o2 SELECT -id FROM src;
";
const INPUT: &str = "{\"id\":1}\n{\"id\":2}\n";

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.write("job.sql", JOB);
    s.write("in.jsonl", INPUT);
    s
}

#[test]
fn an_output_that_is_an_input_or_another_output_is_refused_and_nothing_is_written() {
    let s = sandbox();
    std::os::unix::fs::symlink("in.jsonl", s.path("link.jsonl")).expect("link");
    for (args, part) in [
        (vec!["--stand-in", "o=in.jsonl"], "is read by table src and written by table o"),
        (vec!["--stand-in", "o=link.jsonl"], "is read by table src and written by table o"),
        (
            vec!["--stand-in", "src=in.jsonl", "--stand-in", "o2=./in.jsonl"],
            "read by table src and written by table o2",
        ),
        (
            vec!["--stand-in", "o=x.jsonl", "--stand-in", "o2=./x.jsonl"],
            "is written by table o and written by table o2",
        ),
        (vec!["--dead-letters", "in.jsonl"], "is read by table src and written by --dead-letters"),
        (vec!["--dead-letters", "job.sql"], "is the job file and written by --dead-letters"),
        (
            vec!["--stand-in", "o=x.jsonl", "--dead-letters", "x.jsonl"],
            "written by table o and written by --dead-letters",
        ),
    ] {
        let args: Vec<&str> = ["run", "job.sql"].into_iter().chain(args).collect();
        s.wasmill(&args).expect_code(2).expect_stderr(part);
        assert_eq!((s.read("in.jsonl").as_str(), s.read("job.sql").as_str()), (INPUT, JOB), "{args:?}");
        assert!(!s.path("x.jsonl").exists(), "{args:?}");
    }
    s.wasmill(&["run", "job.sql", "--stand-in", "o=-", "--stand-in", "o2=-", "--quiet"]).expect_code(0);
}

#[test]
fn check_into_a_closed_or_full_output_does_not_panic() {
    let s = sandbox();
    for command in ["check", "explain"] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let args = [command, "job.sql"];
        let child = s.command(&args).stdout(full).stderr(Stdio::piped()).spawn().expect("starts");
        let out = child.wait_with_output().expect("ends");
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(3), "{text}");
        assert!(text.contains("error: cannot write to standard output"), "{text}");

        let (reader, writer) = std::io::pipe().expect("pipe");
        drop(reader);
        let out = s.command(&args).stdout(writer).stderr(Stdio::piped()).output().expect("ends");
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

/// A job with `n` views, each over the one before, `inner` subqueries deep.
fn views(n: usize, inner: usize) -> String {
    let mut sql = JOB.replace("INSERT INTO o SELECT id FROM src", "CREATE VIEW v0 AS SELECT * FROM src");
    for i in 1..n {
        let (open, close) = ("(SELECT * FROM ".repeat(inner), ") t".repeat(inner));
        sql += &format!("CREATE VIEW v{i} AS SELECT * FROM {open}v{}{close};\n", i - 1);
    }
    sql + &format!("INSERT INTO o SELECT id FROM v{};\n", n - 1)
}

#[test]
fn views_over_views_are_planned_up_to_a_limit_and_refused_beyond_it() {
    let s = Sandbox::new();
    s.write("in.jsonl", INPUT);
    s.write("job.sql", views(64, 20));
    let run =
        s.wasmill(&["run", "job.sql", "--stand-in", "o=-", "--stand-in", "o2=o2.jsonl", "--quiet"]).expect_code(0);
    assert_eq!(run.stdout, INPUT);
    s.write("job.sql", views(2000, 0));
    s.wasmill(&["check", "job.sql"]).expect_code(2).expect_stderr("stands below 64 other views");
}
