//! Sources that go on: folders that get new files, files that grow and are rotated, sockets; and parts of a sink that
//! are cut by their size.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use wasmill_tests::services::wait_until;
use wasmill_tests::{Sandbox, sorted_lines};

fn start(s: &Sandbox, more: &[&str]) -> Child {
    let mut args = vec!["run", "job.sql", "--quiet", "--checkpoint-dir", "chk", "--checkpoint-interval", "200ms"];
    args.extend(more);
    let log = std::fs::OpenOptions::new().create(true).append(true).open(s.path("log")).expect("log");
    s.command(&args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("wasmill starts")
}

fn end(mut child: Child, s: &Sandbox) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(child.wait().expect("wait").success(), "{}", s.read("log"));
}

/// The visible rows of the sink's folder, sorted.
fn rows(s: &Sandbox) -> Vec<String> {
    let mut all = String::new();
    for entry in std::fs::read_dir(s.path("out")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("part-") {
            all += &std::fs::read_to_string(entry.path()).expect("a part");
        }
    }
    sorted_lines(&all)
}

#[track_caller]
fn wait_for(s: &Sandbox, child: &mut Child, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|n| format!("{{\"n\":{n}}}")).collect();
    expected.sort();
    let reached = wait_until(Duration::from_secs(20), || {
        let ended = child.try_wait().expect("wait");
        assert!(ended.is_none(), "{ended:?}\n{}", s.read("log"));
        (rows(s) == expected).then_some(())
    });
    assert!(reached.is_some(), "{:?} instead of {expected:?}\n{}", rows(s), s.read("log"));
}

fn job(s: &Sandbox, source: &str) {
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src (n INT) WITH ({source});\n\
             CREATE TABLE dst (n INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json');\n\
             INSERT INTO dst SELECT n FROM src;"
        ),
    );
}

fn append(s: &Sandbox, name: &str, text: &str) {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(s.path(name)).expect("file");
    file.write_all(text.as_bytes()).expect("written");
}

#[test]
fn new_files_of_a_folder_are_read_once_each_also_over_a_kill() {
    let s = Sandbox::new();
    job(&s, "'connector' = 'filesystem', 'path' = 'in', 'format' = 'json', 'source.monitor-interval' = '100 ms'");
    // There may be no folder yet.
    let mut child = start(&s, &[]);
    s.write("in/a.jsonl", "{\"n\":1}\n{\"n\":2}\n");
    wait_for(&s, &mut child, &["1", "2"]);
    s.write("in/b.jsonl", "{\"n\":3}\n");
    wait_for(&s, &mut child, &["1", "2", "3"]);
    child.kill().expect("SIGKILL");
    child.wait().expect("wait");
    s.write("in/c.jsonl", "{\"n\":4}\n");
    let mut child = start(&s, &["--from-checkpoint"]);
    wait_for(&s, &mut child, &["1", "2", "3", "4"]);
    end(child, &s);
}

#[test]
fn a_growing_file_is_followed_over_rotations_cuts_and_kills() {
    let s = Sandbox::new();
    job(&s, "'connector' = 'filesystem', 'path' = 'app.log', 'format' = 'json', 'source.follow' = 'true'");
    append(&s, "app.log", "{\"n\":1}\n{\"n\":");
    let mut child = start(&s, &[]);
    wait_for(&s, &mut child, &["1"]);
    // The rest of a line that was half there.
    append(&s, "app.log", "2}\n");
    wait_for(&s, &mut child, &["1", "2"]);
    // Renamed, still written, then another one in its place.
    std::fs::rename(s.path("app.log"), s.path("app.log.1")).expect("rename");
    append(&s, "app.log.1", "{\"n\":3}\n");
    wait_for(&s, &mut child, &["1", "2", "3"]);
    append(&s, "app.log", "{\"n\":4}\n");
    wait_for(&s, &mut child, &["1", "2", "3", "4"]);
    // Cut (copytruncate): shorter than what was read.
    append(&s, "app.log", "{\"n\":5}\n");
    wait_for(&s, &mut child, &["1", "2", "3", "4", "5"]);
    std::fs::File::create(s.path("app.log")).expect("cut");
    std::thread::sleep(Duration::from_millis(300));
    append(&s, "app.log", "{\"n\":6}\n");
    wait_for(&s, &mut child, &["1", "2", "3", "4", "5", "6"]);
    child.kill().expect("SIGKILL");
    child.wait().expect("wait");
    // Rotated while the job was down: the rest of the old file, then the new one.
    append(&s, "app.log", "{\"n\":7}\n");
    std::fs::rename(s.path("app.log"), s.path("app.log.2")).expect("rename");
    append(&s, "app.log", "{\"n\":8}\n");
    let mut child = start(&s, &["--from-checkpoint"]);
    wait_for(&s, &mut child, &["1", "2", "3", "4", "5", "6", "7", "8"]);
    append(&s, "app.log", "{\"n\":9}\n");
    wait_for(&s, &mut child, &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    end(child, &s);
}

#[test]
fn several_files_are_followed_at_once_and_a_packed_one_is_refused() {
    let s = Sandbox::new();
    job(&s, "'connector' = 'filesystem', 'path' = 'logs/*.log', 'format' = 'json', 'source.follow' = 'true'");
    s.write("logs/a.log", "{\"n\":1}\n");
    s.write("logs/b.log", "{\"n\":10}\n");
    let mut child = start(&s, &["--set", "parallelism.default=2"]);
    wait_for(&s, &mut child, &["1", "10"]);
    append(&s, "logs/a.log", "{\"n\":2}\n");
    append(&s, "logs/b.log", "{\"n\":11}\n");
    append(&s, "logs/c.log", "{\"n\":20}\n");
    wait_for(&s, &mut child, &["1", "2", "10", "11", "20"]);
    end(child, &s);
    let s = Sandbox::new();
    job(&s, "'connector' = 'filesystem', 'path' = 'a.gz', 'format' = 'json', 'source.follow' = 'true'");
    s.write("a.gz", "");
    s.wasmill(&["run", "job.sql"]).expect_code(2).expect_stderr("cannot be followed");
}

#[test]
fn a_part_that_is_large_enough_is_followed_by_the_next_one() {
    let s = Sandbox::new();
    let lines: String = (0..10_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    s.write("in.jsonl", &lines);
    s.write(
        "job.sql",
        "CREATE TABLE src (n INT) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n\
         CREATE TABLE dst (n INT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json', \
         'sink.rolling-policy.file-size' = '20 kb');\n\
         INSERT INTO dst SELECT n FROM src;",
    );
    s.wasmill(&["run", "job.sql", "--set", "job.batch-rows=500"]).expect_code(0).expect_balanced();
    let mut sizes = vec![];
    for entry in std::fs::read_dir(s.path("out")).expect("out").flatten() {
        sizes.push(entry.metadata().expect("a part").len());
    }
    assert!(sizes.len() >= 4 && sizes.iter().all(|s| *s < 40_000), "{sizes:?}");
    assert_eq!(rows(&s), sorted_lines(&lines));
}

#[test]
fn zstd_is_read_through_like_gzip_and_a_broken_file_is_told() {
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"n\":1}\n{\"n\":2}\n");
    assert!(Command::new("zstd").args(["-q", "-f"]).arg(s.path("in.jsonl")).status().expect("zstd").success());
    job(&s, "'connector' = 'filesystem', 'path' = 'in.jsonl.zst', 'format' = 'json'");
    s.wasmill(&["run", "job.sql"]).expect_code(0);
    assert_eq!(rows(&s), ["{\"n\":1}", "{\"n\":2}"]);
    s.write("in.jsonl.zst", "no zstd");
    s.wasmill(&["run", "job.sql"]).expect_code(3).expect_stderr("not readable zstd data");
}

#[test]
fn standard_input_is_a_table() {
    let s = Sandbox::new();
    s.write(
        "job.sql",
        "CREATE TABLE src (n INT) WITH ('connector' = 'stdin', 'format' = 'json');\n\
         CREATE TABLE dst (n INT) WITH ('connector' = 'stdout', 'format' = 'csv');\n\
         INSERT INTO dst SELECT n + 1 FROM src;",
    );
    let run = s.wasmill_with_input(&["run", "job.sql"], b"{\"n\":1}\n{\"n\":2}");
    assert_eq!(run.expect_code(0).stdout, "2\n3\n");
    s.write("job.sql", s.read("job.sql") + "\nCREATE TABLE two (n INT) WITH ('connector' = 'stdin', 'format' = 'json');\nINSERT INTO dst SELECT n FROM two;");
    s.wasmill_with_input(&["run", "job.sql"], b"").expect_code(2).expect_stderr("standard input can be read once");
}

#[test]
fn a_socket_gives_records_and_is_connected_again_as_often_as_said() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let s = Sandbox::new();
    s.write(
        "job.sql",
        format!(
            "CREATE TABLE src(n int)WITH(type='serversocket', host='127.0.0.1', port='{port}', delimiter='|', maxNumRetries='1');\n\
             CREATE TABLE dst(n int)WITH(type='console');\n\
             INSERT INTO dst SELECT n FROM src;"
        ),
    );
    let serve = std::thread::spawn(move || {
        for text in ["{\"n\":1}|{\"n\":", "{\"n\":3}|no json|{\"n\":4}"] {
            let (mut connection, _) = server.accept().expect("a client");
            connection.write_all(text.as_bytes()).expect("written");
            std::thread::sleep(Duration::from_millis(200));
            if text.ends_with(':') {
                connection.write_all(b"2}|").expect("written");
            }
        }
    });
    let run = s.wasmill(&["run", "job.sql", "--stand-in", "dst=-"]).expect_code(0);
    serve.join().expect("the server");
    // The second time that the connection ends is once more than it is made again: the source is at its end.
    assert_eq!(run.stdout, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    run.expect_stderr("connecting again").expect_stderr("no JSON object");
}
