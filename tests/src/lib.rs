//! Helpers of the tests that drive the `wasmill` binary.

pub mod services;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer is a hang.
const RUN_MAX: Duration = Duration::from_secs(120);

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests package is in the root folder").to_path_buf()
}

/// The binary under test. It is built by the recipes before the tests; a missing one fails every test.
pub fn wasmill() -> PathBuf {
    let path =
        std::env::var_os("WASMILL_BIN").map(PathBuf::from).unwrap_or_else(|| root().join("target/release/wasmill"));
    assert!(path.exists(), "{} is missing: run `./dev build` first", path.display());
    path
}

/// A plugin of `plugins/`, built by `./dev plugins`.
pub fn plugin(name: &str) -> PathBuf {
    let path = root().join("plugins/built").join(name);
    assert!(path.exists(), "{} is missing: run `./dev plugins` first", path.display());
    path
}

/// What a finished run gave.
#[derive(Debug, Clone)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A folder for one test, with its files.
pub struct Sandbox {
    pub dir: tempfile::TempDir,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("folder of a test file");
        }
        std::fs::write(&path, content).expect("a test file");
        path
    }
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
    /// Lines of a file of JSON objects.
    pub fn json_lines(&self, name: &str) -> Vec<serde_json::Value> {
        json_lines(&self.read(name))
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(wasmill());
        c.args(args).current_dir(self.dir.path()).env("WASMILL_CACHE", cache_dir()).env("TZ", "UTC");
        c
    }
    /// Runs `wasmill ARGS` in the folder, with no standard input.
    pub fn wasmill(&self, args: &[&str]) -> Run {
        self.wasmill_with_input(args, b"")
    }
    pub fn wasmill_with_input(&self, args: &[&str], input: &[u8]) -> Run {
        use std::io::Write;
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wasmill starts");
        let mut stdin = child.stdin.take().expect("piped");
        let input = input.to_vec();
        let feed = std::thread::spawn(move || {
            // A job that ended early has closed its input.
            let _ = stdin.write_all(&input);
        });
        let run = finish(child, args);
        let _ = feed.join();
        run
    }
}

/// Waits for the child, not for ever.
pub fn finish(mut child: std::process::Child, args: &[&str]) -> Run {
    let deadline = Instant::now() + RUN_MAX;
    let out = read_all(child.stdout.take().expect("piped"));
    let err = read_all(child.stderr.take().expect("piped"));
    let status = loop {
        match child.try_wait().expect("wait") {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                panic!("wasmill {args:?} did not end within {RUN_MAX:?}");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Run {
        code: status.code().unwrap_or(-1),
        stdout: text(out.join().unwrap_or_default()),
        stderr: text(err.join().unwrap_or_default()),
    }
}

fn read_all(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Compiled plugins are shared by all tests of a run: that is what the cache is for.
fn cache_dir() -> PathBuf {
    root().join("target/test-cache")
}

pub fn json_lines(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
}

impl Run {
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Run {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
    #[track_caller]
    pub fn expect_stderr(self, part: &str) -> Run {
        assert!(self.stderr.contains(part), "stderr lacks {part:?}:\n{}", self.stderr);
        self
    }
}

/// One operator's line of the summary: its counts by name (`read`, `written`, `dead`, ..).
#[derive(Debug, Clone)]
pub struct OperatorLine {
    pub name: String,
    counts: Vec<(String, u64)>,
}

impl OperatorLine {
    /// 0 for a count that the line does not show.
    pub fn count(&self, what: &str) -> u64 {
        // `3 decoded into 2 rows` is a count of `decoded`.
        self.counts.iter().find(|(w, _)| w.split(" into ").next() == Some(what)).map_or(0, |(_, n)| *n)
    }
}

impl Run {
    /// The lines of operators in the summary on stderr.
    pub fn operators(&self) -> Vec<OperatorLine> {
        self.stderr.lines().filter_map(operator_line).collect()
    }
    #[track_caller]
    pub fn operator(&self, name: &str) -> OperatorLine {
        let found = self.operators().into_iter().find(|o| o.name == name);
        found.unwrap_or_else(|| panic!("no operator {name} in the summary:\n{}", self.stderr))
    }
    /// The promise of the summary: per source read = decoded + dead + skipped, per sink received = written + dead +
    /// skipped, and every other operator's rows out are its rows in less what it counts as dropped (a join may also
    /// multiply them).
    #[track_caller]
    pub fn expect_balanced(&self) -> &Run {
        let operators = self.operators();
        assert!(!operators.is_empty(), "no summary:\n{}", self.stderr);
        for o in operators {
            let gone = o.count("dead") + o.count("skipped");
            let (came, went) = if o.name.starts_with("Sink") {
                (o.count("received"), o.count("written"))
            } else if o.name.starts_with("Source") || o.name.ends_with("(side table)") {
                (o.count("read"), o.count("decoded"))
            } else if o.name.starts_with("Calc") {
                (o.count("in"), o.count("out") + o.count("filtered"))
            } else {
                continue;
            };
            assert_eq!(came, went + gone, "{} does not add up:\n{}", o.name, self.stderr);
        }
        self
    }
}

/// `  Source: src  5 read, 3 decoded, 2 dead`
fn operator_line(line: &str) -> Option<OperatorLine> {
    let (name, counts) = line.strip_prefix("  ")?.split_once("  ")?;
    let counts = counts.trim().split(", ").map(|c| {
        let (n, what) = c.split_once(' ')?;
        Some((what.to_string(), n.parse().ok()?))
    });
    Some(OperatorLine { name: name.trim().to_string(), counts: counts.collect::<Option<_>>()? })
}

/// The lines, sorted: results of jobs whose order is not promised.
pub fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    lines.sort_unstable();
    lines
}

/// Answers of a query on an SQLite file, one line a row, columns as Python shows them: another reader than ours.
pub fn sqlite_query(path: &Path, query: &str) -> String {
    let script = "import sqlite3,sys\nfor r in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*map(repr, r))";
    let out = Command::new("python3").arg("-c").arg(script).arg(path).arg(query).output().expect("python3");
    assert!(out.status.success(), "{query}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// `raw` of a dead letter.
pub fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<usize> =
        text.bytes().filter(|b| *b != b'=').map(|b| DIGITS.iter().position(|d| *d == b).expect("base64")).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().enumerate().fold(0, |bits, (i, d)| bits | d << (18 - 6 * i));
        bytes.extend((0..group.len() - 1).map(|i| (bits >> (16 - 8 * i)) as u8));
    }
    bytes
}
