use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type};
use kudu_rs::{Client, ColumnSchema, DataType, Row, Schema, Table, Value};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
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
    let mut builder = Client::builder().masters([service("WASMILL_KUDU")]).user("tester");
    // For runs by hand against old servers.
    if std::env::var("WASMILL_KUDU_ENCRYPTION").is_ok_and(|v| v == "off") {
        builder = builder.encryption(kudu_rs::EncryptionPolicy::Off);
    }
    builder.build().await.expect("the shared cluster")
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

/// A Kerberos realm of one test alone.
pub struct Kdc(tempfile::TempDir);

impl Kdc {
    #[track_caller]
    pub fn start(realm: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(scripts().join("kdc.sh"));
        let out = command.arg(dir.path()).arg("start").env("KDC_REALM", realm).output().expect("kdc.sh");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Self(dir)
    }
    pub fn dir(&self) -> String {
        self.0.path().display().to_string()
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        let _ = Command::new(scripts().join("kdc.sh")).arg(self.0.path()).arg("kill").output();
    }
}

/// Several masters: Kudu's own cluster for tests, told what to do through a pipe. It ends when the pipe is closed.
pub struct MiniCluster {
    child: Child,
    answers: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
}

impl MiniCluster {
    pub fn start(masters: usize, tservers: usize) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(service("WASMILL_KUDU_TOOL"));
        command.args(["test", "mini_cluster", "-serialization=json"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the kudu tool");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let root = dir.path().join("cluster").display().to_string();
        let mut cluster = Self { child, answers, _dir: dir };
        // rustls takes no keys of 768 bits, which are the default here.
        cluster.tell(&format!(
            r#"{{"create_cluster":{{"num_masters":{masters},"num_tservers":{tservers},"cluster_root":"{root}",
            "extra_master_flags":["--ipki_ca_key_size=2048","--ipki_server_key_size=2048","--tsk_num_rsa_bits=2048"],
            "extra_tserver_flags":["--ipki_server_key_size=2048"]}}}}"#
        ));
        cluster.tell(r#"{"start_cluster":{}}"#);
        cluster
    }
    /// A request on a line, and the answer's line.
    #[track_caller]
    pub fn tell(&mut self, request: &str) -> String {
        let line = request.split('\n').map(str::trim).collect::<String>() + "\n";
        self.child.stdin.as_mut().expect("piped").write_all(line.as_bytes()).expect("a listener");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("an answer");
        assert!(!answer.is_empty() && !answer.contains("\"error\""), "{request}: {answer}");
        answer
    }
    pub fn masters(&mut self) -> Vec<String> {
        let answer = self.tell(r#"{"get_masters":{}}"#);
        let of = |part: &str| {
            let host = part.split('"').next()?.to_string();
            let port = part.split("\"port\":").nth(1)?;
            let port: String = port.chars().take_while(char::is_ascii_digit).collect();
            Some(format!("{host}:{port}"))
        };
        answer.split("RpcAddress\":{\"host\":\"").skip(1).filter_map(of).collect()
    }
}

impl Drop for MiniCluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
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
