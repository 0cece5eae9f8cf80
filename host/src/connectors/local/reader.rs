//! Reads splits of local files (and standard input) as chunks of records.

use super::io_error;
use super::records::{RecordCutter, RecordSpec, Resume, Unit};
use crate::connectors::api::{SourceOutput, SourceReader, SourceSplit};
use crate::data::RecordChunk;
use crate::error::{Error, Result};
use crate::formats::Framing;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

const BUFFER_BYTES: usize = 128 * 1024;

/// How long a reader waits for standard input, unless its poll says less.
const STDIN_WAIT: Duration = Duration::from_millis(50);

/// Buffers between the thread that reads standard input and the reader.
const STDIN_BUFFERS: usize = 4;

/// What a file split says beyond its position ([`SourceSplit::detail`]).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileSplit {
    /// None: standard input.
    pub path: Option<PathBuf>,
    /// First byte of the range. A line belongs to the range in which it starts.
    pub start: u64,
    /// Byte after the range; None: to the end of the file.
    pub end: Option<u64>,
    /// Line number at the split's position; None: positions are byte offsets (one of several ranges of a file).
    pub line: Option<u64>,
    /// Position is known to be the start of a record (not so for a range that was not read yet).
    pub aligned: bool,
    /// It was read to its end. Kept where new files are looked for, so that it is not taken for one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
    /// The file that is followed while it grows; another one may stand in its place later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<FileId>,
    /// The name that the followed file has now, if it is another one than that under which it is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_as: Option<PathBuf>,
}

/// What a file is known by, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

impl FileId {
    pub fn of(about: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: about.dev(), inode: about.ino() }
    }
}

impl FileSplit {
    /// The whole of a file.
    pub fn whole(path: PathBuf, size: u64) -> Result<SourceSplit> {
        Self::split(
            Self {
                path: Some(path),
                start: 0,
                end: None,
                line: Some(1),
                aligned: true,
                done: false,
                followed: None,
                opened_as: None,
            },
            Some(size),
        )
    }
    /// One of several byte ranges of a file.
    pub fn range(path: PathBuf, start: u64, end: u64) -> Result<SourceSplit> {
        Self::split(
            Self {
                path: Some(path),
                start,
                end: Some(end),
                line: None,
                aligned: start == 0,
                done: false,
                followed: None,
                opened_as: None,
            },
            Some(end - start),
        )
    }
    /// A file that is read while it grows, from its start.
    pub fn growing(path: PathBuf, id: FileId) -> Result<SourceSplit> {
        let split = Self {
            path: Some(path),
            start: 0,
            end: None,
            line: Some(1),
            aligned: true,
            done: false,
            followed: Some(id),
            opened_as: None,
        };
        Self::split(split, None)
    }
    pub fn stdin() -> Result<SourceSplit> {
        let stdin = Self {
            path: None,
            start: 0,
            end: None,
            line: Some(1),
            aligned: true,
            done: false,
            followed: None,
            opened_as: None,
        };
        Self::split(stdin, None)
    }

    pub fn of(split: &SourceSplit) -> Result<Self> {
        serde_json::from_value(split.detail.clone()).map_err(|e| Error::internal(format!("split {}: {e}", split.id)))
    }

    fn split(self, size: Option<u64>) -> Result<SourceSplit> {
        let id = match (&self.path, self.end) {
            (None, _) => "stdin".to_string(),
            (Some(path), None) => path.display().to_string(),
            (Some(path), Some(end)) => format!("{}[{}..{end}]", path.display(), self.start),
        };
        let detail = serde_json::to_value(&self)
            .map_err(|e| Error::external(format!("the file name {id:?} cannot be recorded: {e}")))?;
        Ok(SourceSplit { id: id.into(), position: self.start, detail, size })
    }

    /// For people: the path without the range.
    fn name(&self) -> Arc<str> {
        self.path.as_ref().map_or_else(|| "stdin".into(), |p| p.display().to_string().into())
    }
}

/// Where the bytes come from.
enum Input {
    File(File),
    /// One that may grow, and the bytes that were read of it.
    Growing(File, u64),
    Compressed(Box<dyn Read + Send>, Compression),
    Stdin(Receiver<std::io::Result<Vec<u8>>>),
}

/// Counts the compressed bytes that were read, for progress.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// What a read brought.
enum Filled {
    Some,
    /// Nothing for now (standard input, a file that may grow).
    Nothing,
    End,
}

/// A split that is being read.
pub(super) struct OpenSplit {
    pub split: SourceSplit,
    pub file: FileSplit,
    name: Arc<str>,
    table: Arc<str>,
    input: Input,
    cutter: RecordCutter,
    buffer: Vec<u8>,
    /// Read part of `buffer`.
    at: usize,
    filled: usize,
    ended: bool,
    /// Compressed bytes read.
    compressed: Option<Arc<AtomicU64>>,
}

/// Reads file splits one after the other.
pub struct FileReader {
    spec: RecordSpec,
    queue: VecDeque<SourceSplit>,
    current: Option<OpenSplit>,
    done: u64,
    total: u64,
    stdin_wait: Duration,
    /// Splits that were read to their end, where these are kept.
    ended: Option<Vec<SourceSplit>>,
}

impl FileReader {
    pub fn new(spec: RecordSpec) -> Self {
        Self { spec, queue: VecDeque::new(), current: None, done: 0, total: 0, stdin_wait: STDIN_WAIT, ended: None }
    }

    /// For a source that looks for new files: its snapshots name those that were read, too.
    pub fn keeping_ended(self) -> Self {
        Self { ended: Some(vec![]), ..self }
    }

    fn end(&mut self, open: OpenSplit) {
        self.done += open.split.size.unwrap_or(0);
        if let Some(ended) = &mut self.ended {
            let file = FileSplit { done: true, ..open.file.clone() };
            let detail = serde_json::to_value(&file).unwrap_or_else(|_| open.split.detail.clone());
            ended.push(SourceSplit { detail, ..open.snapshot() });
        }
    }

    /// The next records; may block on the disk, never longer than 50 ms on standard input.
    pub fn next_output(&mut self, max_rows: usize) -> Result<SourceOutput> {
        loop {
            let Some(open) = &mut self.current else {
                let Some(split) = self.queue.pop_front() else { return Ok(SourceOutput::Exhausted) };
                self.current = Some(OpenSplit::open(split, &self.spec)?);
                continue;
            };
            if let Some(chunk) = open.next_chunk(max_rows, self.stdin_wait)? {
                return Ok(SourceOutput::Records(chunk));
            }
            if let Some(open) = self.current.take() {
                self.end(open);
            }
        }
    }
}

#[async_trait(?Send)]
impl SourceReader for FileReader {
    fn add_split(&mut self, split: SourceSplit) {
        match &mut self.ended {
            Some(ended) if FileSplit::of(&split).is_ok_and(|f| f.done) => ended.push(split),
            _ => {
                self.total += split.size.unwrap_or(0);
                self.queue.push_back(split);
            }
        }
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        self.stdin_wait = max_wait.min(STDIN_WAIT);
        self.next_output(max_rows)
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        let current = self.current.iter().filter(|open| !open.ended).map(OpenSplit::snapshot);
        current.chain(self.queue.iter().cloned()).chain(self.ended.iter().flatten().cloned()).collect()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let current = self.current.as_ref().map_or(0, OpenSplit::progress);
        (self.total > 0).then_some((self.done + current, self.total))
    }
}

impl OpenSplit {
    pub fn open(split: SourceSplit, spec: &RecordSpec) -> Result<Self> {
        let file = FileSplit::of(&split)?;
        let name = file.name();
        let mut compressed = None;
        let mut position = split.position;
        let input = match &file.path {
            None => Input::Stdin(pump_stdin()?),
            Some(path) => {
                let path = file.opened_as.as_ref().unwrap_or(path);
                let fail = |e: std::io::Error| io_error(&spec.table, "read", path, &e);
                let mut opened = File::open(path).map_err(fail)?;
                if let Some(compression) = Compression::of(path) {
                    let read = Arc::new(AtomicU64::new(0));
                    compressed = Some(read.clone());
                    let mut decoder = compression.decoder(Counted { file: opened, read }).map_err(fail)?;
                    // Compressed data has no other way to a position than through everything before it.
                    std::io::copy(&mut (&mut decoder).take(position), &mut std::io::sink()).map_err(fail)?;
                    Input::Compressed(decoder, compression)
                } else {
                    if !file.aligned {
                        position = line_start(&mut opened, position).map_err(fail)?;
                    }
                    // A pipe cannot be sought, and need not be to start at its beginning.
                    if position > 0 {
                        opened.seek(SeekFrom::Start(position)).map_err(fail)?;
                    }
                    match file.followed {
                        Some(_) => Input::Growing(opened, position),
                        None => Input::File(opened),
                    }
                }
            }
        };
        let unit = if file.line.is_some() { Unit::Line } else { Unit::Byte };
        let from = Resume { offset: position, line: file.line.unwrap_or(1) };
        let mut cutter = RecordCutter::new(spec.clone(), name.clone(), unit, from, file.end.unwrap_or(u64::MAX));
        if position > 0
            && let (Framing::QuotedLines { header: true, .. }, Some(path)) = (spec.framing, &file.path)
        {
            cutter.set_header(read_header(spec, path)?);
        }
        Ok(Self {
            split,
            file,
            name,
            table: spec.table.clone(),
            input,
            cutter,
            buffer: vec![0; BUFFER_BYTES],
            at: 0,
            filled: 0,
            ended: false,
            compressed,
        })
    }

    /// None: the split is at its end. A chunk may be empty when standard input has nothing for now.
    pub fn next_chunk(&mut self, max_rows: usize, stdin_wait: Duration) -> Result<Option<RecordChunk>> {
        while !self.ended {
            if self.cutter.is_full(max_rows) {
                return Ok(Some(self.cutter.take()));
            }
            if self.cutter.at_stop() {
                self.ended = true;
            } else if self.at < self.filled {
                self.at += self.cutter.feed(&self.buffer[self.at..self.filled], max_rows);
            } else {
                // What has come goes on at once; only who has nothing waits.
                let wait = if self.cutter.waiting() > 0 { Duration::ZERO } else { stdin_wait };
                match self.fill(wait)? {
                    Filled::Some => {}
                    Filled::Nothing => return Ok(Some(self.cutter.take())),
                    Filled::End => {
                        self.cutter.end();
                        self.ended = true;
                    }
                }
            }
        }
        Ok((self.cutter.waiting() > 0).then(|| self.cutter.take()))
    }

    fn fill(&mut self, stdin_wait: Duration) -> Result<Filled> {
        self.at = 0;
        self.filled = 0;
        let read = match &mut self.input {
            Input::File(file) => read_some(file, &mut self.buffer),
            Input::Growing(file, read) => {
                // Asked before the read: what was written up to the rotation is read.
                let is_over = self.file.path.as_deref().is_some_and(|path| is_over(path, file, *read));
                match read_some(file, &mut self.buffer) {
                    Ok(0) if !is_over => return Ok(Filled::Nothing),
                    Ok(n) => {
                        *read += n as u64;
                        Ok(n)
                    }
                    Err(e) => Err(e),
                }
            }
            Input::Compressed(decoder, _) => read_some(decoder, &mut self.buffer),
            Input::Stdin(pump) => match pump.recv_timeout(stdin_wait) {
                Ok(Ok(bytes)) => {
                    self.buffer = bytes;
                    Ok(self.buffer.len())
                }
                Ok(Err(e)) => Err(e),
                Err(RecvTimeoutError::Timeout) => return Ok(Filled::Nothing),
                Err(RecvTimeoutError::Disconnected) => Ok(0),
            },
        };
        self.filled = read.map_err(|e| self.read_error(&e))?;
        Ok(if self.filled == 0 { Filled::End } else { Filled::Some })
    }

    fn read_error(&self, e: &std::io::Error) -> Error {
        let what = match &self.input {
            Input::Compressed(_, compression) => format!(
                "its name ends in .{}, but it is not readable {} data after byte {} of its content ({e})",
                compression.ending(),
                compression.name(),
                self.cutter.resume().offset
            ),
            _ => e.to_string(),
        };
        Error::external(format!("table {}: cannot read {}: {what}", self.table, self.name))
    }

    pub fn snapshot(&self) -> SourceSplit {
        let resume = self.cutter.resume();
        let file = FileSplit { line: self.file.line.map(|_| resume.line), aligned: true, ..self.file.clone() };
        SourceSplit {
            id: self.split.id.clone(),
            position: resume.offset,
            detail: serde_json::to_value(&file).unwrap_or_else(|_| self.split.detail.clone()),
            size: self.split.size,
        }
    }

    fn progress(&self) -> u64 {
        let size = self.split.size.unwrap_or(0);
        match &self.compressed {
            Some(read) => read.load(Ordering::Relaxed).min(size),
            None => self.cutter.resume().offset.saturating_sub(self.file.start).min(size),
        }
    }
}

/// How a file is compressed, by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        [Self::Gzip, Self::Zstd].into_iter().find(|c| ending.eq_ignore_ascii_case(c.ending()))
    }
    fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
    fn decoder(self, input: Counted) -> std::io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
        })
    }
}

/// Whether another file has taken the place of this one, or it was cut: then nothing follows. While there is no file of
/// its name, it may still be written.
fn is_over(path: &Path, file: &File, read: u64) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => FileId::of(&there) != FileId::of(&ours) || there.len() < read,
        _ => false,
    }
}

fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The first start of a line at or after `from`.
fn line_start(file: &mut File, from: u64) -> std::io::Result<u64> {
    if from == 0 {
        return Ok(0);
    }
    let mut at = from - 1;
    file.seek(SeekFrom::Start(at))?;
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let n = read_some(file, &mut buffer)?;
        match memchr::memchr(b'\n', &buffer[..n]) {
            Some(newline) => return Ok(at + newline as u64 + 1),
            None if n == 0 => return Ok(at),
            None => at += n as u64,
        }
    }
}

/// The header line of a file that is read from a later position.
fn read_header(spec: &RecordSpec, path: &Path) -> Result<Option<Arc<[u8]>>> {
    let mut reader = FileReader::new(spec.clone());
    reader.add_split(FileSplit::whole(path.to_path_buf(), 0)?);
    match reader.next_output(1)? {
        SourceOutput::Records(chunk) => Ok(chunk.header),
        _ => Ok(None),
    }
}

/// Reads standard input on a thread of its own, since such a read cannot be given a time limit.
fn pump_stdin() -> Result<Receiver<std::io::Result<Vec<u8>>>> {
    let (send, receive): (SyncSender<std::io::Result<Vec<u8>>>, _) = sync_channel(STDIN_BUFFERS);
    let pump = move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut buffer = vec![0; BUFFER_BYTES];
            let message = match read_some(&mut stdin, &mut buffer) {
                Ok(0) => return,
                Ok(n) => {
                    buffer.truncate(n);
                    Ok(buffer)
                }
                Err(e) => Err(e),
            };
            let failed = message.is_err();
            if send.send(message).is_err() || failed {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("stdin".into())
        .spawn(pump)
        .map_err(|e| Error::external(format!("cannot start the thread that reads standard input: {e}")))?;
    Ok(receive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn spec(framing: Framing) -> RecordSpec {
        RecordSpec { table: "t".into(), framing, max_record_bytes: 1 << 20, first_line: 1 }
    }

    fn read(reader: &mut FileReader, max_rows: usize) -> Vec<(u64, String)> {
        let mut all = vec![];
        loop {
            match reader.next_output(max_rows).unwrap() {
                SourceOutput::Idle => continue,
                SourceOutput::Exhausted => return all,
                SourceOutput::Records(chunk) => {
                    assert!(chunk.len() <= max_rows);
                    let text = |i| String::from_utf8(chunk.record(i).to_vec()).unwrap();
                    all.extend((0..chunk.len()).map(|i| (chunk.records[i].position, text(i))));
                }
                SourceOutput::Rows(..) => unreachable!(),
            }
        }
    }

    fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    #[test]
    fn every_cut_into_ranges_gives_each_line_once() {
        let text: String = (0..50).map(|i| format!("{}\n", "x".repeat(i % 7))).collect::<String>() + "half";
        let (_dir, path) = file("f", text.as_bytes());
        let expected: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
        for cut in 1..text.len() as u64 {
            let mut reader = FileReader::new(spec(Framing::Lines));
            reader.add_split(FileSplit::range(path.clone(), 0, cut).unwrap());
            reader.add_split(FileSplit::range(path.clone(), cut, text.len() as u64).unwrap());
            let records = read(&mut reader, 7);
            assert_eq!(records.iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>(), expected, "cut at {cut}");
            for (position, record) in records {
                assert!(text[position as usize..].starts_with(&record));
            }
            assert_eq!(reader.progress().map(|(done, of)| done == of), Some(true));
        }
    }

    #[test]
    fn reading_goes_on_where_a_snapshot_was_taken() {
        let text: String = (1..=20).map(|i| format!("line {i}\n")).collect();
        let mut gz = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        let framing = Framing::QuotedLines { delimiter: b',', quote: None, escape: None, header: true };
        for (name, bytes, framing) in [
            ("f", text.clone().into_bytes(), Framing::Lines),
            ("f.gz", gz.finish().unwrap(), Framing::Lines),
            ("f.csv", text.clone().into_bytes(), framing),
        ] {
            let (_dir, path) = file(name, &bytes);
            let mut first = FileReader::new(spec(framing));
            first.add_split(FileSplit::whole(path, bytes.len() as u64).unwrap());
            let Ok(SourceOutput::Records(chunk)) = first.next_output(7) else { panic!("no records") };
            let mut second = FileReader::new(spec(framing));
            first.snapshot().into_iter().for_each(|s| second.add_split(s));
            let Ok(SourceOutput::Records(rest)) = second.next_output(7) else { panic!("no records") };
            assert_eq!(rest.records[0].position, chunk.records[6].position + 1, "{name}");
            assert_eq!(rest.header, chunk.header);
            let last = read(&mut second, 100);
            assert_eq!(last.last().map(|(n, t)| (*n, t.as_str())), Some((20, "line 20")));
            assert!(second.snapshot().is_empty());
        }
    }

    #[test]
    fn concatenated_gzip_members_are_one_file_and_broken_ones_an_error() {
        let member = |text: &str| {
            let mut gz = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
            gz.write_all(text.as_bytes()).unwrap();
            gz.finish().unwrap()
        };
        let both = [member("a\nb"), member("c\nd\n")].concat();
        let (_dir, path) = file("f.gz", &both);
        let mut reader = FileReader::new(spec(Framing::Lines));
        reader.add_split(FileSplit::whole(path, both.len() as u64).unwrap());
        assert_eq!(read(&mut reader, 100).iter().map(|(_, t)| t.as_str()).collect::<Vec<_>>(), ["a", "bc", "d"]);
        for bad in [b"no gzip at all".to_vec(), both[..both.len() - 5].to_vec()] {
            let (_dir, path) = file("f.gz", &bad);
            let mut reader = FileReader::new(spec(Framing::Lines));
            reader.add_split(FileSplit::whole(path, 1).unwrap());
            let error = loop {
                match reader.next_output(1) {
                    Err(e) => break e,
                    Ok(SourceOutput::Exhausted) => panic!("no error"),
                    Ok(_) => {}
                }
            };
            assert!(error.message.contains("not readable gzip data"), "{error}");
            assert_eq!(error.domain, crate::error::Domain::External);
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let mut reader = FileReader::new(spec(Framing::Lines));
        reader.add_split(FileSplit::whole("/no/such/file".into(), 1).unwrap());
        let error = reader.next_output(1).err().unwrap();
        assert!(error.message.starts_with("table t: cannot read /no/such/file: "), "{error}");
    }

    #[test]
    fn an_empty_file_has_no_records() {
        let (_dir, path) = file("f", b"");
        let mut reader = FileReader::new(spec(Framing::Lines));
        reader.add_split(FileSplit::whole(path, 0).unwrap());
        assert!(matches!(reader.next_output(10), Ok(SourceOutput::Exhausted)));
    }
}
