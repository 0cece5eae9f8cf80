//! Flink's CAST for columns: which pairs of types it allows, and the values. The rules are those of Flink 1.15 and
//! later (`LogicalTypeCasts`, `planner.functions.casting.*CastRule`); where those answer NULL on an overflow of
//! DECIMAL, we refuse the row.

mod numeric;
mod parse;
pub(super) mod temporal;
pub(super) mod text;

use crate::data::LogicalType;
use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::datatypes::*;
use arrow::error::ArrowError;
use chrono_tz::Tz;
use std::sync::Arc;

/// Where a cast tells of values that it refuses: (row of the column, why). The result there is NULL.
pub struct Failures<'a>(&'a mut dyn FnMut(usize, &'static str));

impl<'a> Failures<'a> {
    pub fn new(add: &'a mut dyn FnMut(usize, &'static str)) -> Self {
        Self(add)
    }
    fn add(&mut self, row: usize, why: &'static str) {
        (self.0)(row, why);
    }
}

/// Whether `CAST(from AS to)` exists; if not, a message that names both types and the way out.
pub fn check(from: &LogicalType, to: &LogicalType) -> Result<(), String> {
    use LogicalType as L;
    let is_temporal = |t: &L| matches!(t, L::Date | L::Time(_) | L::Timestamp(_) | L::TimestampLtz(_));
    let is_timestamp = |t: &L| matches!(t, L::Timestamp(_) | L::TimestampLtz(_));
    let is_bytes = |t: &L| matches!(t, L::Binary(_) | L::Varbinary(_));
    let is_nested = |t: &L| matches!(t, L::Array(_) | L::Map(..) | L::Row(_));
    let allowed = match (from, to) {
        _ if from.to_arrow() == to.to_arrow() => true,
        _ if is_nested(from) || is_nested(to) => false,
        (_, L::Char(_) | L::Varchar(_)) => true,
        (L::Char(_) | L::Varchar(_), _) => true,
        (L::Boolean, t) => t.is_numeric(),
        (f, L::Boolean) => f.is_numeric(),
        (f, t) if f.is_numeric() && t.is_numeric() => true,
        (f, t) if is_bytes(f) && is_bytes(t) => true,
        (L::Date, L::Time(_)) | (L::Time(_), L::Date) => false,
        (f, t) => is_temporal(f) && is_temporal(t),
    };
    if allowed {
        return Ok(());
    }
    let way_out = match (from, to) {
        (f, t) if f.is_numeric() && is_timestamp(t) => {
            "; a number becomes a timestamp by TIMESTAMPADD(SECOND, n, TIMESTAMP '1970-01-01 00:00:00')"
        }
        (f, t) if is_nested(f) || is_nested(t) => "; nested values cannot be cast yet",
        _ => "",
    };
    Err(format!("{from} cannot be cast to {to}{way_out}"))
}

/// Casts a column. `from` and `to` passed [`check`]. Values that do not fit become NULL and go to `failures`;
/// an `Err` is a fault of the batch (more than 2 GiB of text).
pub fn cast(
    source: &ArrayRef,
    to: &LogicalType,
    zone: Tz,
    failures: &mut Failures<'_>,
) -> Result<ArrayRef, ArrowError> {
    use LogicalType as L;
    let target = to.to_arrow();
    if source.data_type() == &DataType::Null {
        return Ok(new_null_array(&target, source.len()));
    }
    if source.data_type() == &target && !has_own_width(to) {
        return Ok(source.clone());
    }
    match to {
        L::Char(_) | L::Varchar(_) => {
            let all = match source.data_type() {
                DataType::Utf8 => source.as_string::<i32>().clone(),
                _ => text::column(source, zone)?,
            };
            Ok(Arc::new(match to {
                L::Char(n) => text::fit(all, *n, true)?,
                L::Varchar(Some(n)) => text::fit(all, *n, false)?,
                _ => all,
            }))
        }
        L::Binary(_) | L::Varbinary(_) => {
            let all = arrow::compute::cast(source, &DataType::Binary)?;
            let all = all.as_binary::<i32>();
            Ok(Arc::new(match to {
                L::Binary(n) => text::fit_bytes(all, *n, true)?,
                L::Varbinary(Some(n)) => text::fit_bytes(all, *n, false)?,
                _ => all.clone(),
            }))
        }
        _ if source.data_type() == &DataType::Utf8 => from_text(source, to, zone, failures),
        L::Date | L::Time(_) | L::Timestamp(_) | L::TimestampLtz(_) => temporal::column(source, to, zone, failures),
        L::Array(_) | L::Map(..) | L::Row(_) => Err(ArrowError::CastError(format!("no cast to {to}"))),
        _ => numeric::column(source, to, failures),
    }
}

/// The Arrow type does not say everything about these, so a cast to the same Arrow type may still change values.
fn has_own_width(t: &LogicalType) -> bool {
    use LogicalType as L;
    match t {
        L::Char(_) | L::Varchar(Some(_)) | L::Binary(_) | L::Varbinary(Some(_)) => true,
        L::Time(p) | L::Timestamp(p) | L::TimestampLtz(p) => !matches!(p, 0 | 3 | 6 | 9),
        _ => false,
    }
}

fn from_text(
    source: &ArrayRef,
    to: &LogicalType,
    zone: Tz,
    failures: &mut Failures<'_>,
) -> Result<ArrayRef, ArrowError> {
    use LogicalType as L;
    let text = source.as_string::<i32>();
    Ok(match to {
        L::Boolean => Arc::new(parse::boolean_column(text, failures)),
        L::TinyInt => Arc::new(parse::column::<Int8Type>(text, failures, parse::integer)),
        L::SmallInt => Arc::new(parse::column::<Int16Type>(text, failures, parse::integer)),
        L::Int => Arc::new(parse::column::<Int32Type>(text, failures, parse::integer)),
        L::BigInt => Arc::new(parse::column::<Int64Type>(text, failures, parse::integer)),
        L::Float => Arc::new(parse::column::<Float32Type>(text, failures, parse::float)),
        L::Double => Arc::new(parse::column::<Float64Type>(text, failures, parse::double)),
        L::Decimal(p, s) => {
            let values = parse::column::<Decimal128Type>(text, failures, |t| parse::decimal(t, *p, *s));
            Arc::new(values.with_precision_and_scale(*p, *s as i8)?)
        }
        _ => temporal::from_text(text, to, zone, failures)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_flink_refuses_name_both_types() {
        let refused = [
            (LogicalType::Int, LogicalType::Timestamp(3)),
            (LogicalType::Timestamp(3), LogicalType::BigInt),
            (LogicalType::Date, LogicalType::Time(0)),
            (LogicalType::Int, LogicalType::BYTES),
            (LogicalType::Boolean, LogicalType::Date),
        ];
        for (from, to) in refused {
            let message = check(&from, &to).unwrap_err();
            assert!(message.starts_with(&format!("{from} cannot be cast to {to}")), "{message}");
        }
    }

    #[test]
    fn precision_below_the_arrow_unit_is_cut() {
        let source: ArrayRef = Arc::new(arrow::array::TimestampMillisecondArray::from(vec![1678]));
        let mut add = |_: usize, _: &'static str| panic!("no failure expected");
        let out = cast(&source, &LogicalType::Timestamp(1), Tz::UTC, &mut Failures::new(&mut add)).unwrap();
        assert_eq!(out.as_primitive::<TimestampMillisecondType>().value(0), 1600);
    }
}
