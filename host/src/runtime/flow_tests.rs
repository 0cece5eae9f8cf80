//! Batches, watermarks, barriers and the end of input through every operator of a planned job: source, calc, lookup
//! join, sink, at parallelism 1 and 2, chained and not, with and without an exchange.

use super::*;
use crate::connectors::api::{
    Boundedness, FailedRow, FormatBinding, LookupSource, Sink, SinkWriter, Source, SourceOutput, SourceReader,
    SourceSplit, SubtaskContext, TableContext,
};
use crate::data::{Batch, Epoch, RecordChunk, RecordRef, RowError};
use crate::formats::Decoder;
use crate::metrics::OperatorRole;
use crate::plan::graph::{OperatorKind, Partitioning, TableAccess};
use crate::session::{JobRequest, compile};
use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use async_trait::async_trait;
use std::sync::Mutex;
use std::sync::mpsc as std_mpsc;

const JOB: &str = r#"
CREATE TABLE src (id INT, p AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = 'none', 'format' = 'json');
CREATE TABLE dim (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = 'dim.jsonl', 'format' = 'json');
CREATE TABLE dst (id INT, name STRING) WITH ('connector' = 'print');
INSERT INTO dst
SELECT s.id + 1, UPPER(d.name) FROM src s JOIN dim FOR SYSTEM_TIME AS OF s.p AS d ON s.id = d.id WHERE s.id <> 7;
"#;

/// What a source subtask is told to do.
enum Command {
    /// This many records, the next ids.
    Emit(i32),
    End,
}

struct ScriptedSource {
    commands: Mutex<Vec<std_mpsc::Receiver<Command>>>,
    format: Option<Arc<dyn FormatBinding>>,
}

#[async_trait]
impl Source for ScriptedSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }
    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>> {
        Ok((0..parallelism)
            .map(|i| SourceSplit { id: format!("{i}").into(), position: 0, detail: Default::default(), size: None })
            .collect())
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        self.format.as_ref().map(|f| f.decoder()).transpose()
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        let commands = self.commands.lock().unwrap().pop().unwrap();
        Ok(Box::new(ScriptedReader { commands, split: None }))
    }
}

struct ScriptedReader {
    commands: std_mpsc::Receiver<Command>,
    split: Option<SourceSplit>,
}

#[async_trait(?Send)]
impl SourceReader for ScriptedReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.split = Some(split);
    }
    async fn poll(&mut self, _max_rows: usize, _max_wait: Duration) -> Result<SourceOutput> {
        let Some(split) = &mut self.split else { return Ok(SourceOutput::Exhausted) };
        match self.commands.recv_timeout(Duration::from_millis(5)) {
            Ok(Command::Emit(n)) => {
                let mut chunk = RecordChunk { unit: "row", ..RecordChunk::default() };
                for _ in 0..n {
                    let start = chunk.bytes.len() as u32;
                    chunk.bytes.extend_from_slice(format!("{{\"id\":{}}}", split.position).as_bytes());
                    let end = chunk.bytes.len() as u32;
                    chunk.records.push(RecordRef { position: split.position, start, end });
                    split.position += 1;
                }
                Ok(SourceOutput::Records(chunk))
            }
            Ok(Command::End) => {
                self.split = None;
                Ok(SourceOutput::Exhausted)
            }
            Err(_) => Ok(SourceOutput::Idle),
        }
    }
    fn snapshot(&self) -> Vec<SourceSplit> {
        self.split.clone().into_iter().collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Event {
    Row(i32),
    Watermark(i64),
    Flush,
    Close,
}

/// Per writer, what it saw.
type Log = Arc<Mutex<Vec<Vec<Event>>>>;

struct RecordingSink(Log);

#[async_trait]
impl Sink for RecordingSink {
    fn writer(&self, cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(RecordingWriter(self.0.clone(), cx.subtask)))
    }
}

struct RecordingWriter(Log, usize);

impl RecordingWriter {
    fn log(&self, event: Event) {
        self.0.lock().unwrap()[self.1].push(event);
    }
}

#[async_trait(?Send)]
impl SinkWriter for RecordingWriter {
    async fn write(&mut self, batch: &Batch, _errors: &mut Vec<RowError>) -> Result<()> {
        let ids = batch.columns.column(0).as_primitive::<Int32Type>().clone();
        ids.values().iter().for_each(|id| self.log(Event::Row(*id)));
        Ok(())
    }
    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        self.log(Event::Flush);
        Ok(())
    }
    async fn watermark(&mut self, watermark: i64) -> Result<()> {
        self.log(Event::Watermark(watermark));
        Ok(())
    }
    async fn close(&mut self) -> Result<()> {
        self.log(Event::Close);
        Ok(())
    }
}

/// The planned table access, but for the source and the sink.
struct Scripted {
    commands: Mutex<Option<Vec<std_mpsc::Receiver<Command>>>>,
    log: Log,
}

impl TableAccess for Scripted {
    fn describe(&self) -> String {
        "scripted".into()
    }
    fn source(&self, cx: &TableContext) -> Result<Box<dyn Source>> {
        let commands = self.commands.lock().unwrap().take().unwrap_or_default();
        Ok(Box::new(ScriptedSource { commands: Mutex::new(commands), format: cx.format.clone() }))
    }
    fn sink(&self, _: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(RecordingSink(self.log.clone())))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Err(Error::internal(format!("{} is no side table", cx.table)))
    }
}

struct Flow {
    _folder: tempfile::TempDir,
    job: RunningJob,
    sources: Vec<std_mpsc::Sender<Command>>,
    log: Log,
}

/// The planned job with `source` and `sink` subtasks.
async fn flow(source: usize, sink: usize, chaining: bool) -> Flow {
    let folder = tempfile::tempdir().unwrap();
    let dim: String = (0..100).map(|i| format!("{{\"id\":{i},\"name\":\"n{i}\"}}\n")).collect();
    std::fs::write(folder.path().join("dim.jsonl"), dim).unwrap();
    let path = folder.path().join("job.sql");
    std::fs::write(&path, JOB).unwrap();
    let mut compiled = compile(&JobRequest { job: path, ..JobRequest::default() }).unwrap();
    assert!(!compiled.has_errors(), "{:?}", compiled.diagnostics);
    let mut graph = compiled.graph.take().unwrap();

    let (sources, receivers): (Vec<_>, Vec<_>) = (0..source).map(|_| std_mpsc::channel()).unzip();
    let log: Log = Arc::new(Mutex::new(vec![vec![]; sink]));
    let access = Arc::new(Scripted { commands: Mutex::new(Some(receivers)), log: log.clone() });
    for o in &mut graph.operators {
        o.parallelism = source;
        match &mut o.kind {
            OperatorKind::Source(t) => t.access = access.clone(),
            OperatorKind::Sink(s) => {
                s.table.access = access.clone();
                o.parallelism = sink;
                if sink != source {
                    o.repartition(Partitioning::Rebalance);
                }
            }
            _ => {}
        }
    }
    let job = start(graph, RunOptions { chaining, ..RunOptions::default() }).await.unwrap();
    job.first.as_ref().unwrap().as_ref().unwrap().set_phase(Phase::Running);
    Flow { _folder: folder, job, sources, log }
}

impl Flow {
    fn tell_all(&self, command: impl Fn() -> Command) {
        self.sources.iter().for_each(|s| s.send(command()).unwrap());
    }

    /// Until the sources have emitted this many records: a barrier sent now comes after them.
    fn wait_for_records(&self, records: u64) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.job.metrics.operators()[0].rows_out.get() < records {
            assert!(Instant::now() < deadline, "{}", self.job.metrics.summary());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn rows(&self) -> Vec<i32> {
        let log = self.log.lock().unwrap();
        let mut rows: Vec<i32> =
            log.iter().flatten().filter_map(|e| if let Event::Row(id) = e { Some(*id) } else { None }).collect();
        rows.sort_unstable();
        rows
    }
}

async fn drives_control_elements_through(source: usize, sink: usize, chaining: bool) {
    let mut flow = flow(source, sink, chaining).await;
    flow.tell_all(|| Command::Emit(5));
    flow.wait_for_records(5 * source as u64);

    flow.job.checkpoints.used(Epoch(1));
    let mut attempt = flow.job.first.take().unwrap().unwrap();
    attempt.trigger(Epoch(1));
    let mut acks = Vec::new();
    while acks.len() < attempt.tasks {
        let event = tokio::time::timeout(Duration::from_secs(20), attempt.next_event()).await.unwrap();
        let Some(TaskEvent::Ack { epoch: Epoch(1), operators, .. }) = event else { panic!("{event:?}") };
        acks.push(operators);
    }
    // Everything before the barrier is written and flushed when the checkpoint is complete.
    let mut before: Vec<i32> = (0..source).flat_map(|_| 1..=5).collect();
    before.sort_unstable();
    assert_eq!(flow.rows(), before);
    for writer in flow.log.lock().unwrap().iter() {
        assert_eq!(writer.last(), Some(&Event::Flush), "{writer:?}");
    }
    // The sources' positions are those after the emitted records.
    let positions: Vec<u64> = acks.iter().flatten().flat_map(|o| &o.splits).map(|s| s.position).collect();
    assert_eq!(positions, vec![5; source]);
    // Each operator took part once in each of its subtasks.
    let snapshots: usize = acks.iter().map(Vec::len).sum();
    let (inner, sinks) = (flow.job.metrics.operators().iter().filter(|o| o.role != OperatorRole::SideTable).count(), 1);
    assert_eq!(snapshots, (inner - sinks) * source + sink);

    // Rows 5..=9, of which the WHERE clause drops 7.
    flow.tell_all(|| Command::Emit(5));
    flow.tell_all(|| Command::End);
    let log = flow.log.clone();
    flow.job.first = Some(Ok(attempt));
    flow.job.wait().await.unwrap();
    let log = log.lock().unwrap();
    let rows = log.iter().flatten().filter(|e| matches!(e, Event::Row(_))).count();
    assert_eq!(rows, 9 * source);
    for writer in log.iter() {
        let end = [Event::Watermark(i64::MAX), Event::Flush, Event::Close];
        assert!(writer.ends_with(&end), "{writer:?}");
        for once in &end[..1] {
            assert_eq!(writer.iter().filter(|e| *e == once).count(), 1);
        }
        assert_eq!(writer.iter().filter(|e| **e == Event::Flush).count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn control_elements_pass_every_operator_at_parallelism_1() {
    drives_control_elements_through(1, 1, true).await;
    drives_control_elements_through(1, 1, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_elements_pass_every_operator_at_parallelism_2() {
    drives_control_elements_through(2, 2, true).await;
    drives_control_elements_through(2, 2, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn control_elements_pass_an_exchange_in_both_directions() {
    drives_control_elements_through(2, 1, true).await;
    drives_control_elements_through(1, 2, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_ends_an_unbounded_job_with_everything_written() {
    let flow = flow(2, 1, true).await;
    flow.tell_all(|| Command::Emit(5));
    flow.wait_for_records(10);
    flow.job.control().drain();
    let log = flow.log.clone();
    flow.job.wait().await.unwrap();
    let log = log.lock().unwrap();
    assert_eq!(log[0].iter().filter(|e| matches!(e, Event::Row(_))).count(), 10);
    assert_eq!(log[0].last(), Some(&Event::Close));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_a_job_at_once() {
    let flow = flow(2, 2, false).await;
    flow.job.control().cancel();
    let error = tokio::time::timeout(Duration::from_secs(20), flow.job.wait()).await.unwrap().unwrap_err();
    assert_eq!(error.message, "the job was cancelled");
}
