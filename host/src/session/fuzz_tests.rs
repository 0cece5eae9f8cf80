//! Job files with mistakes of every kind, through everything that happens before a job runs: no panic, no stack
//! overflow, no unbounded memory or time, and every message points into the text. The files are those of the repository
//! with random changes. `WASMILL_FUZZ_SECONDS` says how long (10); a failure names its seed, `WASMILL_FUZZ_SEED` begins
//! there.

use super::{JobRequest, compile};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// As the binary's main thread.
const STACK_BYTES: usize = 256 << 20;
/// One file takes a few milliseconds.
const CASE_MAX: Duration = Duration::from_secs(20);
const TEXT_MAX: usize = 64 << 10;

/// splitmix64
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const PIECES: &[&str] = &[
    "'",
    "\"",
    "`",
    "(",
    ")",
    "((((((((",
    "))))",
    ",",
    ";",
    "；",
    "，",
    "（",
    "--",
    "/*",
    "*/",
    "#",
    "//",
    "\\",
    "\\'",
    "=",
    "==",
    ".",
    "..",
    "[",
    "]",
    "[0]",
    "<",
    ">",
    ">>",
    "@",
    ":",
    "::",
    "=>",
    "||",
    "-",
    "+ 1",
    "\n",
    "\t",
    "\u{feff}",
    "é",
    "表",
    "\u{0}",
    "🙂",
    "NULL",
    "NOT NULL",
    "PRIMARY KEY(a)",
    "NOT ENFORCED",
    "PERIOD FOR SYSTEM_TIME",
    "WATERMARK FOR a AS a",
    "AS",
    "SELECT",
    "FROM",
    "WHERE",
    "CREATE TABLE",
    "CREATE VIEW",
    "INSERT INTO",
    "LIKE",
    "LIKE t (EXCLUDING ALL)",
    "WITH (",
    "TYPE='kafka'",
    "END",
    "BEGIN STATEMENT SET;",
    "EXPLAIN",
    "DROP TABLE t",
    "ALTER TABLE t RENAME TO",
    "USE CATALOG x",
    "RESET",
    "SET",
    "LEFT JOIN",
    "FOR SYSTEM_TIME AS OF PROCTIME()",
    "UNION ALL",
    "CASE WHEN",
    "BETWEEN SYMMETRIC",
    "IS NOT JSON",
    "CAST(a AS",
    "ROW<a INT>",
    "ARRAY<",
    "MAP<STRING, INT>",
    "DECIMAL(99,9)",
    "VARCHAR(0)",
    "INTERVAL '1' DAY",
    "99999999999999999999999",
    "1e400",
    "0x1F",
    "TABLE(TUMBLE(TABLE t, DESCRIPTOR(a), 1))",
    "LATERAL TABLE(f(a))",
    "UNNEST(a)",
    "ROWTIME",
    "PROCTIME",
    "*",
    "t.*",
    "a.b.c.d",
];

/// A random change of the text.
fn mutate(text: &mut Vec<char>, corpus: &[Vec<char>], random: &mut Random) {
    let at = random.below(text.len() + 1);
    let end = (at + random.below(40)).min(text.len());
    match random.below(9) {
        0 => drop(text.drain(at..end)),
        1 => {
            let copy: Vec<char> = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copy);
        }
        2 => {
            let other = random.of(corpus);
            let from = random.below(other.len() + 1);
            let part = other[from..(from + random.below(300)).min(other.len())].to_vec();
            text.splice(at..at, part);
        }
        3 => text.truncate(at),
        4 if !text.is_empty() => {
            let (a, b) = (random.below(text.len()), random.below(text.len()));
            text.swap(a, b);
        }
        // Much of the same, often enough for limits on depth and length.
        5 if random.below(20) == 0 => {
            let piece = *random.of(PIECES);
            let times = 1 + random.below(3000);
            let many = piece.repeat(times).chars().take(TEXT_MAX / 4).collect::<Vec<_>>();
            text.splice(at..at, many);
        }
        _ => {
            let piece = random.of(PIECES).chars();
            let blank = random.below(2) == 0;
            let piece: Vec<char> = blank.then_some(' ').into_iter().chain(piece).chain(blank.then_some(' ')).collect();
            text.splice(at..end.min(at + random.below(4)), piece);
        }
    }
    text.truncate(TEXT_MAX);
}

fn sql_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("folder").map(|e| e.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sql_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "sql") {
            files.push(path);
        }
    }
}

fn corpus() -> Vec<Vec<char>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["tests", "jobs"] {
        sql_files(&root.join(folder), &mut files);
    }
    assert!(files.len() >= 100, "only {} files", files.len());
    files.iter().map(|f| std::fs::read_to_string(f).expect("text").chars().collect()).collect()
}

/// Compiles the text; a message says what is wrong with that.
fn check(text: &str, folder: &Path) -> Result<(), String> {
    let job = folder.join("job.sql");
    std::fs::write(&job, text).map_err(|e| e.to_string())?;
    let request = JobRequest { job, ..JobRequest::default() };
    let begun = Instant::now();
    let compiled = std::panic::catch_unwind(|| compile(&request));
    let compiled = compiled.map_err(|_| "panic".to_string())?.map_err(|e| format!("no job: {}", e.message))?;
    let lines = text.lines().count() as u32 + 1;
    for d in &compiled.diagnostics {
        if let Some(span) = d.span
            && (span.start.line == 0 || span.start.line > lines || span.start > span.end)
        {
            return Err(format!("a message without a place in the text: {d:?}"));
        }
        compiled.file.render(d);
    }
    compiled.describe();
    match begun.elapsed() {
        took if took > CASE_MAX => Err(format!("took {took:?}")),
        _ => Ok(()),
    }
}

/// The most memory that this process has had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn fuzz() {
    let corpus = corpus();
    let folder = tempfile::tempdir().expect("a folder");
    let limit = Duration::from_secs(number("WASMILL_FUZZ_SECONDS").unwrap_or(10));
    let (begun, memory) = (Instant::now(), peak_memory());
    let mut seed = number("WASMILL_FUZZ_SEED").unwrap_or(0);
    while begun.elapsed() < limit {
        let mut random = Random(seed);
        let mut text = random.of(&corpus).clone();
        for _ in 0..=random.below(6) {
            mutate(&mut text, &corpus, &mut random);
        }
        let text: String = text.into_iter().collect();
        if let Err(why) = check(&text, folder.path()) {
            panic!("seed {seed}: {why}\n{text}");
        }
        seed += 1;
    }
    let grown = peak_memory().saturating_sub(memory) >> 10;
    assert!(grown < 1024, "{grown} MiB for texts of at most {TEXT_MAX} characters");
}

#[test]
fn any_text_is_compiled_or_refused() {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(fuzz).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
