//! Rows by the values of some columns: of many keys at once, in as few scans as possible.
//!
//! Kudu has no request for many keys. So keys are sorted by the tablet that holds them and become IN lists: a key of
//! one column needs one scan per tablet; of more columns, one per tablet and distinct rest of the key.

use super::{Options, ReadMode, ReplicaSelection, Scan, ScanBuilder, Spec};
use crate::error::{Error, Result};
use crate::partition::Point;
use crate::predicate::{Predicate, order};
use crate::retry::Deadline;
use crate::row::Row;
use crate::schema::DataType;
use crate::table::Table;
use crate::tablets::Tablet;
use crate::value::Value;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{StreamExt, TryStreamExt};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Values of one IN list at most.
const MAX_LIST: usize = 1000;

/// A lookup to be: by which columns, what is read.
#[must_use]
#[derive(Debug, Clone)]
pub struct LookupBuilder {
    table: Table,
    by: Option<Vec<String>>,
    columns: Option<Vec<String>>,
    predicates: Vec<Predicate>,
    concurrency: usize,
    options: Options,
}

impl LookupBuilder {
    pub(crate) fn new(table: &Table) -> Self {
        let options = ScanBuilder::new(table).options;
        Self { table: table.clone(), by: None, columns: None, predicates: vec![], concurrency: 16, options }
    }
    /// The columns that keys give values of; else those of the primary key. Fast where they fix the tablet.
    pub fn by<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.by = Some(columns.into_iter().map(Into::into).collect());
        self
    }
    /// The columns that are read; else all. Include those of the key to know which row answers which key.
    pub fn project<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }
    /// A condition beyond the key.
    pub fn predicate(mut self, predicate: Predicate) -> Self {
        self.predicates.push(predicate);
        self
    }
    /// Scans under way at the same time, over all calls (16).
    pub fn concurrency(mut self, scans: usize) -> Self {
        self.concurrency = scans.max(1);
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
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = timeout;
        self
    }
    pub fn build(self) -> Result<Lookup> {
        let schema = self.table.schema();
        let by = match &self.by {
            Some(names) => names.iter().map(|n| schema.index_of(n)).collect::<Result<Vec<_>>>()?,
            None => (0..schema.key_count()).collect(),
        };
        let unique: HashSet<_> = by.iter().collect();
        if by.is_empty() || unique.len() < by.len() {
            return Err(Error::invalid("a lookup is by one or more columns, each once"));
        }
        let partitions = self.table.partition_schema();
        let all_hash = partitions.hash.iter().chain(partitions.custom.iter().flat_map(|c| &c.hash));
        let mut needed = partitions.range.iter().chain(all_hash.flat_map(|h| &h.columns));
        let one_tablet = needed.all(|c| by.contains(c));
        let lookup = Lookup {
            by,
            one_tablet,
            permits: Arc::new(Semaphore::new(self.concurrency)),
            arrow: self.scan(vec![])?.arrow.clone(),
            concurrency: self.concurrency,
            builder: Arc::new(self),
        };
        Ok(lookup)
    }

    fn scan(&self, more: Vec<Predicate>) -> Result<Spec> {
        let mut scan = ScanBuilder::new(&self.table).predicates(self.predicates.clone()).predicates(more);
        if let Some(columns) = &self.columns {
            scan = scan.project(columns.clone());
        }
        scan.options = self.options.clone();
        scan.spec()
    }
}

/// Looks rows up; cheap to clone, to be used by many tasks at the same time.
#[derive(Clone)]
pub struct Lookup {
    builder: Arc<LookupBuilder>,
    by: Vec<usize>,
    /// Whether a key fixes the tablet that its row is of.
    one_tablet: bool,
    permits: Arc<Semaphore>,
    arrow: SchemaRef,
    concurrency: usize,
}

/// Keys of one tablet that agree in all columns but one.
type Groups = BTreeMap<(Option<String>, Vec<u8>), Group>;

struct Group {
    tablet: Option<Arc<Tablet>>,
    key: Vec<Value>,
    list: Vec<Value>,
}

impl Lookup {
    /// The columns of the answers.
    pub fn schema(&self) -> SchemaRef {
        self.arrow.clone()
    }

    /// The rows of these keys, each once, in no order. A key has a value per column of the lookup, in its order; one
    /// with a NULL, and one with a value that the column cannot hold, has no row.
    pub async fn get(&self, keys: impl IntoIterator<Item = Vec<Value>>) -> Result<Vec<RecordBatch>> {
        let listed = self.listed_column(&keys.into_iter().map(|k| self.fit(k)).collect::<Result<Vec<_>>>()?);
        let (listed, keys) = listed;
        let groups = self.group(listed, keys).await?;
        let scans = groups.into_values().flat_map(|g| {
            let lists: Vec<Vec<Value>> = g.list.chunks(MAX_LIST).map(<[Value]>::to_vec).collect();
            lists.into_iter().map(move |list| (g.tablet.clone(), g.key.clone(), list))
        });
        let answers = futures::stream::iter(scans)
            .map(|(tablet, key, list)| self.scan(tablet, key, listed, list))
            .buffer_unordered(self.concurrency);
        let batches: Vec<Vec<RecordBatch>> = answers.try_collect().await?;
        Ok(batches.into_iter().flatten().collect())
    }

    /// The values as the columns hold them; None when there can be no such row.
    fn fit(&self, key: Vec<Value>) -> Result<Option<Vec<Value>>> {
        if key.len() != self.by.len() {
            return Err(Error::invalid(format!("a key of {} values for {} columns", key.len(), self.by.len())));
        }
        let mut fitted = Vec::with_capacity(key.len());
        for (value, i) in key.into_iter().zip(&self.by) {
            let column = &self.builder.table.schema().columns()[*i];
            if matches!(value, Value::Null) {
                return Ok(None);
            }
            let same_kind = value_is_of(&value, column.data_type);
            match value.fit(column) {
                Ok(v) => fitted.push(v),
                // Too large or too long for the column: no row can have it.
                Err(_) if same_kind => return Ok(None),
                Err(e) => return Err(e),
            }
        }
        Ok(Some(fitted))
    }

    /// The column with the most different values becomes the IN list.
    fn listed_column(&self, keys: &[Option<Vec<Value>>]) -> (usize, Vec<Vec<Value>>) {
        let keys: Vec<Vec<Value>> = keys.iter().flatten().cloned().collect();
        let distinct = |i: usize| keys.iter().map(|k| k[i].to_string()).collect::<HashSet<_>>().len();
        let listed = match self.by.len() {
            1 => 0,
            n => (0..n).max_by_key(|i| distinct(*i)).unwrap_or(0),
        };
        (listed, keys)
    }

    async fn group(&self, listed: usize, keys: Vec<Vec<Value>>) -> Result<Groups> {
        let mut groups = Groups::new();
        for mut key in keys {
            let tablet = match self.tablet(&key).await {
                // No partition, no row.
                Err(Error::NonCoveredRange { .. }) => continue,
                found => found?,
            };
            let value = std::mem::replace(&mut key[listed], Value::Null);
            let mut rest = Vec::new();
            for v in &key {
                let text = v.to_string();
                rest.extend((text.len() as u64).to_be_bytes());
                rest.extend(text.into_bytes());
            }
            let id = (tablet.as_ref().map(|t| t.id.clone()), rest);
            groups.entry(id).or_insert_with(|| Group { tablet, key, list: vec![] }).list.push(value);
        }
        for g in groups.values_mut() {
            g.list.sort_by(order);
            g.list.dedup();
        }
        Ok(groups)
    }

    async fn tablet(&self, key: &[Value]) -> Result<Option<Arc<Tablet>>> {
        if !self.one_tablet {
            return Ok(None);
        }
        let table = &self.builder.table;
        let mut row = Row::new(table.schema());
        for (v, i) in key.iter().zip(&self.by) {
            row.set(*i, v.clone())?;
        }
        let point: Point = table.partition_schema().point(&row)?;
        let deadline = Deadline::within(self.builder.options.timeout);
        table.tablet(&point, deadline).await.map(Some)
    }

    async fn scan(
        &self,
        tablet: Option<Arc<Tablet>>,
        key: Vec<Value>,
        listed: usize,
        list: Vec<Value>,
    ) -> Result<Vec<RecordBatch>> {
        let name = |i: usize| self.builder.table.schema().columns()[self.by[i]].name.clone();
        let mut predicates = vec![Predicate::is_in(name(listed), list)];
        for (i, v) in key.into_iter().enumerate().filter(|(i, _)| *i != listed) {
            predicates.push(Predicate::eq(name(i), v));
        }
        let spec = Arc::new(self.builder.scan(predicates)?);
        let _permit = self.permits.acquire().await.map_err(|_| Error::protocol("the lookup was closed"))?;
        Scan::new(spec, tablet.map(|t| vec![t])).collect().await
    }
}

/// Whether a value is of the column's kind, so that its not fitting means only that it is too large.
fn value_is_of(value: &Value, data_type: DataType) -> bool {
    match value {
        Value::Int8(_) | Value::Int16(_) | Value::Int32(_) | Value::Int64(_) => {
            matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
        }
        Value::Decimal { .. } => matches!(data_type, DataType::Decimal { .. }),
        Value::String(_) => matches!(data_type, DataType::String | DataType::Varchar { .. }),
        Value::Binary(_) => data_type == DataType::Binary,
        Value::Date(_) => data_type == DataType::Date,
        _ => false,
    }
}
