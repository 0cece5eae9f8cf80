//! The servers that tests run against. `./dev test` starts them and says where they are in the environment; a test
//! that needs one which is not there fails.

use crate::root;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the start scripts say of their service (`WASMILL_KAFKA`, ..).
pub fn service(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: run `./dev tests`, or `./dev services up` and `set -a; eval \"$(./dev services env)\"`"
        )
    })
}

/// A name that no other test and no other run has: topics, tables, groups.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("clock").as_micros();
    format!("{prefix}_{}_{}_{}", std::process::id(), time % 1_000_000_000, NEXT.fetch_add(1, SeqCst))
}

/// Runs a client program of other hands, feeds it and gives its output; it must succeed.
#[track_caller]
pub fn client(program: &str, args: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let feed = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let out = child.wait_with_output().expect("the client ends");
    let _ = feed.join();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    assert!(out.status.success(), "{program} {args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// A Kafka broker, looked at through kcat and the broker's own Java tools.
#[derive(Clone)]
pub struct Kafka {
    pub brokers: String,
}

impl Kafka {
    /// The broker that all tests share: use topics of your own.
    pub fn shared() -> Self {
        Self { brokers: service("WASMILL_KAFKA") }
    }
    /// Makes a topic and gives its name.
    pub fn topic(&self, prefix: &str, partitions: u32) -> String {
        let name = unique(prefix);
        self.create(&name, partitions);
        name
    }
    #[track_caller]
    pub fn create(&self, topic: &str, partitions: u32) {
        let partitions = partitions.to_string();
        self.tool("TopicCommand", &["--create", "--if-not-exists", "--topic", topic, "--partitions", &partitions]);
    }
    /// A class of Kafka's own tools (`TopicCommand`, `ConsumerGroupCommand`, ..).
    #[track_caller]
    pub fn tool(&self, class: &str, args: &[&str]) -> String {
        let home = std::env::var("HOME").unwrap_or_default();
        let cache = std::env::var("WASMILL_DEV_CACHE").unwrap_or(format!("{home}/.cache/wasmill-dev"));
        let jars = format!("{cache}/kafka-4.4.0/*");
        let package = if class == "ConsumerGroupCommand" { "consumer.group." } else { "" };
        let class = format!("org.apache.kafka.tools.{package}{class}");
        let mut all = vec!["-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", &jars, &class];
        all.extend(["--bootstrap-server", &self.brokers]);
        all.extend(args);
        client("java", &all, b"")
    }
    /// Records, one a line, to a partition.
    #[track_caller]
    pub fn produce(&self, topic: &str, partition: u32, lines: &str) {
        client("kcat", &["-P", "-b", &self.brokers, "-t", topic, "-p", &partition.to_string()], lines.as_bytes());
    }
    /// As `produce`, with more of kcat's arguments (`-K:`, `-H k=v`, `-Z`).
    #[track_caller]
    pub fn produce_with(&self, topic: &str, args: &[&str], input: &[u8]) {
        let mut all = vec!["-P", "-b", &self.brokers, "-t", topic];
        all.extend(args);
        client("kcat", &all, input);
    }
    /// Every record of the topic up to its present end, in kcat's `format` (`%p %o %k %s %h %T`).
    #[track_caller]
    pub fn consume(&self, topic: &str, format: &str) -> String {
        client("kcat", &["-C", "-e", "-q", "-b", &self.brokers, "-t", topic, "-o", "beginning", "-f", format], b"")
    }
    /// The values, one a line.
    #[track_caller]
    pub fn values(&self, topic: &str) -> Vec<String> {
        self.consume(topic, "%s\n").lines().map(str::to_string).collect()
    }
    /// Waits until the topic holds at least so many records.
    #[track_caller]
    pub fn wait_for(&self, topic: &str, records: usize) -> Vec<String> {
        wait_until(Duration::from_secs(60), || {
            let values = self.values(topic);
            (values.len() >= records).then_some(values)
        })
        .unwrap_or_else(|| panic!("{topic}: {} records after a minute, not {records}", self.values(topic).len()))
    }
}

/// Asks again until there is an answer; None when the time is over.
pub fn wait_until<T>(time: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + time;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A Kudu cluster, looked at through Kudu's own tool.
#[derive(Clone)]
pub struct Kudu {
    pub master: String,
}

impl Kudu {
    /// The cluster that all tests share: use tables of your own.
    pub fn shared() -> Self {
        Self { master: service("WASMILL_KUDU") }
    }
    #[track_caller]
    pub fn tool(&self, group: &str, command: &str, args: &[&str]) -> String {
        let mut all = vec![group, command, &self.master];
        all.extend(args);
        client(&service("WASMILL_KUDU_TOOL"), &all, b"")
    }
    /// Makes a table under a name of its own. `columns`: `name TYPE[?]` each, the first `keys` of them the key; `?` is nullable.
    #[track_caller]
    pub fn table(&self, prefix: &str, columns: &[&str], keys: usize) -> String {
        let name = unique(prefix);
        self.create(&name, columns, keys);
        name
    }
    #[track_caller]
    pub fn create(&self, name: &str, columns: &[&str], keys: usize) {
        let mut described = vec![];
        let mut key = vec![];
        for (at, column) in columns.iter().enumerate() {
            let (column, data_type) = column.split_once(' ').expect("name TYPE");
            let nullable = data_type.ends_with('?');
            let data_type = data_type.trim_end_matches('?');
            let (plain, attributes) = match data_type.split_once('(') {
                None => (data_type, serde_json::Value::Null),
                Some((plain, sizes)) => {
                    let sizes: Vec<u32> =
                        sizes.trim_end_matches(')').split(',').map(|n| n.trim().parse().expect("a size")).collect();
                    let attributes = match sizes.as_slice() {
                        [length] => serde_json::json!({ "length": length }),
                        [precision, scale] => serde_json::json!({ "precision": precision, "scale": scale }),
                        _ => panic!("{data_type}"),
                    };
                    (plain, attributes)
                }
            };
            let mut c = serde_json::json!({ "column_name": column, "column_type": plain, "is_nullable": nullable });
            if !attributes.is_null() {
                c["type_attributes"] = attributes;
            }
            described.push(c);
            if at < keys {
                key.push(column);
            }
        }
        let table = serde_json::json!({
            "table_name": name,
            "schema": { "columns": described, "key_column_names": key },
            "partition": { "hash_partitions": [{ "columns": key, "num_buckets": 3 }] },
            "num_replicas": 1,
        });
        self.tool("table", "create", &[&table.to_string()]);
    }
    /// All rows, as the tool prints them (`int32 id=1, string name="a"`), sorted.
    #[track_caller]
    pub fn rows(&self, table: &str) -> Vec<String> {
        let out = self.tool("table", "scan", &[table]);
        let mut rows: Vec<String> = out
            .lines()
            .filter_map(|l| l.strip_prefix('(').and_then(|l| l.strip_suffix(')')))
            .map(str::to_string)
            .collect();
        rows.sort();
        rows
    }
}

/// A Kudu cluster of one test alone.
pub struct KuduCluster {
    dir: PathBuf,
}

impl KuduCluster {
    /// With settings of `kudu.sh` (`KUDU_TSERVERS`, `KUDU_KDC`, ..).
    #[track_caller]
    pub fn start(settings: &[(&str, &str)]) -> Self {
        let dir = std::env::temp_dir().join(unique("wasmill-kudu"));
        let script = root().join("scripts/services/kudu.sh");
        let started = Command::new(script).arg(&dir).arg("start").envs(settings.iter().copied()).output();
        let started = started.expect("kudu.sh");
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Self { dir }
    }
    pub fn master(&self) -> String {
        let env = std::fs::read_to_string(self.dir.join("env")).expect("env");
        env.lines().find_map(|l| l.strip_prefix("WASMILL_KUDU=")).expect("an address").to_string()
    }
    /// `kill-tserver N`, `restart-tserver N`.
    #[track_caller]
    pub fn tell(&self, args: &[&str]) {
        let told = Command::new(root().join("scripts/services/kudu.sh")).arg(&self.dir).args(args).output();
        let told = told.expect("kudu.sh");
        assert!(told.status.success(), "{args:?}: {}", String::from_utf8_lossy(&told.stderr));
    }
}

impl Drop for KuduCluster {
    fn drop(&mut self) {
        let _ = Command::new(root().join("scripts/services/kudu.sh")).arg(&self.dir).arg("kill").output();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A database server and its own command-line client.
#[derive(Clone)]
pub struct MySql {
    /// `127.0.0.1:3306`
    pub address: String,
}

impl MySql {
    /// The server that all tests share: use tables of your own.
    pub fn shared() -> Self {
        Self { address: service("WASMILL_MYSQL") }
    }
    /// Rows of the answer, columns separated by tabs.
    #[track_caller]
    pub fn query(&self, sql: &str) -> Vec<String> {
        let (host, port) = self.address.split_once(':').expect("host:port");
        let args =
            ["--no-defaults", "-uwasmill", "-pwasmill-secret", "-h", host, "-P", port, "-N", "-B", "test", "-e", sql];
        client("mariadb", &args, b"").lines().map(str::to_string).collect()
    }
    pub fn jdbc_url(&self) -> String {
        format!("jdbc:mysql://{}/test", self.address)
    }
}

#[derive(Clone)]
pub struct Postgres {
    pub address: String,
}

impl Postgres {
    pub fn shared() -> Self {
        Self { address: service("WASMILL_POSTGRES") }
    }
    /// Rows of the answer, columns separated by tabs.
    #[track_caller]
    pub fn query(&self, sql: &str) -> Vec<String> {
        let url = format!("postgresql://wasmill:wasmill-secret@{}/test", self.address);
        client("psql", &[&url, "-q", "-t", "-A", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", sql], b"")
            .lines()
            .map(str::to_string)
            .collect()
    }
    pub fn jdbc_url(&self) -> String {
        format!("jdbc:postgresql://{}/test", self.address)
    }
}

/// A server of this test alone, which it may stop, kill and start again on the same port with the same data.
pub struct PrivateService {
    script: PathBuf,
    dir: tempfile::TempDir,
    settings: Vec<(String, String)>,
}

impl PrivateService {
    /// `kafka`, `mariadb`.
    #[track_caller]
    pub fn start(name: &str) -> Self {
        Self::start_with(name, &[])
    }
    /// As `start`, with settings of the script's (`KAFKA_ADVERTISED`).
    #[track_caller]
    pub fn start_with(name: &str, settings: &[(&str, &str)]) -> Self {
        let script = root().join(format!("scripts/services/{name}.sh"));
        let settings = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let service = Self { script, dir: tempfile::tempdir().expect("a temporary folder"), settings };
        service.run("start");
        service
    }
    /// What the script says of it.
    #[track_caller]
    pub fn get(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.dir.path().join("env")).expect("the service's env");
        let value = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no {name} in {text}")).to_string()
    }
    pub fn stop(&self) {
        self.run("stop");
    }
    pub fn kill(&self) {
        self.run("kill");
    }
    pub fn restart(&self) {
        self.run("start");
    }
    #[track_caller]
    fn run(&self, command: &str) {
        let out = Command::new(&self.script)
            .arg(self.dir.path())
            .arg(command)
            .envs(self.settings.iter().map(|(k, v)| (k, v)))
            .output()
            .expect("the start script");
        assert!(out.status.success(), "{command}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

impl Drop for PrivateService {
    fn drop(&mut self) {
        let _ = Command::new(&self.script).arg(self.dir.path()).arg("kill").output();
    }
}

/// A TCP proxy on loopback: connections through it can be cut and refused.
pub struct Proxy {
    pub address: String,
    shared: Arc<ProxyState>,
}

struct ProxyState {
    refusing: AtomicBool,
    stopped: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Where a proxy will listen, for a server that has to be told before it starts.
    pub fn reserve() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").expect("a free port")
    }
    pub fn to(target: &str) -> Self {
        Self::on(Self::reserve(), target)
    }
    pub fn on(listener: TcpListener, target: &str) -> Self {
        let address = listener.local_addr().expect("an address").to_string();
        let shared = Arc::new(ProxyState {
            refusing: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let (state, target) = (shared.clone(), target.to_string());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if state.stopped.load(SeqCst) {
                    return;
                }
                if state.refusing.load(SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&target) else { continue };
                let both = [client.try_clone(), server.try_clone()];
                state.open.lock().expect("not poisoned").extend(both.into_iter().flatten());
                pump(client.try_clone().expect("clone"), server.try_clone().expect("clone"));
                pump(server, client);
            }
        });
        Self { address, shared }
    }
    /// Ends the connections that are open; new ones are made again.
    pub fn cut(&self) {
        for c in self.shared.open.lock().expect("not poisoned").drain(..) {
            let _ = c.shutdown(Shutdown::Both);
        }
    }
    /// New connections end at once, until told otherwise.
    pub fn refuse(&self, refuse: bool) {
        self.shared.refusing.store(refuse, SeqCst);
        if refuse {
            self.cut();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stopped.store(true, SeqCst);
        self.cut();
        let _ = TcpStream::connect(&self.address);
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut buffer = [0u8; 16 * 1024];
        while let Ok(n) = from.read(&mut buffer) {
            if n == 0 || to.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
}
