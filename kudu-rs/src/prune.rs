//! Tablets that cannot hold a row of a scan are not asked.

use crate::encode;
use crate::partition::{HashDimension, Partition, PartitionSchema};
use crate::predicate::Merged;
use crate::schema::Schema;
use crate::value::Value;

/// Combinations of IN lists that are hashed at most; beyond that all buckets are asked.
const MAX_COMBINATIONS: usize = 10_000;

/// What of a table a scan touches.
pub(crate) struct Pruner<'a> {
    schema: &'a Schema,
    partitions: &'a PartitionSchema,
    predicates: &'a [Merged],
    /// `lower <= range key < upper`; None: without end.
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
}

impl<'a> Pruner<'a> {
    pub fn new(schema: &'a Schema, partitions: &'a PartitionSchema, predicates: &'a [Merged]) -> Self {
        let lower = lower_bound(schema, partitions, predicates);
        let upper = upper_bound(schema, partitions, predicates);
        Self { schema, partitions, predicates, lower, upper }
    }

    /// Narrows the range of keys further (bounds by primary key).
    pub fn narrow(&mut self, lower: Option<Vec<u8>>, upper: Option<Vec<u8>>) {
        if let Some(l) = lower {
            self.lower = std::mem::take(&mut self.lower).max(l);
        }
        if let Some(u) = upper {
            self.upper = Some(match self.upper.take() {
                Some(mine) => mine.min(u),
                None => u,
            });
        }
    }

    /// For each dimension the buckets that may hold a row; None: all.
    fn allowed(&self, dimensions: &[HashDimension]) -> Vec<Option<Vec<u32>>> {
        dimensions.iter().map(|d| buckets(self.schema, d, self.predicates)).collect()
    }

    pub fn may_hold(&self, partition: &Partition) -> bool {
        if self.predicates.contains(&Merged::Nothing) {
            return false;
        }
        let below = self.upper.as_ref().is_none_or(|u| partition.range_start < *u);
        let above = partition.range_end.is_empty() || partition.range_end > self.lower;
        below && above && {
            let dimensions = self.partitions.dimensions_at(&partition.range_start);
            let allowed = self.allowed(dimensions);
            partition.buckets.iter().zip(&allowed).all(|(b, a)| a.as_ref().is_none_or(|a| a.contains(b)))
        }
    }
}

fn values_of(merged: &Merged) -> Option<&[Value]> {
    match merged {
        Merged::Equal(v) => Some(std::slice::from_ref(v)),
        Merged::In(values) => Some(values),
        _ => None,
    }
}

fn buckets(schema: &Schema, dimension: &HashDimension, predicates: &[Merged]) -> Option<Vec<u32>> {
    let lists: Vec<&[Value]> = dimension.columns.iter().map(|c| values_of(&predicates[*c])).collect::<Option<_>>()?;
    let combinations = lists.iter().try_fold(1usize, |n, l| n.checked_mul(l.len()))?;
    if combinations > MAX_COMBINATIONS {
        return None;
    }
    let mut keys: Vec<Vec<u8>> = vec![vec![]];
    for (i, (list, column)) in lists.iter().zip(&dimension.columns).enumerate() {
        let width = schema.columns()[*column].data_type.cell_size();
        let last = i + 1 == lists.len();
        let mut longer = Vec::with_capacity(keys.len() * list.len());
        for key in &keys {
            for value in *list {
                let mut key = key.clone();
                encode::sized(value, width, last, &mut key);
                longer.push(key);
            }
        }
        keys = longer;
    }
    let mut found: Vec<u32> = keys.iter().map(|k| dimension.bucket_of(k)).collect();
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// The least range key that a row of the scan can have: equal columns from the front, then one lower bound.
fn lower_bound(schema: &Schema, partitions: &PartitionSchema, predicates: &[Merged]) -> Vec<u8> {
    let mut key = Vec::new();
    for (i, column) in partitions.range.iter().enumerate() {
        let (width, last) = (schema.columns()[*column].data_type.cell_size(), i + 1 == partitions.range.len());
        match &predicates[*column] {
            Merged::Equal(v) => encode::sized(v, width, last, &mut key),
            other => {
                let least = match other {
                    Merged::Range(Some(lower), _) => Some(lower),
                    Merged::In(values) => values.first(),
                    _ => None,
                };
                if let Some(v) = least {
                    encode::sized(v, width, last, &mut key);
                }
                break;
            }
        }
    }
    key
}

/// A key that is above those of all rows of the scan.
fn upper_bound(schema: &Schema, partitions: &PartitionSchema, predicates: &[Merged]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for (i, column) in partitions.range.iter().enumerate() {
        let (width, last) = (schema.columns()[*column].data_type.cell_size(), i + 1 == partitions.range.len());
        match &predicates[*column] {
            Merged::Equal(v) => encode::sized(v, width, last, &mut key),
            Merged::Range(_, Some(upper)) => {
                encode::sized(upper, width, last, &mut key);
                return Some(key);
            }
            Merged::In(values) => {
                encode::sized(values.last()?, width, last, &mut key);
                return if last { Some(after(key)) } else { after_prefix(key) };
            }
            _ => return after_prefix(key),
        }
    }
    // No range columns: one range, which holds every key.
    if key.is_empty() && partitions.range.is_empty() { None } else { Some(after(key)) }
}

fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// The least key that does not begin with this one.
fn after_prefix(mut key: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = key.last_mut() {
        if *last < 0xff {
            *last += 1;
            return Some(key);
        }
        key.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::CustomRange;
    use crate::predicate::{Predicate, matches, merge};
    use crate::row::Row;
    use crate::schema::{ColumnSchema, DataType};
    use proptest::prelude::*;

    fn schema() -> Schema {
        let c = ColumnSchema::new;
        Schema::new([
            c("a", DataType::Int8).key(),
            c("b", DataType::String).key(),
            c("c", DataType::Decimal { precision: 4, scale: 1 }).key(),
            c("v", DataType::Int32).nullable(),
        ])
        .expect("a schema")
    }

    /// Values close to each other, so that predicates hit.
    fn text() -> impl Strategy<Value = String> {
        proptest::collection::vec(prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), Just('b')], 0..3)
            .prop_map(|c| c.into_iter().collect())
    }
    fn value(column: usize) -> BoxedStrategy<Value> {
        match column {
            0 => (-3i8..3).prop_map(Value::Int8).boxed(),
            1 => text().prop_map(Value::String).boxed(),
            2 => (-3i128..3).prop_map(|unscaled| Value::Decimal { unscaled, scale: 1 }).boxed(),
            _ => prop_oneof![Just(Value::Null), (-2i32..2).prop_map(Value::Int32)].boxed(),
        }
    }
    fn row() -> impl Strategy<Value = Vec<Value>> {
        (value(0), value(1), value(2), value(3)).prop_map(|(a, b, c, d)| vec![a, b, c, d])
    }
    fn predicate() -> impl Strategy<Value = Predicate> {
        (0usize..3).prop_flat_map(|i| {
            let name = ["a", "b", "c"][i];
            let op = 0u8..6;
            (op, proptest::collection::vec(value(i), 1..4)).prop_map(move |(op, v)| match op {
                0 => Predicate::lt(name, v[0].clone()),
                1 => Predicate::le(name, v[0].clone()),
                2 => Predicate::ge(name, v[0].clone()),
                3 => Predicate::gt(name, v[0].clone()),
                4 => Predicate::is_in(name, v),
                _ => Predicate::eq(name, v[0].clone()),
            })
        })
    }
    fn columns() -> impl Strategy<Value = Vec<usize>> {
        Just(vec![0usize, 1, 2]).prop_shuffle().prop_flat_map(|all| (0..=3usize).prop_map(move |n| all[..n].to_vec()))
    }
    fn dimensions() -> impl Strategy<Value = Vec<HashDimension>> {
        let one = (columns(), 2u32..5, 0u32..3)
            .prop_filter("columns", |d| !d.0.is_empty())
            .prop_map(|(columns, buckets, seed)| HashDimension { columns, buckets, seed });
        proptest::collection::vec(one, 0..3)
    }

    /// The tablet of a row, with ranges cut at `cuts`.
    fn tablet(partitions: &PartitionSchema, cuts: &[Vec<u8>], row: &Row) -> Partition {
        let point = partitions.point(row).expect("a full key");
        let i = cuts.partition_point(|c| *c <= point.range_key);
        let range_start = if i == 0 { vec![] } else { cuts[i - 1].clone() };
        let range_end = cuts.get(i).cloned().unwrap_or_default();
        let partition = Partition { buckets: point.buckets.clone(), range_start, range_end };
        assert!(partition.covers(&point));
        partition
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn no_tablet_with_a_row_of_the_scan_is_left_out(
            hash in dimensions(), own in dimensions(), range in columns(), with_own in any::<bool>(),
            cut_rows in proptest::collection::vec(row(), 0..4),
            rows in proptest::collection::vec(row(), 1..20),
            predicates in proptest::collection::vec(predicate(), 0..4),
        ) {
            let schema = schema();
            let make = |values: &[Value]| {
                let mut row = Row::new(&schema);
                for (i, v) in values.iter().enumerate() {
                    row.set(i, v.clone()).expect("fits");
                }
                row
            };
            let mut partitions = PartitionSchema { hash, range, custom: vec![] };
            let mut cuts: Vec<Vec<u8>> =
                cut_rows.iter().map(|r| encode::columns(&make(r), &partitions.range).expect("full")).collect();
            cuts.sort();
            cuts.dedup();
            cuts.retain(|c| !c.is_empty());
            if let (true, [first, ..]) = (with_own, cuts.as_slice()) {
                let upper = cuts.get(1).cloned().unwrap_or_default();
                partitions.custom = vec![CustomRange { lower: first.clone(), upper, hash: own }];
            }
            let merged = merge(&schema, &predicates).expect("valid");
            let pruner = Pruner::new(&schema, &partitions, &merged);
            for values in &rows {
                let asked = values.iter().zip(&merged).all(|(v, m)| matches(m, v));
                let tablet = tablet(&partitions, &cuts, &make(values));
                if asked {
                    prop_assert!(pruner.may_hold(&tablet), "{:?} in {:?} by {:?}", values, tablet, merged);
                }
            }
        }
    }

    #[test]
    fn equality_on_the_key_leaves_one_bucket_and_one_range() {
        let schema = schema();
        let dimension = HashDimension { columns: vec![0], buckets: 4, seed: 0 };
        let partitions = PartitionSchema { hash: vec![dimension], range: vec![1], custom: vec![] };
        let merged = merge(&schema, &[Predicate::eq("a", 1i8), Predicate::eq("b", "m")]).expect("valid");
        let pruner = Pruner::new(&schema, &partitions, &merged);
        let tablets = (0..4u32).flat_map(|b| {
            [("", "m"), ("m", "n"), ("n", "")].map(|(s, e)| Partition {
                buckets: vec![b],
                range_start: s.into(),
                range_end: e.into(),
            })
        });
        let left: Vec<_> = tablets.filter(|t| pruner.may_hold(t)).collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].range_start, b"m");
    }
}
