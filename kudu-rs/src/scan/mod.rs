//! Scans: what is asked for, and the rows that come.

mod decode;
mod lookup;
mod scanner;
mod token;

pub use lookup::{Lookup, LookupBuilder};
pub use token::ScanToken;

use crate::encode;
use crate::error::{Error, Result};
use crate::partition::least;
use crate::predicate::{self, Merged, Predicate};
use crate::prune::Pruner;
use crate::retry::Deadline;
use crate::row::Row;
use crate::schema::{ColumnSchema, DataType, Schema};
use crate::table::Table;
use crate::tablets::Tablet;
use crate::value::Value;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{BoxStream, Stream, StreamExt, TryStreamExt};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Which copy of a tablet is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplicaSelection {
    #[default]
    LeaderOnly,
    /// One on this machine, else one of the client's location, else any. It may lag behind, unless the scan is a
    /// snapshot or reads its own writes.
    Closest,
}

/// As of when rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadMode {
    /// Whatever a tablet has when it is asked.
    #[default]
    Latest,
    /// As of a time in microseconds; without one, of one and the same moment in all tablets.
    Snapshot(Option<u64>),
    /// Not before what this client has written and read.
    YourWrites,
}

/// How rows come over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowLayout {
    /// By column, where the server can do that.
    #[default]
    Columnar,
    Rows,
}

/// A scan to be: columns, conditions, and how to read.
#[must_use]
#[derive(Debug, Clone)]
pub struct ScanBuilder {
    table: Table,
    columns: Option<Vec<String>>,
    predicates: Vec<Predicate>,
    lower: Option<(Row, bool)>,
    upper: Option<(Row, bool)>,
    options: Options,
}

/// What is not of a single column.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub limit: Option<u64>,
    pub batch_bytes: u32,
    pub fault_tolerant: bool,
    pub read_mode: ReadMode,
    pub selection: ReplicaSelection,
    pub layout: RowLayout,
    pub keep_alive: Duration,
    pub cache_blocks: bool,
    pub timeout: Duration,
    pub concurrency: usize,
}

/// A scan as it is sent, shared by the scanners of its tablets.
pub(crate) struct Spec {
    pub table: Table,
    pub projection: Vec<ColumnSchema>,
    pub arrow: SchemaRef,
    /// One per column of the table.
    pub predicates: Vec<Merged>,
    pub start_key: Vec<u8>,
    pub stop_key: Vec<u8>,
    /// Bounds of the range key that follow from those of the primary key.
    pub start_range: Option<Vec<u8>>,
    pub stop_range: Option<Vec<u8>>,
    pub options: Options,
}

impl ScanBuilder {
    pub(crate) fn new(table: &Table) -> Self {
        let options = Options {
            limit: None,
            batch_bytes: 1024 * 1024,
            fault_tolerant: false,
            read_mode: ReadMode::default(),
            selection: ReplicaSelection::default(),
            layout: RowLayout::default(),
            keep_alive: Duration::from_secs(15),
            cache_blocks: true,
            timeout: table.client().shared.operation_timeout,
            concurrency: 1,
        };
        Self { table: table.clone(), columns: None, predicates: vec![], lower: None, upper: None, options }
    }
    /// The columns, in this order. With none, batches have a count of rows only.
    pub fn project<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }
    /// A condition that rows must fulfil; all of several.
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }
    pub fn predicates(mut self, predicates: impl IntoIterator<Item = Predicate>) -> Self {
        self.predicates.extend(predicates);
        self
    }
    /// Rows with this primary key or a greater one.
    pub fn lower_bound(mut self, key: Row) -> Self {
        self.lower = Some((key, true));
        self
    }
    /// Rows with a primary key greater than this.
    pub fn exclusive_lower_bound(mut self, key: Row) -> Self {
        self.lower = Some((key, false));
        self
    }
    /// Rows with a primary key less than this.
    pub fn upper_bound(mut self, key: Row) -> Self {
        self.upper = Some((key, false));
        self
    }
    /// Rows with this primary key or a lesser one.
    pub fn inclusive_upper_bound(mut self, key: Row) -> Self {
        self.upper = Some((key, true));
        self
    }
    /// So many rows at most.
    pub fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }
    /// About the bytes of one answer (1 MiB).
    pub fn batch_size_bytes(mut self, bytes: u32) -> Self {
        self.options.batch_bytes = bytes.max(1);
        self
    }
    /// Rows in the order of their keys within a tablet, of a snapshot; a scan that loses its server goes on at another
    /// one, without losing or repeating a row.
    pub fn fault_tolerant(mut self) -> Self {
        self.options.fault_tolerant = true;
        self
    }
    pub fn read_mode(mut self, mode: ReadMode) -> Self {
        self.options.read_mode = mode;
        self
    }
    pub fn replica_selection(mut self, selection: ReplicaSelection) -> Self {
        self.options.selection = selection;
        self
    }
    pub fn layout(mut self, layout: RowLayout) -> Self {
        self.options.layout = layout;
        self
    }
    /// How often servers are told that a slow reader is still there (15 s).
    pub fn keep_alive(mut self, period: Duration) -> Self {
        self.options.keep_alive = period.max(Duration::from_millis(10));
        self
    }
    /// Whether servers keep the blocks that they read in their cache (yes); better not for large scans.
    pub fn cache_blocks(mut self, cache: bool) -> Self {
        self.options.cache_blocks = cache;
        self
    }
    /// The time for one answer, repetitions among it; else that of the client's operations.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }
    /// Tablets that are read at the same time (1). With more than one, rows of several tablets come mixed.
    /// A scan with a limit reads one by one all the same.
    pub fn concurrency(mut self, tablets: usize) -> Self {
        self.options.concurrency = tablets.max(1);
        self
    }

    /// The stream of the rows; nothing is sent before it is polled.
    pub fn build(self) -> Result<Scan> {
        let spec = Arc::new(self.spec()?);
        Ok(Scan::new(spec, None))
    }

    /// The scan in pieces, one per tablet, to be read in parallel or elsewhere.
    pub async fn tokens(self) -> Result<Vec<ScanToken>> {
        let spec = Arc::new(self.spec()?);
        let tablets = spec.tablets().await?;
        Ok(tablets.into_iter().map(|tablet| ScanToken::new(spec.clone(), tablet)).collect())
    }

    pub(crate) fn spec(self) -> Result<Spec> {
        let schema = self.table.schema().clone();
        let column = |name: &String| schema.index_of(name).map(|i| schema.columns()[i].clone());
        let projection: Vec<ColumnSchema> = match &self.columns {
            Some(names) => names.iter().map(column).collect::<Result<_>>()?,
            None => schema.columns().to_vec(),
        };
        let predicates = predicate::merge(&schema, &self.predicates)?;
        let range = &self.table.partition_schema().range;
        // Ranges follow from key bounds only where they are by the first columns of the key.
        let by_prefix = !range.is_empty() && range.iter().enumerate().all(|(i, c)| i == *c);
        let mut spec = Spec {
            arrow: decode::arrow_schema(&projection),
            projection,
            predicates,
            start_key: vec![],
            stop_key: vec![],
            start_range: None,
            stop_range: None,
            options: self.options,
            table: self.table.clone(),
        };
        if let Some((row, inclusive)) = self.lower {
            spec.start_range = by_prefix.then(|| encode::columns(&row, range)).transpose()?;
            match if inclusive { Some(row) } else { successor(row) } {
                Some(row) => spec.start_key = encode::primary_key(&row)?,
                None => spec.nothing(),
            }
        }
        if let Some((row, inclusive)) = self.upper {
            let above = |mut key: Vec<u8>| {
                key.push(0);
                key
            };
            spec.stop_range = by_prefix.then(|| encode::columns(&row, range)).transpose()?.map(above);
            // Nothing is above the greatest key: no bound.
            if let Some(row) = if inclusive { successor(row) } else { Some(row) } {
                spec.stop_key = encode::primary_key(&row)?;
                if spec.stop_key.is_empty() || (!spec.start_key.is_empty() && spec.stop_key <= spec.start_key) {
                    spec.nothing();
                }
            }
        }
        Ok(spec)
    }
}

impl Spec {
    /// No row can fulfil this.
    fn nothing(&mut self) {
        if let Some(first) = self.predicates.first_mut() {
            *first = Merged::Nothing;
        }
    }

    /// The tablets that may hold a row of the scan.
    async fn tablets(&self) -> Result<Vec<Arc<Tablet>>> {
        if self.predicates.contains(&Merged::Nothing) || self.options.limit == Some(0) {
            return Ok(vec![]);
        }
        let mut pruner = Pruner::new(self.table.schema(), self.table.partition_schema(), &self.predicates);
        pruner.narrow(self.start_range.clone(), self.stop_range.clone());
        let mut all = self.table.tablets(Deadline::within(self.options.timeout)).await?;
        all.retain(|t| pruner.may_hold(&t.partition));
        Ok(all)
    }
}

/// The least key above this one; None when it is the greatest.
fn successor(mut row: Row) -> Option<Row> {
    for i in (0..row.schema().key_count()).rev() {
        let data_type = row.schema().columns()[i].data_type;
        let next = match row.cells()[i].clone()? {
            Value::Int8(v) => v.checked_add(1).map(Value::Int8),
            Value::Int16(v) => v.checked_add(1).map(Value::Int16),
            Value::Int32(v) => v.checked_add(1).map(Value::Int32),
            Value::Int64(v) => v.checked_add(1).map(Value::Int64),
            Value::UnixtimeMicros(v) => v.checked_add(1).map(Value::UnixtimeMicros),
            Value::Date(v) => v.checked_add(1).map(Value::Date),
            Value::Decimal { unscaled, scale } => Some(Value::Decimal { unscaled: unscaled + 1, scale }),
            Value::Binary(b) => Some(Value::Binary([&b[..], &[0]].concat().into())),
            // One character more would be too long for a VARCHAR that is full; then the next prefix would be needed.
            Value::String(s) => Some(Value::String(format!("{s}\0"))),
            _ => None,
        };
        let next = match (data_type, next) {
            (DataType::Varchar { .. }, Some(Value::String(s))) => {
                row.set_unchecked(i, Value::String(s));
                return Some(row);
            }
            (_, next) => next,
        };
        if next.is_some_and(|v| row.set(i, v).is_ok()) {
            return Some(row);
        }
        let least = least(&row, i);
        row.set(i, least).ok()?;
    }
    None
}

/// The rows of a scan, in batches. Dropping it ends the scan at the servers too.
pub struct Scan {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
}

impl Scan {
    pub(crate) fn new(spec: Arc<Spec>, tablets: Option<Vec<Arc<Tablet>>>) -> Self {
        let schema = spec.arrow.clone();
        let parallel = spec.options.concurrency > 1 && spec.options.limit.is_none();
        let batches = if parallel { many_at_once(spec, tablets) } else { one_by_one(spec, tablets) };
        Self { schema, batches }
    }
    /// The columns of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
    /// The next batch; None at the end.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.batches.next().await
    }
    /// All rows; for tables that are known to be small.
    pub async fn collect(self) -> Result<Vec<RecordBatch>> {
        self.batches.try_collect().await
    }
}

impl Stream for Scan {
    type Item = Result<RecordBatch>;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.as_mut().poll_next(cx)
    }
}

/// The state of a scan that reads tablet after tablet.
struct Walk {
    spec: Arc<Spec>,
    tablets: Option<VecDeque<Arc<Tablet>>>,
    scanner: Option<scanner::Scanner>,
    left: Option<u64>,
    /// The moment that the first tablet was read as of.
    snapshot: Option<u64>,
}

fn one_by_one(spec: Arc<Spec>, tablets: Option<Vec<Arc<Tablet>>>) -> BoxStream<'static, Result<RecordBatch>> {
    let left = spec.options.limit;
    let walk = Walk { spec, tablets: tablets.map(Into::into), scanner: None, left, snapshot: None };
    // An error is the last item.
    futures::stream::try_unfold(walk, |mut walk| async move {
        let batch = walk.next().await?;
        Ok(batch.map(|b| (b, walk)))
    })
    .boxed()
}

impl Walk {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            let Some(scanner) = &mut self.scanner else {
                if self.tablets.is_none() {
                    self.tablets = Some(self.spec.tablets().await?.into());
                }
                let Some(tablet) = self.tablets.as_mut().and_then(VecDeque::pop_front) else { return Ok(None) };
                self.scanner = Some(scanner::Scanner::new(self.spec.clone(), &tablet, self.left, self.snapshot));
                continue;
            };
            let batch = scanner.next().await?;
            self.snapshot = self.snapshot.or(scanner.snapshot());
            match batch {
                None => self.scanner = None,
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => {
                    let batch = match self.left {
                        Some(left) if (batch.num_rows() as u64) > left => batch.slice(0, left as usize),
                        _ => batch,
                    };
                    self.left = self.left.map(|left| left - batch.num_rows() as u64);
                    return Ok(Some(batch));
                }
            }
        }
    }
}

fn many_at_once(spec: Arc<Spec>, tablets: Option<Vec<Arc<Tablet>>>) -> BoxStream<'static, Result<RecordBatch>> {
    let concurrency = spec.options.concurrency;
    let found = async move {
        let tablets = match tablets {
            Some(t) => t,
            None => spec.tablets().await?,
        };
        let each = move |t: Arc<Tablet>| one_by_one(spec.clone(), Some(vec![t]));
        Ok::<_, Error>(futures::stream::iter(tablets).map(each).flatten_unordered(concurrency))
    };
    futures::stream::once(found).try_flatten().boxed()
}

/// Arrow's type of a column's values.
pub fn arrow_type(data_type: DataType) -> arrow::datatypes::DataType {
    decode::arrow_type(data_type)
}

/// Arrow's schema of a whole table.
pub fn arrow_schema(schema: &Schema) -> SchemaRef {
    decode::arrow_schema(schema.columns())
}
