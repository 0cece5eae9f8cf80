use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use kudu_rs::{Client, ColumnSchema, DataType, Row, Schema, Table, Value};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the start scripts say of their service. A test whose server is not there fails.
pub fn service(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `./dev tests`, or `./dev services up` and `set -a; eval \"$(./dev services env)\"`"
        )
    })
}

pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("clock").as_micros();
    format!("{prefix}_{}_{}_{}", std::process::id(), time % 1_000_000_000, NEXT.fetch_add(1, Ordering::SeqCst))
}

pub async fn client() -> Client {
    Client::builder().masters([service("WASMILL_KUDU")]).user("tester").build().await.expect("the shared cluster")
}

/// Kudu's own tool, against the shared cluster: `table describe`, ..
#[track_caller]
pub fn tool(group: &str, command: &str, args: &[&str]) -> String {
    run_tool(Path::new(&service("WASMILL_KUDU_TOOL")), &service("WASMILL_KUDU"), group, command, args)
}

#[track_caller]
fn run_tool(tool: &Path, master: &str, group: &str, command: &str, args: &[&str]) -> String {
    let out = Command::new(tool).args([group, command, master]).args(args).output().expect("the kudu tool");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    assert!(out.status.success(), "{group} {command} {args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/services")
}

/// A cluster of one test alone.
pub struct Cluster {
    dir: tempfile::TempDir,
}

impl Cluster {
    /// With settings of `kudu.sh` (`KUDU_TSERVERS`, `KUDU_FLAGS`, ..).
    #[track_caller]
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let cluster = Self { dir: tempfile::tempdir().expect("a folder") };
        cluster.script(&["start"], settings);
        cluster
    }
    #[track_caller]
    fn script(&self, args: &[&str], settings: &[(&str, &str)]) {
        let mut command = Command::new(scripts().join("kudu.sh"));
        let out = command.arg(self.dir.path()).args(args).envs(settings.iter().copied()).output().expect("kudu.sh");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
    pub fn master(&self) -> String {
        let env = std::fs::read_to_string(self.dir.path().join("env")).expect("env");
        env.lines().find_map(|l| l.strip_prefix("WASMILL_KUDU=")).expect("an address").to_string()
    }
    #[track_caller]
    pub fn kill_tserver(&self, n: usize) {
        self.script(&["kill-tserver", &n.to_string()], &[]);
    }
    #[track_caller]
    pub fn restart_tserver(&self, n: usize, settings: &[(&str, &str)]) {
        self.script(&["restart-tserver", &n.to_string()], settings);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(scripts().join("kudu.sh")).arg(self.dir.path()).arg("kill").output();
    }
}

/// `k INT32` the key, `v INT64` nullable, `s STRING` nullable.
pub fn schema() -> Schema {
    Schema::new([
        ColumnSchema::new("k", DataType::Int32).key(),
        ColumnSchema::new("v", DataType::Int64).nullable(),
        ColumnSchema::new("s", DataType::String).nullable(),
    ])
    .expect("a schema")
}

/// A table of `schema()` with four hash buckets.
pub async fn table(client: &Client, prefix: &str, replicas: i32) -> Table {
    let creator = client.create_table(unique(prefix), &schema()).hash_partitions(["k"], 4).replicas(replicas);
    creator.create().await.expect("the table")
}

pub fn row(table: &Table, k: i32, v: impl Into<Value>) -> Row {
    table.row().with("k", k).and_then(|r| r.with("v", v)).expect("a row")
}

/// Writes rows k -> v, all of which must succeed.
pub async fn fill(table: &Table, rows: impl IntoIterator<Item = (i32, i64)>) {
    let session = table.client().new_session();
    for (k, v) in rows {
        session.apply(table.upsert(row(table, k, v))).await.expect("taken");
    }
    let done = session.flush().await;
    assert!(done.errors.is_empty(), "{:?}", done.errors.first());
}

pub fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

pub fn ints(batches: &[RecordBatch], column: &str) -> Vec<i32> {
    let of = |b: &RecordBatch| b.column_by_name(column).expect("column").as_primitive::<Int32Type>().values().to_vec();
    batches.iter().flat_map(of).collect()
}

/// Rows (k, v) in the order of k.
pub fn pairs(batches: &[RecordBatch]) -> Vec<(i32, Option<i64>)> {
    let mut all = Vec::new();
    for b in batches {
        let k = b.column_by_name("k").expect("k").as_primitive::<Int32Type>();
        let v = b.column_by_name("v").expect("v").as_primitive::<Int64Type>();
        all.extend((0..b.num_rows()).map(|i| (k.value(i), v.is_valid(i).then(|| v.value(i)))));
    }
    all.sort_unstable();
    all
}
