//! Helpers of the tests that drive the `wasmill` binary.

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
