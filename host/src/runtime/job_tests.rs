//! A whole job with checkpoints in memory: what its source and its sink are asked and told, in which order, over discovery,
//! restarts and a drain.

use super::*;
use crate::connectors::api::{
    Boundedness, FailedRow, LookupSource, Sink, SinkWriter, Source, SourceOutput, SourceReader, SourceSplit,
    SplitAssignment, SubtaskContext, TableContext,
};
use crate::data::{Batch, Epoch, RecordChunk, RecordRef, RowError};
use crate::formats::Decoder;
use crate::plan::graph::{OperatorKind, Partitioning, TableAccess};
use crate::plan::recovery::{FixedDelay, RestartKind};
use crate::session::{JobRequest, compile};
use arrow::array::{AsArray, Int32Array, RecordBatch};
use arrow::datatypes::Int32Type;
use async_trait::async_trait;
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

const JOB: &str = "CREATE TABLE src (id INT) WITH ('connector' = 'filesystem', 'path' = 'none', 'format' = 'json');\n\
                   CREATE TABLE dst (id INT) WITH ('connector' = 'print');\n\
                   INSERT INTO dst SELECT id FROM src;\n";
/// Records of a split, and splits there are at last.
const RECORDS: u64 = 20;
const SPLITS: usize = 5;

/// What the outside has and has seen. Row ids are split * 100 + offset.
#[derive(Default)]
struct Outside {
    calls: Mutex<Vec<String>>,
    /// Positions that each reader was told are complete.
    committed: Mutex<Vec<(String, u64)>>,
    completed: Mutex<Vec<u64>>,
    written: Mutex<Vec<i32>>,
    flushed: Mutex<Vec<i32>>,
    waits: Mutex<Vec<Duration>>,
    readers: AtomicUsize,
    /// The reader of split 3 fails once.
    fails: AtomicBool,
}

impl Outside {
    fn call(&self, what: impl Into<String>) {
        self.calls.lock().unwrap().push(what.into());
    }
}

#[derive(Clone)]
struct Access(Arc<Outside>);

impl TableAccess for Access {
    fn describe(&self) -> String {
        "fake".into()
    }
    fn source(&self, _: &TableContext) -> Result<Box<dyn Source>> {
        self.0.call(format!("open with {} readers", self.0.readers.load(SeqCst)));
        Ok(Box::new(self.clone()))
    }
    fn sink(&self, _: &TableContext) -> Result<Box<dyn Sink>> {
        Ok(Box::new(self.clone()))
    }
    fn lookup(&self, cx: &TableContext) -> Result<Box<dyn LookupSource>> {
        Err(Error::internal(format!("{} is no side table", cx.table)))
    }
}

fn split(id: usize) -> SourceSplit {
    SourceSplit { id: format!("{id}").into(), position: 0, detail: Default::default(), size: None }
}

#[async_trait]
impl Source for Access {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Unbounded
    }
    fn assignment(&self) -> SplitAssignment {
        SplitAssignment::Spread
    }
    async fn probe(&self) -> Result<()> {
        self.0.call("probe source");
        Ok(())
    }
    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        self.0.call("enumerate");
        Ok(vec![split(0)])
    }
    async fn restore(&self, splits: Vec<SourceSplit>, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        self.0.call(format!("restore {}", splits.len()));
        Ok(splits)
    }
    fn discovery_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(5))
    }
    async fn discover(&self, known: &[Arc<str>]) -> Result<Vec<SourceSplit>> {
        // One more at a time; the assigner leaves out what it knows.
        Ok((0..SPLITS.min(known.len() + 1)).map(split).collect())
    }
    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }
    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        self.0.readers.fetch_add(1, SeqCst);
        Ok(Box::new(Reader { outside: self.0.clone(), splits: vec![] }))
    }
}

struct Reader {
    outside: Arc<Outside>,
    splits: Vec<SourceSplit>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.outside.readers.fetch_sub(1, SeqCst);
    }
}

#[async_trait(?Send)]
impl SourceReader for Reader {
    fn add_split(&mut self, split: SourceSplit) {
        self.splits.push(split);
    }
    async fn poll(&mut self, _max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        self.outside.waits.lock().unwrap().push(max_wait);
        if self.splits.is_empty() {
            return Ok(SourceOutput::Exhausted);
        }
        let Some(split) = self.splits.iter_mut().find(|s| s.position < RECORDS) else {
            tokio::time::sleep(max_wait.min(Duration::from_millis(2))).await;
            return Ok(SourceOutput::Idle);
        };
        if &*split.id == "3" && split.position == 10 && self.outside.fails.swap(false, SeqCst) {
            return Err(Error::external("the server is away"));
        }
        let id: i32 = split.id.parse().unwrap();
        let rows = Int32Array::from(vec![id * 100 + split.position as i32]);
        let records = vec![RecordRef { position: split.position, start: 0, end: 0 }];
        let chunk = RecordChunk { split: split.id.clone(), records, ..RecordChunk::default() };
        split.position += 1;
        Ok(SourceOutput::Rows(RecordBatch::try_from_iter([("id", Arc::new(rows) as _)]).unwrap(), Arc::new(chunk)))
    }
    fn snapshot(&self) -> Vec<SourceSplit> {
        self.splits.clone()
    }
    async fn checkpoint_complete(&mut self, splits: &[SourceSplit]) -> Result<()> {
        self.outside.committed.lock().unwrap().extend(splits.iter().map(|s| (s.id.to_string(), s.position)));
        Ok(())
    }
}

#[async_trait]
impl Sink for Access {
    async fn probe(&self) -> Result<()> {
        self.0.call("probe sink");
        Ok(())
    }
    async fn prepare(&self, restored: Option<Vec<serde_json::Value>>) -> Result<()> {
        self.0.call(format!("prepare {}", restored.map_or("anew".to_string(), |states| format!("{states:?}"))));
        Ok(())
    }
    fn writer(&self, _cx: &SubtaskContext) -> Result<Box<dyn SinkWriter>> {
        Ok(Box::new(Writer { outside: self.0.clone(), waiting: vec![], since: None }))
    }
    async fn checkpoint_complete(&self, epoch: Epoch) -> Result<()> {
        self.0.completed.lock().unwrap().push(epoch.0);
        Ok(())
    }
    async fn commit(&self) -> Result<()> {
        self.0.call("commit");
        Ok(())
    }
}

struct Writer {
    outside: Arc<Outside>,
    waiting: Vec<i32>,
    since: Option<Instant>,
}

const FLUSH_AFTER: Duration = Duration::from_millis(20);

#[async_trait(?Send)]
impl SinkWriter for Writer {
    async fn write(&mut self, batch: &Batch, _errors: &mut Vec<RowError>) -> Result<()> {
        let ids = batch.columns.column(0).as_primitive::<Int32Type>().values().to_vec();
        self.outside.written.lock().unwrap().extend(&ids);
        self.waiting.extend(ids);
        self.since.get_or_insert_with(Instant::now);
        Ok(())
    }
    async fn flush(&mut self, _failed: &mut Vec<FailedRow>) -> Result<()> {
        self.since = None;
        self.outside.flushed.lock().unwrap().append(&mut self.waiting);
        Ok(())
    }
    async fn snapshot(&mut self, epoch: Epoch, failed: &mut Vec<FailedRow>) -> Result<Option<serde_json::Value>> {
        self.flush(failed).await?;
        Ok(Some(json!(epoch.0)))
    }
    fn flush_due(&self) -> Option<Instant> {
        self.since.map(|since| since + FLUSH_AFTER)
    }
}

/// The job with 2 source subtasks and 1 sink subtask.
async fn job(outside: &Arc<Outside>, interval: Duration) -> RunningJob {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.sql");
    std::fs::write(&path, JOB).unwrap();
    let mut compiled = compile(&JobRequest { job: path, ..JobRequest::default() }).unwrap();
    assert!(!compiled.has_errors(), "{:?}", compiled.diagnostics);
    let mut graph = compiled.graph.take().unwrap();
    let access = Arc::new(Access(outside.clone()));
    for o in &mut graph.operators {
        o.parallelism = 2;
        match &mut o.kind {
            OperatorKind::Source(t) => t.access = access.clone(),
            OperatorKind::Sink(s) => {
                s.table.access = access.clone();
                o.parallelism = 1;
                o.repartition(Partitioning::Rebalance);
            }
            _ => {}
        }
    }
    let fixed = FixedDelay { attempts: 3, delay: Duration::from_millis(1) };
    let restart = RestartSettings { kind: Some(RestartKind::FixedDelay), fixed, ..RestartSettings::default() };
    let timing = CheckpointSettings { interval: Some(interval), ..CheckpointSettings::default() };
    start(graph, RunOptions { timing, restart, ..RunOptions::default() }).await.unwrap()
}

/// Runs the job until `until` holds, then drains it.
async fn run(outside: &Arc<Outside>, interval: Duration, until: impl Fn(&Outside) -> bool) -> Arc<JobMetrics> {
    let job = job(outside, interval).await;
    let control = job.control();
    let running = tokio::spawn(job.wait());
    let deadline = Instant::now() + Duration::from_secs(30);
    while !until(outside) && !running.is_finished() {
        assert!(Instant::now() < deadline, "{:?}", outside.calls.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    control.drain();
    tokio::time::timeout(Duration::from_secs(30), running).await.unwrap().unwrap().unwrap()
}

fn ids(rows: &Mutex<Vec<i32>>) -> Vec<i32> {
    let mut rows = rows.lock().unwrap().clone();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn all_ids() -> Vec<i32> {
    (0..SPLITS as i32).flat_map(|s| (0..RECORDS as i32).map(move |o| s * 100 + o)).collect()
}

fn expect_told_in_order(outside: &Outside) {
    let completed = outside.completed.lock().unwrap();
    assert!(completed.len() >= 2 && completed.windows(2).all(|w| w[0] < w[1]), "{completed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn splits_that_come_to_be_are_read_and_everybody_is_told_of_each_checkpoint() {
    let outside = Arc::new(Outside::default());
    run(&outside, Duration::from_millis(10), |o| ids(&o.flushed) == all_ids()).await;
    assert_eq!(outside.written.lock().unwrap().len(), all_ids().len(), "nothing is read twice");
    let calls = outside.calls.lock().unwrap();
    let expected =
        ["open with 0 readers", "probe source", "probe sink", "enumerate", "prepare anew", "commit"].map(String::from);
    assert_eq!(*calls, expected, "servers are asked before anything is listed or written");
    expect_told_in_order(&outside);
    // The last checkpoint, of the drain, has committed the last positions of all splits.
    let committed = outside.committed.lock().unwrap();
    for s in 0..SPLITS {
        let last = committed.iter().rev().find(|(id, _)| *id == s.to_string());
        assert_eq!(last.map(|(_, position)| *position), Some(RECORDS), "split {s}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_fails_is_followed_by_one_from_the_newest_checkpoint() {
    let outside = Arc::new(Outside { fails: AtomicBool::new(true), ..Outside::default() });
    let metrics = run(&outside, Duration::from_millis(5), |o| ids(&o.flushed) == all_ids()).await;
    assert_eq!(metrics.checkpoints.restarts.get(), 1);
    let calls = outside.calls.lock().unwrap();
    assert_eq!(calls.iter().filter(|c| *c == "enumerate").count(), 1, "{calls:?}");
    assert_eq!(calls.iter().filter(|c| *c == "open with 0 readers").count(), 2, "no task of the old attempt runs");
    assert!(calls.iter().any(|c| c.starts_with("restore ")), "{calls:?}");
    // The sink gets what its writer gave for the newest checkpoint before the failure.
    let restored = calls.iter().find(|c| c.starts_with("prepare [")).unwrap_or_else(|| panic!("{calls:?}"));
    let completed = outside.completed.lock().unwrap();
    assert!(
        completed.iter().any(|epoch| *restored == format!("prepare [Number({epoch})]")),
        "{restored} {completed:?}"
    );
    drop(completed);
    expect_told_in_order(&outside);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_flushed_when_they_are_due_and_polls_do_not_sleep_over_it() {
    let outside = Arc::new(Outside::default());
    // No checkpoint but the first one comes in time: the rows are flushed because they are due.
    run(&outside, Duration::from_secs(3600), |o| ids(&o.flushed) == all_ids()).await;
    let chained = Arc::new(Outside::default());
    let mut running = job(&chained, Duration::from_secs(3600)).await;
    running.cx.graph.operators.iter_mut().for_each(|o| {
        o.parallelism = 1;
        o.repartition(Partitioning::Forward);
    });
    // The same job in one task per subtask.
    running.first = None;
    running.first = Some(Attempt::start(&running.cx, None, Epoch(0), true).await);
    let control = running.control();
    let ended = tokio::spawn(running.wait());
    let deadline = Instant::now() + Duration::from_secs(30);
    while ids(&chained.flushed) != all_ids() {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    control.drain();
    ended.await.unwrap().unwrap();
    let waits = chained.waits.lock().unwrap();
    assert!(waits.iter().any(|w| *w <= FLUSH_AFTER), "{waits:?}");
    assert!(waits.iter().all(|w| *w <= Duration::from_millis(100)));
}
