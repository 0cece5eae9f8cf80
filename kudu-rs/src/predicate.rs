//! Conditions of a scan on single columns, merged to one per column.

use crate::error::{Error, Result};
use crate::pb::kudu::ColumnPredicatePb;
use crate::pb::kudu::column_predicate_pb as pb;
use crate::schema::{ColumnSchema, DataType, Schema};
use crate::value::Value;
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}

/// A condition on one column. All conditions of a scan must hold; a NULL fulfils none but `is_null`.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicate {
    column: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Compare(Compare, Value),
    In(Vec<Value>),
    IsNull,
    IsNotNull,
}

impl Predicate {
    pub fn compare(column: impl Into<String>, compare: Compare, value: impl Into<Value>) -> Self {
        Self { column: column.into(), test: Test::Compare(compare, value.into()) }
    }
    pub fn eq(column: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::compare(column, Compare::Equal, value)
    }
    pub fn lt(column: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::compare(column, Compare::Less, value)
    }
    pub fn le(column: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::compare(column, Compare::LessOrEqual, value)
    }
    pub fn gt(column: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::compare(column, Compare::Greater, value)
    }
    pub fn ge(column: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::compare(column, Compare::GreaterOrEqual, value)
    }
    pub fn is_in<V: Into<Value>>(column: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self { column: column.into(), test: Test::In(values.into_iter().map(Into::into).collect()) }
    }
    pub fn is_null(column: impl Into<String>) -> Self {
        Self { column: column.into(), test: Test::IsNull }
    }
    pub fn is_not_null(column: impl Into<String>) -> Self {
        Self { column: column.into(), test: Test::IsNotNull }
    }
}

/// All that is asked of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Merged {
    /// Every value will do.
    Any,
    /// No value will do.
    Nothing,
    Equal(Value),
    /// `lower <= value < upper`
    Range(Option<Value>, Option<Value>),
    /// In order, each once; two or more.
    In(Vec<Value>),
    IsNull,
    IsNotNull,
}

/// One per column of the schema.
pub(crate) fn merge(schema: &Schema, predicates: &[Predicate]) -> Result<Vec<Merged>> {
    let mut all = vec![Merged::Any; schema.columns().len()];
    for p in predicates {
        let i = schema.index_of(&p.column)?;
        let column = &schema.columns()[i];
        let one = single(column, &p.test)?;
        all[i] = intersect(std::mem::replace(&mut all[i], Merged::Any), one, column);
    }
    Ok(all)
}

fn fit(column: &ColumnSchema, value: &Value) -> Result<Value> {
    match value {
        Value::Null => Err(Error::invalid(format!("column `{}` compared with NULL: use is_null", column.name))),
        Value::Float(f) if f.is_nan() => Err(Error::invalid(format!("column `{}` compared with NaN", column.name))),
        Value::Double(f) if f.is_nan() => Err(Error::invalid(format!("column `{}` compared with NaN", column.name))),
        v => v.clone().fit(column),
    }
}

fn single(column: &ColumnSchema, test: &Test) -> Result<Merged> {
    let at_least = |v| Merged::Range(Some(v), None);
    let below = |v| Merged::Range(None, Some(v));
    Ok(match test {
        Test::IsNull if !column.nullable => Merged::Nothing,
        Test::IsNull => Merged::IsNull,
        Test::IsNotNull => Merged::IsNotNull,
        Test::In(values) => {
            let values = values.iter().map(|v| fit(column, v)).collect::<Result<Vec<_>>>()?;
            list(values)
        }
        Test::Compare(compare, value) => {
            let value = fit(column, value)?;
            match compare {
                Compare::Equal => Merged::Equal(value),
                Compare::GreaterOrEqual => at_least(value),
                Compare::Less => below(value),
                Compare::Greater => next(column.data_type, &value).map_or(Merged::Nothing, at_least),
                Compare::LessOrEqual => next(column.data_type, &value).map_or(Merged::IsNotNull, below),
            }
        }
    })
}

fn list(mut values: Vec<Value>) -> Merged {
    values.sort_by(order);
    values.dedup_by(|a, b| order(a, b) == Ordering::Equal);
    match values.len() {
        0 => Merged::Nothing,
        1 => Merged::Equal(values.remove(0)),
        _ => Merged::In(values),
    }
}

/// The least value above this one; None for the greatest.
fn next(data_type: DataType, value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(v) => return (!v).then_some(Value::Bool(true)),
        Value::Int8(v) => Value::Int8(v.checked_add(1)?),
        Value::Int16(v) => Value::Int16(v.checked_add(1)?),
        Value::Int32(v) => Value::Int32(v.checked_add(1)?),
        Value::Int64(v) => Value::Int64(v.checked_add(1)?),
        Value::UnixtimeMicros(v) => Value::UnixtimeMicros(v.checked_add(1)?),
        Value::Date(v) => Value::Date(Some(v + 1).filter(|v| *v <= 2_932_896)?),
        Value::Float(v) if *v == f32::INFINITY => return None,
        Value::Float(v) => Value::Float(v.next_up()),
        Value::Double(v) if *v == f64::INFINITY => return None,
        Value::Double(v) => Value::Double(v.next_up()),
        Value::Decimal { unscaled, scale } => {
            let DataType::Decimal { precision, .. } = data_type else { return None };
            let limit = 10i128.checked_pow(precision.into())?;
            Value::Decimal { unscaled: Some(unscaled + 1).filter(|u| *u < limit)?, scale: *scale }
        }
        Value::String(s) => Value::String(format!("{s}\0")),
        Value::Binary(b) => Value::Binary([b, &b"\0"[..]].concat().into()),
    })
}

/// Order of two fitted values of one column.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int8(a), Value::Int8(b)) => a.cmp(b),
        (Value::Int16(a), Value::Int16(b)) => a.cmp(b),
        (Value::Int32(a), Value::Int32(b)) | (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Int64(a), Value::Int64(b)) | (Value::UnixtimeMicros(a), Value::UnixtimeMicros(b)) => a.cmp(b),
        // -0 and 0 are the same value; NaN was refused.
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap_or_else(|| a.total_cmp(b)),
        (Value::Decimal { unscaled: a, .. }, Value::Decimal { unscaled: b, .. }) => a.cmp(b),
        (a, b) => a.bytes().cmp(b.bytes()),
    }
}

fn intersect(a: Merged, b: Merged, column: &ColumnSchema) -> Merged {
    use Merged::*;
    let lowest = |a: Option<Value>, b: Option<Value>| match (a, b) {
        (Some(a), Some(b)) => Some(if order(&a, &b) == Ordering::Less { a } else { b }),
        (a, b) => a.or(b),
    };
    let highest = |a: Option<Value>, b: Option<Value>| match (a, b) {
        (Some(a), Some(b)) => Some(if order(&a, &b) == Ordering::Less { b } else { a }),
        (a, b) => a.or(b),
    };
    match (a, b) {
        (Nothing, _) | (_, Nothing) => Nothing,
        (Any, other) | (other, Any) => other,
        (IsNull, IsNull) => IsNull,
        (IsNull, _) | (_, IsNull) => Nothing,
        (IsNotNull, other) | (other, IsNotNull) => other,
        (Range(l1, u1), Range(l2, u2)) => range(highest(l1, l2), lowest(u1, u2), column),
        (Equal(v), other) | (other, Equal(v)) => match matches(&other, &v) {
            true => Equal(v),
            false => Nothing,
        },
        (In(values), other) | (other, In(values)) => list(values.into_iter().filter(|v| matches(&other, v)).collect()),
    }
}

fn range(lower: Option<Value>, upper: Option<Value>, column: &ColumnSchema) -> Merged {
    match (&lower, &upper) {
        (Some(l), Some(u)) if order(l, u) != Ordering::Less => Merged::Nothing,
        (Some(l), Some(u)) if next(column.data_type, l).is_some_and(|n| order(&n, u) == Ordering::Equal) => {
            Merged::Equal(l.clone())
        }
        _ => Merged::Range(lower, upper),
    }
}

/// Whether a value fulfils the condition.
pub(crate) fn matches(merged: &Merged, value: &Value) -> bool {
    let null = matches!(value, Value::Null);
    match merged {
        Merged::Any => true,
        Merged::Nothing => false,
        Merged::IsNull => null,
        _ if null => false,
        Merged::IsNotNull => true,
        Merged::Equal(v) => order(v, value) == Ordering::Equal,
        Merged::In(values) => values.binary_search_by(|v| order(v, value)).is_ok(),
        Merged::Range(lower, upper) => {
            lower.as_ref().is_none_or(|l| order(l, value) != Ordering::Greater)
                && upper.as_ref().is_none_or(|u| order(value, u) == Ordering::Less)
        }
    }
}

impl Merged {
    /// None where nothing has to be asked of the server.
    pub fn to_pb(&self, column: &ColumnSchema) -> Option<ColumnPredicatePb> {
        let bytes = |v: &Value| {
            let mut out = Vec::new();
            v.put_bytes(column.data_type, &mut out);
            bytes::Bytes::from(out)
        };
        let predicate = match self {
            Self::Any | Self::Nothing => return None,
            // Old servers fail on it (KUDU-1652).
            Self::IsNotNull if !column.nullable => return None,
            Self::IsNotNull => pb::Predicate::IsNotNull(pb::IsNotNull {}),
            Self::IsNull => pb::Predicate::IsNull(pb::IsNull {}),
            Self::Equal(v) => pb::Predicate::Equality(pb::Equality { value: Some(bytes(v)) }),
            Self::In(values) => pb::Predicate::InList(pb::InList { values: values.iter().map(bytes).collect() }),
            Self::Range(lower, upper) => {
                pb::Predicate::Range(pb::Range { lower: lower.as_ref().map(bytes), upper: upper.as_ref().map(bytes) })
            }
        };
        Some(ColumnPredicatePb { column: Some(column.name.clone()), predicate: Some(predicate) })
    }

    /// The reverse of `to_pb`, for scan tokens.
    pub fn from_pb(pb: &ColumnPredicatePb, column: &ColumnSchema) -> Result<Self> {
        let value = |b: &bytes::Bytes| Value::from_bytes(column.data_type, b);
        let absent = || Error::protocol("a predicate without a value");
        Ok(match pb.predicate.as_ref().ok_or_else(absent)? {
            pb::Predicate::IsNull(_) => Self::IsNull,
            pb::Predicate::IsNotNull(_) => Self::IsNotNull,
            pb::Predicate::Equality(e) => Self::Equal(value(e.value.as_ref().ok_or_else(absent)?)?),
            pb::Predicate::InList(l) => list(l.values.iter().map(value).collect::<Result<_>>()?),
            pb::Predicate::Range(r) => {
                Self::Range(r.lower.as_ref().map(value).transpose()?, r.upper.as_ref().map(value).transpose()?)
            }
            pb::Predicate::InBloomFilter(_) => return Err(Error::NotSupported("Bloom filters in predicates".into())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(column: ColumnSchema, predicates: Vec<Predicate>) -> Merged {
        let schema = Schema::new([ColumnSchema::new("k", DataType::Int8).key(), column]).expect("a schema");
        merge(&schema, &predicates).expect("valid").remove(1)
    }
    fn int(predicates: Vec<Predicate>) -> Merged {
        one(ColumnSchema::new("c", DataType::Int8).nullable(), predicates)
    }

    #[test]
    fn conditions_become_one_per_column() {
        let range = |l: Option<i8>, u: Option<i8>| Merged::Range(l.map(Value::Int8), u.map(Value::Int8));
        assert_eq!(int(vec![Predicate::ge("c", 1i8), Predicate::le("c", 5i8)]), range(Some(1), Some(6)));
        assert_eq!(int(vec![Predicate::gt("c", 1i8), Predicate::lt("c", 3i8)]), Merged::Equal(Value::Int8(2)));
        assert_eq!(int(vec![Predicate::gt("c", 127i8)]), Merged::Nothing);
        assert_eq!(int(vec![Predicate::le("c", 127i8)]), Merged::IsNotNull);
        assert_eq!(int(vec![Predicate::is_null("c"), Predicate::lt("c", 3i8)]), Merged::Nothing);
        assert_eq!(
            int(vec![Predicate::is_in("c", [3i8, 1, 3, 7]), Predicate::lt("c", 2i8)]),
            Merged::Equal(Value::Int8(1))
        );
        assert_eq!(int(vec![Predicate::is_in("c", Vec::<i8>::new())]), Merged::Nothing);
    }

    #[test]
    fn texts_up_to_and_with_one_end_before_the_next_text() {
        let column = ColumnSchema::new("c", DataType::String);
        assert_eq!(one(column, vec![Predicate::le("c", "ab")]), Merged::Range(None, Some("ab\0".into())));
    }

    #[test]
    fn comparisons_that_make_no_sense_are_refused() {
        let schema = Schema::new([ColumnSchema::new("k", DataType::Int8).key()]).expect("a schema");
        for p in [
            Predicate::eq("k", Value::Null),
            Predicate::eq("k", 300i32),
            Predicate::eq("x", 1i8),
            Predicate::eq("k", "a"),
        ] {
            assert!(merge(&schema, std::slice::from_ref(&p)).is_err(), "{p:?}");
        }
    }

    fn any_predicate() -> impl Strategy<Value = Predicate> {
        let compare = prop_oneof![
            Just(Compare::Less),
            Just(Compare::LessOrEqual),
            Just(Compare::Equal),
            Just(Compare::GreaterOrEqual),
            Just(Compare::Greater)
        ];
        prop_oneof![
            6 => (compare, prop_oneof![-3i8..3, Just(i8::MIN), Just(i8::MAX)]).prop_map(|(c, v)| Predicate::compare("c", c, v)),
            2 => proptest::collection::vec(-3i8..3, 0..4).prop_map(|v| Predicate::is_in("c", v)),
            1 => Just(Predicate::is_null("c")),
            1 => Just(Predicate::is_not_null("c")),
        ]
    }

    fn holds(p: &Predicate, v: Option<i8>) -> bool {
        match (&p.test, v) {
            (Test::IsNull, v) => v.is_none(),
            (_, None) => false,
            (Test::IsNotNull, _) => true,
            (Test::In(values), Some(v)) => values.contains(&Value::Int8(v)),
            (Test::Compare(c, Value::Int8(x)), Some(v)) => match c {
                Compare::Less => v < *x,
                Compare::LessOrEqual => v <= *x,
                Compare::Equal => v == *x,
                Compare::GreaterOrEqual => v >= *x,
                Compare::Greater => v > *x,
            },
            _ => unreachable!("bytes only"),
        }
    }

    proptest! {
        #[test]
        fn the_merged_condition_holds_where_all_hold(ps in proptest::collection::vec(any_predicate(), 0..5)) {
            let merged = int(ps.clone());
            let values = (i8::MIN..=i8::MAX).map(Some).chain([None]);
            for v in values {
                let expected = ps.iter().all(|p| holds(p, v));
                prop_assert_eq!(matches(&merged, &v.into()), expected, "{:?} of {:?}", v, merged);
            }
        }
    }
}
