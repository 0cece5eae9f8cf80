//! Which tablet a row belongs to.

use crate::encode;
use crate::error::{Error, Result};
use crate::pb::kudu::partition_schema_pb::{ColumnIdentifierPb, HashBucketSchemaPb, column_identifier_pb::Identifier};
use crate::pb::kudu::row_operations_pb::Type as OpType;
use crate::pb::kudu::{PartitionPb, PartitionSchemaPb};
use crate::row::Row;
use crate::schema::Schema;
use crate::value::Value;

/// Hash buckets by some columns.
#[derive(Debug, Clone, PartialEq)]
pub struct HashDimension {
    /// Places of the columns in the schema.
    pub columns: Vec<usize>,
    pub buckets: u32,
    pub seed: u32,
}

/// A range of keys that has hash buckets of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CustomRange {
    pub lower: Vec<u8>,
    /// Empty: without end.
    pub upper: Vec<u8>,
    pub hash: Vec<HashDimension>,
}

/// How the rows of a table are spread over its tablets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PartitionSchema {
    pub(crate) hash: Vec<HashDimension>,
    pub(crate) range: Vec<usize>,
    pub(crate) custom: Vec<CustomRange>,
}

/// Where a row belongs: a bucket per hash dimension, and its place among the ranges.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Point {
    pub buckets: Vec<u32>,
    pub range_key: Vec<u8>,
}

impl Point {
    pub fn hash_key(&self) -> Vec<u8> {
        self.buckets.iter().flat_map(|b| b.to_be_bytes()).collect()
    }
    /// As the servers have it for tables whose ranges all have the same buckets.
    pub fn partition_key(&self) -> Vec<u8> {
        [self.hash_key(), self.range_key.clone()].concat()
    }
}

/// What one tablet holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    pub buckets: Vec<u32>,
    pub range_start: Vec<u8>,
    /// Empty: without end.
    pub range_end: Vec<u8>,
}

impl Partition {
    /// The first tablet may start and the last may end with nothing, or with their buckets: servers differ by version.
    pub fn from_pb(pb: &PartitionPb) -> Result<Self> {
        let buckets = pb.hash_buckets.iter().map(|b| u32::try_from(*b));
        let buckets: Vec<u32> = buckets.collect::<Result<_, _>>().map_err(|_| Error::protocol("a negative bucket"))?;
        let prefix: Vec<u8> = buckets.iter().flat_map(|b| b.to_be_bytes()).collect();
        let range_start = pb.partition_key_start().get(prefix.len()..).unwrap_or_default().to_vec();
        let range_end = pb.partition_key_end().strip_prefix(&prefix[..]).unwrap_or_default().to_vec();
        Ok(Self { buckets, range_start, range_end })
    }
    pub fn covers(&self, point: &Point) -> bool {
        self.buckets == point.buckets
            && self.range_start <= point.range_key
            && (self.range_end.is_empty() || point.range_key < self.range_end)
    }
}

impl PartitionSchema {
    /// Places of the columns that rows are ranged by.
    pub fn range_columns(&self) -> &[usize] {
        &self.range
    }
    /// The hash dimensions of ranges without their own.
    pub fn hash_dimensions(&self) -> &[HashDimension] {
        &self.hash
    }
    /// Whether some ranges have hash buckets of their own.
    pub fn has_custom_hash(&self) -> bool {
        !self.custom.is_empty()
    }

    pub(crate) fn point(&self, row: &Row) -> Result<Point> {
        let range_key = encode::columns(row, &self.range)?;
        let dimensions = self.dimensions_at(&range_key);
        let buckets = dimensions.iter().map(|d| d.bucket(row)).collect::<Result<_>>()?;
        Ok(Point { buckets, range_key })
    }

    /// The hash dimensions of the range that a key lies in.
    pub(crate) fn dimensions_at(&self, range_key: &[u8]) -> &[HashDimension] {
        let own = self
            .custom
            .iter()
            .find(|c| c.lower.as_slice() <= range_key && (c.upper.is_empty() || range_key < c.upper.as_slice()));
        own.map_or(&self.hash, |c| &c.hash)
    }

    pub(crate) fn from_pb(pb: &PartitionSchemaPb, schema: &Schema) -> Result<Self> {
        let hash = pb.hash_schema.iter().map(|h| HashDimension::from_pb(h, schema)).collect::<Result<_>>()?;
        let range = match &pb.range_schema {
            Some(r) => columns_from_pb(&r.columns, schema)?,
            None => (0..schema.key_count()).collect(),
        };
        let mut custom = Vec::new();
        for own in &pb.custom_hash_schema_ranges {
            let bounds = encode::decode_rows(schema, own.range_bounds.as_ref().unwrap_or(&Default::default()))?;
            let [(lower_op, lower), (upper_op, upper)] = bounds.as_slice() else {
                return Err(Error::protocol(format!("a range with {} bounds", bounds.len())));
            };
            let mut lower = bound_key(lower, &range)?;
            let mut upper = bound_key(upper, &range)?;
            if *lower_op == OpType::ExclusiveRangeLowerBound && !lower.is_empty() {
                lower.push(0);
            }
            if *upper_op == OpType::InclusiveRangeUpperBound && !upper.is_empty() {
                upper.push(0);
            }
            let hash = own.hash_schema.iter().map(|h| HashDimension::from_pb(h, schema)).collect::<Result<_>>()?;
            custom.push(CustomRange { lower, upper, hash });
        }
        Ok(Self { hash, range, custom })
    }
}

impl HashDimension {
    fn from_pb(pb: &HashBucketSchemaPb, schema: &Schema) -> Result<Self> {
        let buckets = u32::try_from(pb.num_buckets).ok().filter(|n| *n > 0);
        let buckets = buckets.ok_or_else(|| Error::protocol(format!("{} hash buckets", pb.num_buckets)))?;
        Ok(Self { columns: columns_from_pb(&pb.columns, schema)?, buckets, seed: pb.seed() })
    }
    fn bucket(&self, row: &Row) -> Result<u32> {
        Ok(self.bucket_of(&encode::columns(row, &self.columns)?))
    }
    pub(crate) fn bucket_of(&self, encoded: &[u8]) -> u32 {
        (encode::murmur2(encoded, self.seed.into()) % u64::from(self.buckets)) as u32
    }
}

fn columns_from_pb(columns: &[ColumnIdentifierPb], schema: &Schema) -> Result<Vec<usize>> {
    let place = |c: &ColumnIdentifierPb| match &c.identifier {
        Some(Identifier::Id(id)) => u32::try_from(*id).ok().and_then(|id| schema.index_of_id(id)),
        Some(Identifier::Name(name)) => schema.index_of(name).ok(),
        None => None,
    };
    columns
        .iter()
        .map(|c| place(c).ok_or_else(|| Error::protocol("a partition by a column that the table does not have")))
        .collect()
}

/// A bound of a range; empty when no column is set. What is not set beside others counts as its least value.
pub(crate) fn bound_key(row: &Row, range: &[usize]) -> Result<Vec<u8>> {
    if range.iter().all(|i| row.cells()[*i].is_none()) {
        return Ok(vec![]);
    }
    let mut row = row.clone();
    for i in range {
        if row.cells()[*i].is_none() {
            let least = least(&row, *i);
            row.set(*i, least)?;
        }
    }
    encode::columns(&row, range)
}

/// The least value of a key column.
pub(crate) fn least(row: &Row, column: usize) -> Value {
    use crate::schema::DataType;
    match row.schema().columns()[column].data_type {
        DataType::Int8 => Value::Int8(i8::MIN),
        DataType::Int16 => Value::Int16(i16::MIN),
        DataType::Int32 => Value::Int32(i32::MIN),
        DataType::Int64 => Value::Int64(i64::MIN),
        DataType::UnixtimeMicros => Value::UnixtimeMicros(i64::MIN),
        DataType::Date => Value::Date(-719_162),
        DataType::Decimal { precision, scale } => {
            Value::Decimal { unscaled: 1 - 10i128.pow(u32::from(precision)), scale }
        }
        DataType::Binary => Value::Binary(Default::default()),
        _ => Value::String(String::new()),
    }
}
