//! Tables made and changed.

use crate::client::{Client, by_name};
use crate::encode::RowOperations;
use crate::error::{Error, Result};
use crate::pb::kudu::master::alter_table_request_pb as step;
use crate::pb::kudu::master::{self as pb, MasterFeatures};
use crate::pb::kudu::partition_schema_pb::{
    ColumnIdentifierPb, HashBucketSchemaPb, RangeSchemaPb, RangeWithHashSchemaPb, column_identifier_pb::Identifier,
};
use crate::pb::kudu::row_operations_pb::Type as OpType;
use crate::pb::kudu::{ColumnSchemaDeltaPb, PartitionSchemaPb, RowOperationsPb};
use crate::row::Row;
use crate::schema::{ColumnSchema, Compression, Encoding, MAX_NAME, Schema};
use crate::table::Table;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// One end of a range; a row in which the range columns are set. Nothing set: without end.
#[derive(Debug, Clone)]
pub enum Bound {
    Inclusive(Row),
    Exclusive(Row),
}

/// Hash buckets of a table or of a range, by column names.
#[derive(Debug, Clone, PartialEq)]
pub struct HashBuckets {
    pub columns: Vec<String>,
    pub buckets: u32,
    pub seed: u32,
}

impl HashBuckets {
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>, buckets: u32) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), buckets, seed: 0 }
    }
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }
    fn to_pb(&self, schema: &Schema) -> Result<HashBucketSchemaPb> {
        if self.buckets < 2 {
            return Err(Error::invalid(format!("{} hash buckets: 2 are the least", self.buckets)));
        }
        Ok(HashBucketSchemaPb {
            columns: identifiers(&self.columns, schema)?,
            num_buckets: i32::try_from(self.buckets).map_err(|_| Error::invalid("too many hash buckets"))?,
            seed: Some(self.seed),
            hash_algorithm: None,
        })
    }
}

/// A range of keys that a table has rows of.
#[derive(Debug, Clone)]
pub struct RangePartition {
    lower: Bound,
    upper: Bound,
    hash: Option<Vec<HashBuckets>>,
}

impl RangePartition {
    /// From `lower` on, up to and without `upper`.
    pub fn new(lower: Row, upper: Row) -> Self {
        Self::between(Bound::Inclusive(lower), Bound::Exclusive(upper))
    }
    pub fn between(lower: Bound, upper: Bound) -> Self {
        Self { lower, upper, hash: None }
    }
    /// Hash buckets of this range alone (Kudu 1.17).
    pub fn hash(mut self, hash: impl IntoIterator<Item = HashBuckets>) -> Self {
        self.hash = Some(hash.into_iter().collect());
        self
    }
    fn encode(&self, rows: &mut RowOperations) {
        match &self.lower {
            Bound::Inclusive(r) => rows.add(OpType::RangeLowerBound, r, false),
            Bound::Exclusive(r) => rows.add(OpType::ExclusiveRangeLowerBound, r, false),
        }
        match &self.upper {
            Bound::Exclusive(r) => rows.add(OpType::RangeUpperBound, r, false),
            Bound::Inclusive(r) => rows.add(OpType::InclusiveRangeUpperBound, r, false),
        }
    }
    fn to_pb(&self) -> RowOperationsPb {
        let mut rows = RowOperations::default();
        self.encode(&mut rows);
        rows.finish()
    }
}

fn identifiers(columns: &[String], schema: &Schema) -> Result<Vec<ColumnIdentifierPb>> {
    let one = |name: &String| match schema.column(name) {
        Some(c) if c.key => Ok(ColumnIdentifierPb { identifier: Some(Identifier::Name(name.clone())) }),
        Some(_) => Err(Error::invalid(format!("partitions are by key columns, `{name}` is none"))),
        None => schema.index_of(name).map(|_| ColumnIdentifierPb::default()),
    };
    columns.iter().map(one).collect()
}

/// A table to be made.
#[must_use]
#[derive(Debug, Clone)]
pub struct TableCreator {
    client: Client,
    name: String,
    schema: Schema,
    hash: Vec<HashBuckets>,
    range_columns: Vec<String>,
    ranges: Vec<RangePartition>,
    splits: Vec<Row>,
    replicas: Option<i32>,
    owner: Option<String>,
    comment: Option<String>,
    extra: HashMap<String, String>,
    wait: bool,
}

impl TableCreator {
    pub(crate) fn new(client: &Client, name: String, schema: &Schema) -> Self {
        Self {
            client: client.clone(),
            name,
            schema: schema.clone(),
            hash: vec![],
            range_columns: vec![],
            ranges: vec![],
            splits: vec![],
            replicas: None,
            owner: None,
            comment: None,
            extra: HashMap::new(),
            wait: true,
        }
    }
    /// Spreads rows over buckets by the hash of some key columns. May be given for several sets of columns.
    pub fn hash_partitions<S: Into<String>>(self, columns: impl IntoIterator<Item = S>, buckets: u32) -> Self {
        self.hash_buckets(HashBuckets::new(columns, buckets))
    }
    pub fn hash_buckets(mut self, hash: HashBuckets) -> Self {
        self.hash.push(hash);
        self
    }
    /// The key columns whose values ranges are of.
    pub fn range_columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.range_columns = columns.into_iter().map(Into::into).collect();
        self
    }
    /// A range that rows may be of. Without any, there is one for all rows.
    pub fn range_partition(mut self, range: RangePartition) -> Self {
        self.ranges.push(range);
        self
    }
    /// Cuts the range that this row is of in two.
    pub fn split(mut self, row: Row) -> Self {
        self.splits.push(row);
        self
    }
    /// Copies of each tablet; odd. Else the cluster's own count.
    pub fn replicas(mut self, count: i32) -> Self {
        self.replicas = Some(count);
        self
    }
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
    /// `kudu.table.history_max_age_sec`, ..
    pub fn extra_config(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
    /// Whether `create` waits for the tablets (yes).
    pub fn wait(mut self, wait: bool) -> Self {
        self.wait = wait;
        self
    }

    /// Makes the table and opens it.
    #[tracing::instrument(skip(self), fields(table = self.name))]
    pub async fn create(self) -> Result<Table> {
        let (request, features) = self.request()?;
        let masters = &self.client.shared.masters;
        let answer: pb::CreateTableResponsePb =
            masters.call("CreateTable", &features, &request, self.client.deadline()).await?;
        let table = pb::TableIdentifierPb { table_id: answer.table_id, table_name: None };
        if self.wait {
            let ask = pb::IsCreateTableDoneRequestPb { table: table.clone() };
            let what = format!("creation of the table `{}`", self.name);
            self.client
                .wait_until(&what, |deadline| {
                    let ask = &ask;
                    async move {
                        let a: pb::IsCreateTableDoneResponsePb =
                            masters.call("IsCreateTableDone", &[], ask, deadline).await?;
                        Ok(a.done())
                    }
                })
                .await?;
        }
        Table::open(&self.client, table).await
    }

    fn request(&self) -> Result<(pb::CreateTableRequestPb, Vec<MasterFeatures>)> {
        if self.name.is_empty() || self.name.len() > MAX_NAME {
            return Err(Error::invalid("the name of a table has 1 to 256 bytes"));
        }
        if self.range_columns.is_empty() && !(self.ranges.is_empty() && self.splits.is_empty()) {
            return Err(Error::invalid("ranges without range columns"));
        }
        let hash = |h: &[HashBuckets]| h.iter().map(|h| h.to_pb(&self.schema)).collect::<Result<Vec<_>>>();
        let mut partition_schema = partition_schema(hash(&self.hash)?, identifiers(&self.range_columns, &self.schema)?);
        let mut features = vec![];
        let mut rows = RowOperations::default();
        let custom = self.ranges.iter().any(|r| r.hash.is_some());
        if custom {
            if !self.splits.is_empty() {
                return Err(Error::invalid("splits beside ranges that have hash buckets of their own"));
            }
            features.push(MasterFeatures::RangeSpecificHashSchema);
            for r in &self.ranges {
                let hash_schema = hash(r.hash.as_deref().unwrap_or(&self.hash))?;
                let range_bounds = Some(r.to_pb());
                partition_schema.custom_hash_schema_ranges.push(RangeWithHashSchemaPb { range_bounds, hash_schema });
            }
        } else {
            for r in &self.ranges {
                r.encode(&mut rows);
            }
            for s in &self.splits {
                rows.add(OpType::SplitRow, s, false);
            }
        }
        if !self.ranges.is_empty() {
            features.push(MasterFeatures::RangePartitionBounds);
        }
        if self.schema.columns().iter().any(|c| c.immutable) {
            features.push(MasterFeatures::ImmutableColumnAttribute);
        }
        if self.schema.columns().iter().any(|c| c.auto_incrementing) {
            features.push(MasterFeatures::AutoIncrementingColumn);
        }
        let request = pb::CreateTableRequestPb {
            name: self.name.clone(),
            schema: self.schema.to_pb()?,
            split_rows_range_bounds: Some(rows.finish()),
            partition_schema: Some(partition_schema),
            num_replicas: self.replicas,
            owner: self.owner.clone(),
            extra_configs: self.extra.clone(),
            comment: self.comment.clone(),
            ..Default::default()
        };
        Ok((request, features))
    }
}

/// The range schema must be there even without columns: left out it would mean the whole key.
fn partition_schema(hash: Vec<HashBucketSchemaPb>, range: Vec<ColumnIdentifierPb>) -> PartitionSchemaPb {
    PartitionSchemaPb {
        hash_schema: hash,
        range_schema: Some(RangeSchemaPb { columns: range }),
        custom_hash_schema_ranges: vec![],
    }
}

#[derive(Debug, Clone)]
enum Change {
    AddColumn(ColumnSchema),
    DropColumn(String),
    RenameColumn(String, String),
    Column(ColumnChange),
    AddRange(RangePartition),
    DropRange(RangePartition),
}

/// A change to one column's storage or default.
#[derive(Debug, Clone, Default)]
pub struct ColumnChange {
    name: String,
    default: Option<Value>,
    remove_default: bool,
    encoding: Option<Encoding>,
    compression: Option<Compression>,
    block_size: Option<i32>,
    comment: Option<String>,
}

impl ColumnChange {
    pub fn of(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Default::default() }
    }
    pub fn default(mut self, value: impl Into<Value>) -> Self {
        self.default = Some(value.into());
        self
    }
    pub fn remove_default(mut self) -> Self {
        self.remove_default = true;
        self
    }
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.encoding = Some(encoding);
        self
    }
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }
    pub fn block_size(mut self, bytes: i32) -> Self {
        self.block_size = Some(bytes);
        self
    }
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
}

/// Changes to a table, made together.
#[must_use]
#[derive(Debug, Clone)]
pub struct TableAlterer {
    client: Client,
    name: String,
    changes: Vec<Change>,
    rename: Option<String>,
    owner: Option<String>,
    comment: Option<String>,
}

impl TableAlterer {
    pub(crate) fn new(client: &Client, name: String) -> Self {
        Self { client: client.clone(), name, changes: vec![], rename: None, owner: None, comment: None }
    }
    fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }
    pub fn rename_to(mut self, name: impl Into<String>) -> Self {
        self.rename = Some(name.into());
        self
    }
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = Some(owner.into());
        self
    }
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
    /// A column that is not nullable needs a default, for the rows that are there.
    pub fn add_column(self, column: ColumnSchema) -> Self {
        self.change(Change::AddColumn(column))
    }
    pub fn drop_column(self, name: impl Into<String>) -> Self {
        self.change(Change::DropColumn(name.into()))
    }
    pub fn rename_column(self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.change(Change::RenameColumn(from.into(), to.into()))
    }
    pub fn alter_column(self, change: ColumnChange) -> Self {
        self.change(Change::Column(change))
    }
    pub fn add_range_partition(self, range: RangePartition) -> Self {
        self.change(Change::AddRange(range))
    }
    /// The rows of the range are deleted with it.
    pub fn drop_range_partition(self, range: RangePartition) -> Self {
        self.change(Change::DropRange(range))
    }

    /// Makes the changes and waits until all tablets have them.
    #[tracing::instrument(skip(self), fields(table = self.name))]
    pub async fn alter(self) -> Result<()> {
        let table = self.client.open_table(&self.name).await?;
        let (request, features) = self.request(&table)?;
        let masters = &self.client.shared.masters;
        let answer: pb::AlterTableResponsePb =
            masters.call("AlterTable", &features, &request, self.client.deadline()).await?;
        let identifier = pb::TableIdentifierPb { table_id: answer.table_id, table_name: None };
        let ask = pb::IsAlterTableDoneRequestPb { table: identifier };
        let what = format!("change of the table `{}`", self.name);
        let done = self.client.wait_until(&what, |deadline| {
            let ask = &ask;
            async move {
                let a: pb::IsAlterTableDoneResponsePb = masters.call("IsAlterTableDone", &[], ask, deadline).await?;
                Ok(a.done())
            }
        });
        let done = done.await;
        self.client.shared.partition_changes.fetch_add(1, Ordering::AcqRel);
        done
    }

    fn request(&self, table: &Table) -> Result<(pb::AlterTableRequestPb, Vec<MasterFeatures>)> {
        let schema = table.schema();
        let steps = self.changes.iter().map(|c| alter_step(c, schema)).collect::<Result<Vec<_>>>()?;
        let ranges = self.changes.iter().any(|c| matches!(c, Change::AddRange(_) | Change::DropRange(_)));
        let own_hash = self.changes.iter().any(|c| matches!(c, Change::AddRange(r) if r.hash.is_some()));
        let mut features = vec![];
        if ranges {
            features.extend([MasterFeatures::RangePartitionBounds, MasterFeatures::AddDropRangePartitions]);
        }
        if own_hash {
            features.push(MasterFeatures::RangeSpecificHashSchema);
        }
        let request = pb::AlterTableRequestPb {
            table: by_name(&self.name),
            alter_schema_steps: steps,
            new_table_name: self.rename.clone(),
            schema: if ranges { Some(schema.to_pb()?) } else { None },
            new_table_owner: self.owner.clone(),
            new_table_comment: self.comment.clone(),
            ..Default::default()
        };
        Ok((request, features))
    }
}

fn alter_step(change: &Change, schema: &Schema) -> Result<step::Step> {
    let of = |t: step::StepType| step::Step { r#type: Some(t as i32), ..Default::default() };
    Ok(match change {
        Change::AddColumn(c) => {
            c.check()?;
            if c.key {
                return Err(Error::invalid(format!(
                    "the key of a table is fixed, so `{}` cannot be added to it",
                    c.name
                )));
            }
            if !c.nullable && c.default.is_none() {
                return Err(Error::invalid(format!("the new column `{}` needs a default or to be nullable", c.name)));
            }
            let add_column = Some(step::AddColumn { schema: c.to_pb()? });
            step::Step { add_column, ..of(step::StepType::AddColumn) }
        }
        Change::DropColumn(name) => {
            schema.index_of(name)?;
            step::Step { drop_column: Some(step::DropColumn { name: name.clone() }), ..of(step::StepType::DropColumn) }
        }
        Change::RenameColumn(from, to) => {
            let rename_column = Some(step::RenameColumn { old_name: from.clone(), new_name: to.clone() });
            step::Step { rename_column, ..of(step::StepType::RenameColumn) }
        }
        Change::Column(c) => {
            let mut column = schema.columns()[schema.index_of(&c.name)?].clone();
            column.default = c.default.clone();
            let delta = ColumnSchemaDeltaPb {
                name: Some(c.name.clone()),
                default_value: column.default_bytes()?.map(Into::into),
                remove_default: c.remove_default.then_some(true),
                encoding: c.encoding.map(|e| e as i32),
                compression: c.compression.map(|e| e as i32),
                block_size: c.block_size,
                new_comment: c.comment.clone(),
                ..Default::default()
            };
            step::Step {
                alter_column: Some(step::AlterColumn { delta: Some(delta) }),
                ..of(step::StepType::AlterColumn)
            }
        }
        Change::AddRange(r) => {
            let custom_hash_schema = r.hash.as_ref().map(|h| {
                let hash_schema = h.iter().map(|h| h.to_pb(schema)).collect::<Result<_>>()?;
                Ok::<_, Error>(step::add_range_partition::CustomHashSchema { hash_schema })
            });
            let add = step::AddRangePartition {
                range_bounds: Some(r.to_pb()),
                custom_hash_schema: custom_hash_schema.transpose()?,
                ..Default::default()
            };
            step::Step { add_range_partition: Some(add), ..of(step::StepType::AddRangePartition) }
        }
        Change::DropRange(r) => {
            let drop = step::DropRangePartition { range_bounds: Some(r.to_pb()) };
            step::Step { drop_range_partition: Some(drop), ..of(step::StepType::DropRangePartition) }
        }
    })
}
