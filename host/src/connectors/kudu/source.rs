//! The bounded scan: a split per tablet, read in parallel.

use super::read::ReadTable;
use crate::connectors::api::{
    Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::error::{Error, Result};
use crate::formats::Decoder;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use base64::Engine as _;
use kudu_rs::ScanToken;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Batches between the scanning task and the reader.
const BATCHES_AHEAD: usize = 2;

pub struct KuduSource {
    table: Arc<ReadTable>,
}

impl KuduSource {
    pub fn new(cx: &TableContext) -> Result<Self> {
        Ok(Self { table: Arc::new(ReadTable::new(cx)?) })
    }
}

#[async_trait]
impl Source for KuduSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    async fn probe(&self) -> Result<()> {
        self.table.look_at().await.map(|_| ())
    }

    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        let opened = self.table.opened().await?;
        let Some(scan) = self.table.scan(opened)? else { return Ok(vec![]) };
        if self.table.limit.is_some() {
            // A limit is that of the whole scan.
            let id = self.table.cluster.name.as_str().into();
            return Ok(vec![SourceSplit { id, position: 0, detail: serde_json::Value::Null, size: None }]);
        }
        let tokens = scan.tokens().await.map_err(|e| self.table.error(&e))?;
        tokens
            .iter()
            .map(|token| {
                let bytes = token.serialize().map_err(|e| self.table.error(&e))?;
                let text = base64::engine::general_purpose::STANDARD.encode(bytes);
                let id = format!("{} {}", self.table.cluster.name, token.tablet_id()).into();
                Ok(SourceSplit { id, position: 0, detail: serde_json::Value::String(text), size: None })
            })
            .collect()
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }

    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(KuduReader { table: self.table.clone(), queue: VecDeque::new(), current: None }))
    }
}

struct KuduReader {
    table: Arc<ReadTable>,
    queue: VecDeque<SourceSplit>,
    current: Option<Current>,
}

/// The split that is read and the batches that come from it.
struct Current {
    split: SourceSplit,
    batches: mpsc::Receiver<Result<RecordBatch>>,
    /// What is left of a batch that was larger than the engine takes at once.
    rest: Option<RecordBatch>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl KuduReader {
    /// Rows have no order that a count of them could mean: a split that was begun is read anew.
    fn start(&self, mut split: SourceSplit) -> Current {
        split.position = 0;
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let (table, detail) = (self.table.clone(), split.detail.clone());
        let task = tokio::spawn(async move {
            if let Err(e) = scan(&table, &detail, &sender).await {
                // Nobody listens once the job has given up on the reader.
                let _ = sender.send(Err(e)).await;
            }
        });
        Current { split, batches, rest: None, task }
    }
}

async fn scan(table: &ReadTable, detail: &serde_json::Value, out: &mpsc::Sender<Result<RecordBatch>>) -> Result<()> {
    let error = |e: kudu_rs::Error| table.error(&e);
    let mut scan = match detail {
        serde_json::Value::String(text) => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text);
            let bytes = bytes
                .map_err(|e| Error::external(format!("table {}: a split is damaged: {e}", table.cluster.table)))?;
            ScanToken::deserialize(table.cluster.client().await?, &bytes).await.map_err(error)?.scan()
        }
        _ => match table.scan(table.opened().await?)? {
            Some(scan) => scan.build().map_err(error)?,
            None => return Ok(()),
        },
    };
    while let Some(batch) = scan.next().await {
        if out.send(batch.map_err(error)).await.is_err() {
            return Ok(());
        }
    }
    Ok(())
}

#[async_trait(?Send)]
impl SourceReader for KuduReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.queue.push_back(split);
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        if self.current.is_none() {
            let Some(split) = self.queue.pop_front() else { return Ok(SourceOutput::Exhausted) };
            self.current = Some(self.start(split));
        }
        let Some(current) = &mut self.current else { return Ok(SourceOutput::Exhausted) };
        let batch = match current.rest.take() {
            Some(rest) => rest,
            None => match tokio::time::timeout(max_wait, current.batches.recv()).await {
                Err(_) => return Ok(SourceOutput::Idle),
                Ok(None) => {
                    self.current = None;
                    return Ok(if self.queue.is_empty() { SourceOutput::Exhausted } else { SourceOutput::Idle });
                }
                Ok(Some(batch)) => batch?,
            },
        };
        let now = batch.num_rows().min(max_rows.max(1));
        if now < batch.num_rows() {
            current.rest = Some(batch.slice(now, batch.num_rows() - now));
        }
        let reading = self.table.split(&current.split.id);
        let (rows, chunk) = reading.rows(&batch.slice(0, now), current.split.position)?;
        current.split.position += now as u64;
        Ok(SourceOutput::Rows(rows, Arc::new(chunk)))
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.current.iter().map(|c| &c.split).chain(&self.queue).cloned().collect()
    }
}
