//! The bounded scan: one query a split, whose rows are taken from the connection as they are needed.

use super::connection::Arguments;
use super::error::DbError;
use super::read::{Known, ReadTable};
use super::types::{Kind, Value};
use crate::connectors::api::{
    Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::data::RecordChunk;
use crate::error::{Error, Result};
use crate::formats::Decoder;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use futures::StreamExt;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Batches between the scanning task and the reader.
const BATCHES_AHEAD: usize = 2;

/// `scan.partition.*`: the values of a column, both bounds included, in so many ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Partitions {
    column: String,
    count: i64,
    lower: i64,
    upper: i64,
}

impl Partitions {
    fn new(cx: &TableContext) -> Option<Self> {
        Some(Self {
            column: cx.options.text("scan.partition.column")?.to_string(),
            count: cx.options.int("scan.partition.num")?.max(1),
            lower: cx.options.int("scan.partition.lower-bound")?,
            upper: cx.options.int("scan.partition.upper-bound")?,
        })
    }

    /// Ranges that cover the bounds without a gap; fewer than asked for if there are fewer values.
    fn ranges(&self) -> Vec<(i64, i64)> {
        let values = i128::from(self.upper) - i128::from(self.lower) + 1;
        let count = i128::from(self.count).min(values.max(1));
        let edge = |n: i128| i128::from(self.lower) + values * n / count;
        (0..count).map(|n| (edge(n) as i64, (edge(n + 1) - 1) as i64)).collect()
    }
}

pub struct JdbcSource {
    table: Arc<ReadTable>,
    partitions: Option<Partitions>,
    batch_rows_max: Option<usize>,
}

impl JdbcSource {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let rows = cx.options.int("scan.fetch-size").and_then(|n| usize::try_from(n).ok());
        Ok(Self {
            table: Arc::new(ReadTable::new(cx)?),
            partitions: Partitions::new(cx),
            batch_rows_max: rows.filter(|n| *n > 0),
        })
    }

    /// Bounds are whole numbers: so must the column be.
    fn check_partitions(&self, known: &Known) -> Result<()> {
        let Some(p) = &self.partitions else { return Ok(()) };
        let server = &self.table.server;
        let column = known.table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(&p.column));
        match column.map(|c| (c.kind, &c.type_name)) {
            Some((Kind::Int { .. } | Kind::Decimal { .. } | Kind::Year | Kind::Float | Kind::Double, _)) => Ok(()),
            Some((_, type_name)) => Err(Error::user(format!(
                "table {}: the partition column {} is {type_name}; only numbers can be split by bounds",
                server.table, p.column
            ))),
            None => {
                Err(Error::user(format!("table {}: table {} has no column {}", server.table, server.name, p.column)))
            }
        }
    }
}

#[async_trait]
impl Source for JdbcSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    async fn probe(&self) -> Result<()> {
        let known = self.table.probe().await?;
        self.check_partitions(&known)
    }

    async fn enumerate(&self, _parallelism: usize) -> Result<Vec<SourceSplit>> {
        self.probe().await?;
        let place = format!("{}.{}", self.table.server.url.place(), self.table.server.name);
        let split = |id: String, detail| SourceSplit { id: id.into(), position: 0, detail, size: None };
        Ok(match &self.partitions {
            None => vec![split(place, serde_json::Value::Null)],
            Some(p) => {
                let ranges = p.ranges().into_iter();
                let id = |from, to| format!("{place} {} {from} to {to}", p.column);
                ranges.map(|(from, to)| split(id(from, to), json!({ "from": from, "to": to }))).collect()
            }
        })
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }

    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(JdbcReader {
            table: self.table.clone(),
            column: self.partitions.as_ref().map(|p| p.column.clone()),
            batch_rows_max: self.batch_rows_max,
            queue: VecDeque::new(),
            current: None,
        }))
    }
}

/// The member of a split's detail that holds the conditions its position counts under.
const WHERE: &str = "where";

fn with_filter(detail: serde_json::Value, filter: String) -> serde_json::Value {
    let mut members = match detail {
        serde_json::Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    match filter.is_empty() {
        true => members.remove(WHERE),
        false => members.insert(WHERE.into(), filter.into()),
    };
    if members.is_empty() { serde_json::Value::Null } else { members.into() }
}

type Message = Result<(RecordBatch, RecordChunk)>;

/// The split that is read and the batches that come from it.
struct Current {
    split: SourceSplit,
    batches: mpsc::Receiver<Message>,
    /// Rows come in the order of a key: a count of them says where to go on.
    is_ordered: bool,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct JdbcReader {
    table: Arc<ReadTable>,
    column: Option<String>,
    batch_rows_max: Option<usize>,
    queue: VecDeque<SourceSplit>,
    current: Option<Current>,
}

/// One query.
struct Scan {
    table: Arc<ReadTable>,
    known: Arc<Known>,
    split: Arc<str>,
    between: Option<(String, i64, i64)>,
    position: u64,
    max_rows: usize,
}

impl JdbcReader {
    async fn start(&self, mut split: SourceSplit, max_rows: usize) -> Result<Current> {
        let known = self.table.probe_once().await?;
        let is_ordered = !known.table.primary_key.is_empty();
        if split.position > 0 && !is_ordered {
            tracing::warn!(
                "table {}: table {} has no primary key, so that its rows have no order: {} is read anew",
                self.table.server.table,
                self.table.server.name,
                split.id
            );
            split.position = 0;
        }
        // A count of rows means nothing where others are left out.
        let filter = self.table.filter_text();
        let before = split.detail.get(WHERE).and_then(serde_json::Value::as_str).unwrap_or_default();
        if split.position > 0 && before != filter {
            tracing::warn!(
                "table {}: the conditions that the database applies are others than in the checkpoint: {} is read anew",
                self.table.server.table,
                split.id
            );
            split.position = 0;
        }
        split.detail = with_filter(split.detail, filter);
        let bound = |name: &str| split.detail.get(name).and_then(serde_json::Value::as_i64);
        let between = self.column.clone().zip(bound("from").zip(bound("to"))).map(|(c, (from, to))| (c, from, to));
        let scan = Scan {
            table: self.table.clone(),
            known,
            split: split.id.clone(),
            between,
            position: split.position,
            max_rows: self.batch_rows_max.map_or(max_rows, |n| n.min(max_rows)).max(1),
        };
        let (send, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = tokio::spawn(async move {
            if let Err(e) = scan.run(&send).await {
                // The reader may be gone already; then nobody needs the error.
                let _ = send.send(Err(e)).await;
            }
        });
        Ok(Current { split, batches, is_ordered, task })
    }
}

impl Scan {
    async fn run(&self, send: &mpsc::Sender<Message>) -> Result<()> {
        let server = &self.table.server;
        let fail = |e: DbError| server.error("read", &e);
        let order = &self.known.table.primary_key;
        let column = self.between.as_ref().map(|(column, ..)| column.as_str());
        let sql = self.known.statements.scan(column, &self.known.filter, order, self.position);
        let arguments = self.arguments().map_err(fail)?;
        let mut connection = server.connect().await.map_err(fail)?;
        {
            let mut rows = connection.fetch(&sql, arguments);
            let mut batch = self.table.batch(self.split.clone(), self.position);
            while let Some(row) = rows.next().await {
                self.table.push(&mut batch, &self.known, &row.map_err(fail)?);
                if batch.waiting() >= self.max_rows && send.send(Ok(batch.take()?)).await.is_err() {
                    return Ok(());
                }
            }
            if batch.waiting() > 0 {
                let _ = send.send(Ok(batch.take()?)).await;
            }
        }
        connection.close().await;
        Ok(())
    }

    fn arguments(&self) -> Result<Arguments, DbError> {
        let product = self.table.server.product();
        let mut arguments = Arguments::none(product);
        if let Some((_, from, to)) = &self.between {
            arguments.add(&[Value::Int(*from), Value::Int(*to)])?;
        }
        arguments.add(self.known.filter.values())?;
        Ok(arguments)
    }
}

#[async_trait(?Send)]
impl SourceReader for JdbcReader {
    fn add_split(&mut self, split: SourceSplit) {
        self.queue.push_back(split);
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(split) = self.queue.pop_front() else { return Ok(SourceOutput::Exhausted) };
                self.current = Some(self.start(split, max_rows).await?);
                continue;
            };
            match tokio::time::timeout(max_wait, current.batches.recv()).await {
                Ok(Some(Ok((columns, chunk)))) => {
                    current.split.position += (chunk.records.len() + chunk.refused.len()) as u64;
                    return Ok(SourceOutput::Rows(columns, Arc::new(chunk)));
                }
                Ok(Some(Err(e))) => return Err(e),
                Ok(None) => self.current = None,
                Err(_) => return Ok(SourceOutput::Idle),
            }
        }
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        let current = self.current.iter().map(|c| {
            // Without an order there is no place to go on from: the split starts anew.
            let position = if c.is_ordered { c.split.position } else { 0 };
            SourceSplit { position, ..c.split.clone() }
        });
        current.chain(self.queue.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(count: i64, lower: i64, upper: i64) -> Vec<(i64, i64)> {
        Partitions { column: "id".into(), count, lower, upper }.ranges()
    }

    #[test]
    fn partitions_cover_their_bounds_without_gap_or_overlap() {
        assert_eq!(ranges(3, 1, 10), [(1, 3), (4, 6), (7, 10)]);
        assert_eq!(ranges(5, 1, 2), [(1, 1), (2, 2)]);
        assert_eq!(ranges(1, -5, 5), [(-5, 5)]);
        let all = ranges(7, i64::MIN, i64::MAX);
        assert_eq!((all[0].0, all[6].1), (i64::MIN, i64::MAX));
        assert!(all.windows(2).all(|w| w[0].1 + 1 == w[1].0));
    }
}
