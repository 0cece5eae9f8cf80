//! Records from a TCP server, cut at a delimiter.

use super::record_spec;
use crate::connectors::api::{
    Boundedness, FormatBinding, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::connectors::local::records::RecordSpec;
use crate::data::{ChangelogMode, Reason, RecordChunk, RecordRef, RefusedRecord, RowError};
use crate::error::{Error, Result};
use crate::formats::Decoder;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_secs(10);
const BUFFER_BYTES: usize = 64 * 1024;

pub struct SocketSource {
    spec: RecordSpec,
    format: Arc<dyn FormatBinding>,
    server: Server,
}

#[derive(Clone)]
struct Server {
    address: (String, u16),
    delimiter: Vec<u8>,
    /// None: for ever.
    retries: Option<u64>,
}

impl SocketSource {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let missing = |what: &str| Error::user(format!("table {}: the option {what} is missing", cx.table));
        let host = cx.options.text("hostname").ok_or_else(|| missing("hostname"))?;
        let port = cx.options.int("port").and_then(|p| u16::try_from(p).ok()).ok_or_else(|| missing("port"))?;
        let delimiter = unescaped(cx.options.text("delimiter").unwrap_or("\n"));
        if delimiter.is_empty() {
            return Err(Error::user(format!("table {}: the delimiter is empty", cx.table)));
        }
        let retries = cx.options.int("max-retries").unwrap_or(0);
        let server = Server { address: (host.to_string(), port), delimiter, retries: u64::try_from(retries).ok() };
        Ok(Self { spec: record_spec(cx)?, format: cx.format()?.clone(), server })
    }
}

fn unescaped(text: &str) -> Vec<u8> {
    text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t").into_bytes()
}

#[async_trait]
impl Source for SocketSource {
    /// The server ends it; nobody knows when.
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }
    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        let (host, port) = &self.server.address;
        let id = format!("{host}:{port}").into();
        Ok(vec![SourceSplit { id, position: 0, detail: serde_json::Value::Null, size: None }])
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        self.format.decoder().map(Some)
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(SocketReader {
            spec: self.spec.clone(),
            server: self.server.clone(),
            split: None,
            connection: None,
            attempts: 0,
            retry_at: None,
            waiting: vec![],
            skipping: false,
        }))
    }
}

struct SocketReader {
    spec: RecordSpec,
    server: Server,
    split: Option<SourceSplit>,
    connection: Option<TcpStream>,
    /// How often a connection ended or could not be made.
    attempts: u64,
    retry_at: Option<Instant>,
    /// What came and is no whole record yet.
    waiting: Vec<u8>,
    /// A record that is over the limit is left out up to its end.
    skipping: bool,
}

/// What a look at the connection brought.
enum Came {
    Bytes,
    Nothing,
    End,
}

impl SocketReader {
    async fn connect(&mut self, max_wait: Duration) -> Result<Came> {
        if let Some(at) = self.retry_at {
            tokio::time::sleep(at.saturating_duration_since(Instant::now()).min(max_wait)).await;
            if Instant::now() < at {
                return Ok(Came::Nothing);
            }
            self.retry_at = None;
        }
        let (host, port) = &self.server.address;
        let connected = tokio::time::timeout(CONNECT_MAX, TcpStream::connect((host.as_str(), *port))).await;
        let why = match connected {
            Ok(Ok(connection)) => {
                self.connection = Some(connection);
                return Ok(Came::Nothing);
            }
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("no answer within {} s", CONNECT_MAX.as_secs()),
        };
        let message = format!("table {}: cannot connect to {host}:{port}: {why}", self.spec.table);
        if !self.goes_on() {
            return Err(Error::external(message)
                .retryable()
                .with_hint("maxNumRetries (max-retries) says how often to try again"));
        }
        tracing::warn!("{message}; trying again");
        Ok(Came::Nothing)
    }

    /// Whether there is another attempt; then it is due after a pause.
    fn goes_on(&mut self) -> bool {
        self.attempts += 1;
        self.retry_at = Some(Instant::now() + RETRY_PAUSE);
        self.server.retries.is_none_or(|max| self.attempts <= max)
    }

    async fn receive(&mut self, max_wait: Duration) -> Result<Came> {
        let Some(connection) = &mut self.connection else { return self.connect(max_wait).await };
        let mut buffer = vec![0; BUFFER_BYTES];
        let read = match tokio::time::timeout(max_wait, connection.read(&mut buffer)).await {
            Err(_) => return Ok(Came::Nothing),
            Ok(read) => read,
        };
        let why = match read {
            Ok(0) => None,
            Ok(n) => {
                self.waiting.extend_from_slice(&buffer[..n]);
                return Ok(Came::Bytes);
            }
            Err(e) => Some(e.to_string()),
        };
        self.connection = None;
        match (self.goes_on(), why) {
            (true, why) => {
                let why = why.unwrap_or_else(|| "the server closed the connection".into());
                tracing::warn!("table {}: {why}; connecting again", self.spec.table);
                Ok(Came::Nothing)
            }
            (false, Some(why)) => {
                Err(Error::external(format!("table {}: the connection broke: {why}", self.spec.table)).retryable())
            }
            (false, None) => Ok(Came::End),
        }
    }

    /// The whole records of what came; at the end what is left, too.
    fn cut(&mut self, split: &mut SourceSplit, at_end: bool) -> RecordChunk {
        let mut chunk = RecordChunk {
            table: self.spec.table.clone(),
            split: split.id.clone(),
            unit: "record",
            ..Default::default()
        };
        let mut from = 0;
        while let Some(length) = memchr::memmem::find(&self.waiting[from..], &self.server.delimiter) {
            let record = from..from + length;
            from = record.end + self.server.delimiter.len();
            if !std::mem::take(&mut self.skipping) {
                self.add(record, split, &mut chunk);
            }
        }
        self.waiting.drain(..from);
        if at_end && !self.skipping {
            self.add(0..self.waiting.len(), split, &mut chunk);
            self.waiting.clear();
        }
        // A record without an end must not fill the memory.
        if self.waiting.len() > self.spec.max_record_bytes {
            if !self.skipping {
                self.refuse(self.waiting.len(), split, &mut chunk);
            }
            self.skipping = true;
            let keep = self.server.delimiter.len() - 1;
            self.waiting.drain(..self.waiting.len() - keep);
        }
        chunk
    }

    fn add(&self, record: std::ops::Range<usize>, split: &mut SourceSplit, chunk: &mut RecordChunk) {
        let bytes = self.waiting[record].trim_ascii_end();
        if bytes.is_empty() {
            return;
        }
        if bytes.len() > self.spec.max_record_bytes {
            return self.refuse(bytes.len(), split, chunk);
        }
        split.position += 1;
        let start = chunk.bytes.len() as u32;
        chunk.bytes.extend_from_slice(bytes);
        chunk.records.push(RecordRef { position: split.position, start, end: chunk.bytes.len() as u32 });
    }

    fn refuse(&self, size: usize, split: &mut SourceSplit, chunk: &mut RecordChunk) {
        split.position += 1;
        let message = format!("the record has {size} bytes or more, the limit is {}", self.spec.max_record_bytes);
        let raw = self.waiting[..self.waiting.len().min(RefusedRecord::RAW_MAX)].to_vec();
        let error = RowError::new(0, Reason::TooLarge, message);
        chunk.refused.push(RefusedRecord { position: split.position, raw, error });
    }
}

#[async_trait(?Send)]
impl SourceReader for SocketReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.split = Some(split);
    }

    async fn poll(&mut self, _max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        let Some(mut split) = self.split.take() else { return Ok(SourceOutput::Exhausted) };
        let came = self.receive(max_wait).await;
        let chunk = match &came {
            Ok(Came::Bytes) => Some(self.cut(&mut split, false)),
            Ok(Came::End) => Some(self.cut(&mut split, true)),
            Ok(Came::Nothing) | Err(_) => None,
        };
        if !matches!(came?, Came::End) {
            self.split = Some(split);
        }
        match chunk {
            Some(chunk) if !chunk.is_empty() || !chunk.refused.is_empty() => Ok(SourceOutput::Records(chunk)),
            _ => Ok(SourceOutput::Idle),
        }
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.split.iter().cloned().collect()
    }
}
