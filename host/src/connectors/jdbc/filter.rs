//! Conditions of the query in the database's SQL. The engine applies them once more, so what matters is that the
//! database drops no row that we would keep: where its types, collations or roundings could, the condition is not sent.

use super::types::{Kind, ServerColumn, Value};
use super::url::{Product, ZeroDates};
use super::values::{ReadRules, value};
use super::{mysql, postgres};
use crate::connectors::api::TableContext;
use crate::connectors::predicate::{Comparison, Predicate, Pushdown, Test};
use crate::data::{LogicalType, TableSchema};
use crate::error::Result;
use crate::formats::Cell;

/// What is sent as far as the declaration can tell; the server's own types have the last word.
pub fn pushdown(cx: &TableContext, predicate: &Predicate) -> Pushdown {
    if cx.options.text("filter.handling.policy") == Some("never") {
        return Pushdown::No;
    }
    let column = cx.schema.columns.iter().find(|c| c.name == predicate.column);
    match column.is_some_and(|c| declared(&c.logical_type, &predicate.test)) {
        true => Pushdown::Inexact,
        false => Pushdown::No,
    }
}

/// Whether the test of a column of this type can mean the same in some column of a database.
fn declared(t: &LogicalType, test: &Test) -> bool {
    use LogicalType as T;
    match (t, test) {
        (_, Test::IsNull | Test::IsNotNull) => true,
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Decimal(..) | T::Double | T::Date, _) => true,
        // Collations make more texts equal, never fewer; but what they order is up to them.
        (T::Char(_) | T::Varchar(_), Test::Compare(op, _)) => *op == Comparison::Equal,
        (T::Char(_) | T::Varchar(_), Test::In(_)) => true,
        (T::Timestamp(p) | T::TimestampLtz(p), Test::Compare(op, _)) => cut_is_harmless(*p, *op),
        (T::Timestamp(p) | T::TimestampLtz(p), Test::In(_)) => *p >= 6,
        _ => false,
    }
}

/// Fraction digits that the job does not declare are cut when they are read; databases have up to six.
fn cut_is_harmless(precision: u8, op: Comparison) -> bool {
    match precision {
        6.. => true,
        0 | 3 => matches!(op, Comparison::Less | Comparison::GreaterOrEqual | Comparison::Greater),
        _ => false,
    }
}

/// Whether the server's column is one in which the test means the same.
fn safe(t: &LogicalType, column: &ServerColumn, test: &Test, rules: &ReadRules) -> bool {
    use LogicalType as T;
    match (test, column.kind) {
        // Dates without a day are NULL, or another day, for us only.
        (Test::IsNull, Kind::Date | Kind::DateTime | Kind::Instant) => return rules.zero_dates == ZeroDates::Refuse,
        (Test::IsNull | Test::IsNotNull, _) => return true,
        _ => {}
    }
    match (t, column.kind) {
        (T::TinyInt | T::SmallInt | T::Int | T::BigInt | T::Decimal(..), Kind::Int { .. }) => true,
        // Digits that the job does not declare are rounded away; `numeric` by itself has any number of them.
        (T::Decimal(_, ours), Kind::Decimal { scale }) => column.type_name.contains('(') && scale <= u32::from(*ours),
        (T::Double, Kind::Double) => true,
        (T::Char(_) | T::Varchar(_), Kind::Text { .. }) => true,
        (T::Date, Kind::Date) => rules.zero_dates != ZeroDates::Round,
        // A wall clock that stands for an instant may stand for two.
        (T::Timestamp(_), Kind::DateTime) | (T::TimestampLtz(_), Kind::Instant) => rules.zero_dates != ZeroDates::Round,
        _ => false,
    }
}

/// The conditions that are sent, and their parameters.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    conditions: Vec<Condition>,
    values: Vec<Value<'static>>,
    product: Option<Product>,
}

#[derive(Debug, Clone)]
struct Condition {
    /// Quoted, with the table's alias.
    column: String,
    /// `{}` is the parameter.
    parameter: Parameter,
    test: Sent,
}

#[derive(Debug, Clone)]
enum Sent {
    Compare(Comparison),
    In(usize),
    IsNull,
    IsNotNull,
}

/// What stands around a parameter, so that both sides of a comparison are of one type.
#[derive(Debug, Clone)]
struct Parameter {
    before: &'static str,
    after: String,
}

impl Filter {
    /// `columns`: the server's, in the order of the schema.
    pub fn new(
        product: Product,
        schema: &TableSchema,
        columns: &[ServerColumn],
        predicates: &[Predicate],
        rules: &ReadRules,
    ) -> Result<Self> {
        let mut filter = Self { product: Some(product), ..Self::default() };
        for p in predicates {
            let Some(at) = schema.index_of(&p.column) else { continue };
            let (ours, theirs) = (&schema.columns[at].logical_type, &columns[at]);
            let values = match p.test.values() {
                Some(values) if safe(ours, theirs, &p.test, rules) => {
                    let cell = Cell::new(values)?;
                    (0..values.len()).map(|row| owned(&cell, row, theirs)).collect()
                }
                None if safe(ours, theirs, &p.test, rules) => Some(vec![]),
                _ => None,
            };
            match values {
                Some(values) => filter.push(ours, theirs, &p.test, values),
                None => tracing::debug!("{p} is not sent: column {} is {}", theirs.name, theirs.type_name),
            }
        }
        Ok(filter)
    }

    fn push(&mut self, ours: &LogicalType, theirs: &ServerColumn, test: &Test, values: Vec<Value<'static>>) {
        let name = match self.product {
            Some(Product::Postgres) => postgres::quoted(&theirs.name),
            _ => mysql::quoted(&theirs.name),
        };
        self.conditions.push(Condition {
            column: format!("t.{name}"),
            parameter: parameter(self.product, ours, theirs),
            test: match test {
                Test::Compare(op, _) => Sent::Compare(*op),
                Test::In(_) => Sent::In(values.len()),
                Test::IsNull => Sent::IsNull,
                Test::IsNotNull => Sent::IsNotNull,
            },
        });
        self.values.extend(values);
    }

    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }

    /// Each as SQL; so many parameters come before theirs.
    pub fn conditions(&self, before: usize) -> Vec<String> {
        let mut next = before;
        let mut place = |p: &Parameter| {
            next += 1;
            let place = if self.product == Some(Product::Postgres) { format!("${next}") } else { "?".to_string() };
            format!("{}{place}{}", p.before, p.after)
        };
        let sql = |c: &Condition| match c.test {
            Sent::Compare(op) => format!("{} {} {}", c.column, op.as_sql(), place(&c.parameter)),
            Sent::In(n) => {
                let places: Vec<String> = (0..n).map(|_| place(&c.parameter)).collect();
                format!("{} IN ({})", c.column, places.join(", "))
            }
            Sent::IsNull => format!("{} IS NULL", c.column),
            Sent::IsNotNull => format!("{} IS NOT NULL", c.column),
        };
        self.conditions.iter().map(sql).collect()
    }
}

/// Databases compare a number or a date with a text by rules of their own: the parameter gets the type.
fn parameter(product: Option<Product>, ours: &LogicalType, theirs: &ServerColumn) -> Parameter {
    let cast = |to: String| Parameter { before: "CAST(", after: format!(" AS {to})") };
    let plain = || Parameter { before: "", after: String::new() };
    match (product, ours, theirs.kind) {
        (Some(Product::Postgres), LogicalType::Decimal(..), _) => cast("numeric".into()),
        // A number is not cast to the column's type: it may have no room for it.
        (Some(Product::Postgres), _, Kind::Int { .. }) => plain(),
        (Some(Product::Postgres), ..) if !theirs.cast.is_empty() => cast(theirs.cast.clone()),
        (Some(Product::Postgres), ..) => plain(),
        (_, LogicalType::Decimal(p, s), _) => cast(format!("DECIMAL({p}, {s})")),
        (_, _, Kind::Date) => cast("DATE".into()),
        (_, _, Kind::DateTime | Kind::Instant) => cast("DATETIME(6)".into()),
        _ => plain(),
    }
}

/// A value as a parameter; None: the server has no such value.
fn owned(cell: &Cell<'_>, row: usize, column: &ServerColumn) -> Option<Value<'static>> {
    let value = match value(cell, row, column.kind).ok()? {
        Value::Int(v) => Value::Int(v),
        Value::Float(v) if v.is_finite() => Value::Float(v),
        Value::Text(v) if !v.contains('\0') => Value::Text(v.into_owned().into()),
        _ => return None,
    };
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use crate::formats::TextRules;
    use arrow::array::{ArrayRef, Decimal128Array, Int32Array, StringArray, TimestampMillisecondArray};
    use std::sync::Arc;

    fn rules(zero_dates: ZeroDates) -> ReadRules {
        let text = TextRules { time_zone: chrono_tz::UTC, epoch_millis: false };
        ReadRules { text, zone: chrono_tz::UTC, zero_dates, any_number_is_bool: true }
    }

    fn sent(product: Product, t: LogicalType, kind: Kind, type_name: &str, test: Test) -> Vec<String> {
        let cast = if kind == Kind::Date { "date" } else { "" };
        let server = ServerColumn {
            name: "C".into(),
            kind,
            type_name: type_name.into(),
            cast: cast.into(),
            nullable: true,
            has_default: true,
            generated: false,
        };
        let schema = TableSchema::new(vec![Column::new("c", t, true)]);
        let predicate = Predicate { column: "c".into(), test };
        let filter = Filter::new(product, &schema, &[server], &[predicate], &rules(ZeroDates::Refuse)).unwrap();
        filter.conditions(2)
    }

    const INT: Kind = Kind::Int { unsigned: false };
    const TEXT: Kind = Kind::Text { max: None };

    fn int() -> ArrayRef {
        Arc::new(Int32Array::from(vec![5]))
    }

    #[test]
    fn parameters_have_the_columns_type() {
        let more = |v| Test::Compare(Comparison::Greater, v);
        let decimal: ArrayRef = Arc::new(Decimal128Array::from(vec![123]).with_precision_and_scale(10, 2).unwrap());
        let t = LogicalType::Decimal(10, 2);
        for (product, number, dec) in [
            (Product::MySql, "t.`C` > ?", "t.`C` > CAST(? AS DECIMAL(10, 2))"),
            (Product::Postgres, "t.\"C\" > $3", "t.\"C\" > CAST($3 AS numeric)"),
        ] {
            assert_eq!(sent(product, LogicalType::Int, INT, "int", more(int())), [number]);
            let kind = Kind::Decimal { scale: 2 };
            assert_eq!(sent(product, t.clone(), kind, "decimal(10,2)", more(decimal.clone())), [dec]);
        }
    }

    #[test]
    fn what_could_lose_rows_is_not_sent() {
        let sent = |t, kind, name, test| sent(Product::MySql, t, kind, name, test);
        let equal = |v| Test::Compare(Comparison::Equal, v);
        assert!(sent(LogicalType::Int, TEXT, "text", equal(int())).is_empty(), "text is compared as a number");
        let half = Kind::Decimal { scale: 1 };
        assert!(sent(LogicalType::Int, half, "decimal(3,1)", equal(int())).is_empty(), "a fraction is cut");
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a\0b"]));
        assert!(sent(LogicalType::STRING, TEXT, "text", equal(text)).is_empty());
        assert!(!declared(&LogicalType::STRING, &Test::Compare(Comparison::Less, int())), "collations order");
        assert!(!declared(&LogicalType::STRING, &Test::Compare(Comparison::NotEqual, int())));
        let time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![0]));
        assert!(!declared(&LogicalType::Timestamp(3), &equal(time.clone())), "six digits are cut to three");
        let t = LogicalType::Timestamp(3);
        let since = Test::Compare(Comparison::GreaterOrEqual, time);
        assert_eq!(sent(t.clone(), Kind::DateTime, "datetime(6)", since.clone()), ["t.`C` >= CAST(? AS DATETIME(6))"]);
        assert!(sent(t, Kind::Instant, "timestamp", since).is_empty(), "one clock, two instants");
    }

    #[test]
    fn a_zero_date_is_no_null_for_the_server() {
        let server = |kind| ServerColumn {
            name: "c".into(),
            kind,
            type_name: String::new(),
            cast: String::new(),
            nullable: true,
            has_default: true,
            generated: false,
        };
        assert!(safe(&LogicalType::Date, &server(Kind::Date), &Test::IsNull, &rules(ZeroDates::Refuse)));
        assert!(!safe(&LogicalType::Date, &server(Kind::Date), &Test::IsNull, &rules(ZeroDates::Null)));
        assert!(safe(&LogicalType::Int, &server(INT), &Test::IsNull, &rules(ZeroDates::Null)));
    }
}
