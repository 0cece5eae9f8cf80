//! Offers the conditions of a query to the connector whose rows they choose.

use crate::connectors::predicate::{Comparison, Predicate, Pushdown, Test};
use crate::data::TableSchema;
use crate::plan::graph::TableBinding;
use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options, concat};
use arrow::datatypes::DataType;
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::utils::{conjunction, split_binary, split_conjunction};
use datafusion_expr::{Expr, Operator};

/// Lists beyond this stay here: statements have their limits.
const VALUES_MAX: usize = 1000;

/// Hands what the connector takes of `filter` to the table; gives what is still to be applied here.
/// `columns`: the table's own, as the filter names them.
pub fn push_down(filter: &Expr, columns: &DFSchema, binding: &mut TableBinding) -> Option<Expr> {
    let mut rest = vec![];
    for condition in split_conjunction(filter) {
        let predicate = predicate(condition, columns, binding.schema());
        let taken = match &predicate {
            Some(p) => binding.access.pushdown(&binding.context, p),
            None => Pushdown::No,
        };
        if taken != Pushdown::No {
            binding.context.filters.extend(predicate);
        }
        if taken != Pushdown::Exact {
            rest.push(condition.clone());
        }
    }
    conjunction(rest)
}

/// For EXPLAIN.
pub fn describe(binding: &TableBinding) -> Option<String> {
    let pushed: Vec<String> = binding.context.filters.iter().map(Predicate::to_string).collect();
    (!pushed.is_empty()).then(|| format!("pushed down: {}", pushed.join(" AND ")))
}

/// The condition in the form that connectors know.
fn predicate(e: &Expr, columns: &DFSchema, schema: &TableSchema) -> Option<Predicate> {
    let context = Columns { columns, schema };
    match e {
        Expr::BinaryExpr(b) if b.op == Operator::Or => context.alternatives(e),
        Expr::BinaryExpr(b) => {
            let op = comparison(b.op)?;
            context.compare(&b.left, op, &b.right).or_else(|| context.compare(&b.right, op.flipped(), &b.left))
        }
        Expr::InList(list) if !list.negated => {
            let column = context.column(&list.expr)?;
            let values = list.list.iter().map(|v| column.value(v)).collect::<Option<Vec<_>>>()?;
            column.any_of(&values)
        }
        Expr::IsNull(e) => Some(context.bare(e)?.predicate(Test::IsNull)),
        Expr::IsNotNull(e) => Some(context.bare(e)?.predicate(Test::IsNotNull)),
        _ => None,
    }
}

fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

struct Columns<'a> {
    columns: &'a DFSchema,
    schema: &'a TableSchema,
}

/// A column of the table, and the type in which it is compared.
struct Compared {
    name: String,
    own: DataType,
    compared: DataType,
}

impl Columns<'_> {
    fn of(&self, c: &Column) -> Option<(String, DataType)> {
        let field = self.columns.field(self.columns.maybe_index_of_column(c)?);
        self.schema.index_of(field.name())?;
        Some((field.name().clone(), field.data_type().clone()))
    }

    /// The column by itself.
    fn bare(&self, e: &Expr) -> Option<Compared> {
        let Expr::Column(c) = e else { return None };
        let (name, own) = self.of(c)?;
        Some(Compared { name, compared: own.clone(), own })
    }

    /// The column by itself, or in a cast that only gives its values more room.
    fn column(&self, e: &Expr) -> Option<Compared> {
        if let Some(bare) = self.bare(e) {
            return Some(bare);
        }
        let (inner, compared) = crate::expr::as_cast(e)?;
        let column = self.bare(inner)?;
        widens(&column.own, &compared).then_some(Compared { compared, ..column })
    }

    fn compare(&self, column: &Expr, op: Comparison, value: &Expr) -> Option<Predicate> {
        let column = self.column(column)?;
        let value = column.value(value)?;
        Some(column.predicate(Test::Compare(op, value)))
    }

    /// `a = 1 OR a = 2`, which is how short lists arrive here.
    fn alternatives(&self, e: &Expr) -> Option<Predicate> {
        let (mut column, mut values): (Option<Compared>, Vec<ArrayRef>) = (None, vec![]);
        for e in split_binary(e, Operator::Or) {
            let one = predicate(e, self.columns, self.schema)?;
            let found = match one.test {
                Test::Compare(Comparison::Equal, v) | Test::In(v) => v,
                _ => return None,
            };
            match &column {
                Some(c) if c.name != one.column => return None,
                Some(_) => {}
                None => {
                    let own = found.data_type().clone();
                    column = Some(Compared { name: one.column, compared: own.clone(), own });
                }
            }
            values.push(found);
        }
        column?.any_of(&values)
    }
}

impl Compared {
    fn predicate(&self, test: Test) -> Predicate {
        Predicate { column: self.name.clone(), test }
    }

    fn any_of(&self, values: &[ArrayRef]) -> Option<Predicate> {
        let values: Vec<&dyn Array> = values.iter().map(|v| v.as_ref()).collect();
        let values = concat(&values).ok().filter(|v| v.len() <= VALUES_MAX && !v.is_empty())?;
        Some(self.predicate(Test::In(values)))
    }

    /// A literal as a value of the column's own type; None if there is no such value, or it is NULL.
    fn value(&self, e: &Expr) -> Option<ArrayRef> {
        let Expr::Literal(scalar, _) = e else { return None };
        if scalar.is_null() || scalar.data_type() != self.compared {
            return None;
        }
        exactly(scalar, &self.own)
    }
}

/// The value in another type of its family, if it is the same value there.
fn exactly(value: &ScalarValue, to: &DataType) -> Option<ArrayRef> {
    let there = value.to_array().ok()?;
    if there.data_type() == to {
        return Some(there);
    }
    let safe = CastOptions { safe: true, ..CastOptions::default() };
    let here = cast_with_options(&there, to, &safe).ok().filter(|a| a.null_count() == 0)?;
    let back = cast_with_options(&here, there.data_type(), &safe).ok()?;
    (back.as_ref() == there.as_ref()).then_some(here)
}

/// Every value of `from` is a value of `to`, and they compare alike.
fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let digits = |t: &DataType| match t {
        Int8 => Some(3),
        Int16 => Some(5),
        Int32 => Some(10),
        Int64 => Some(19),
        _ => None,
    };
    match (from, to) {
        (Decimal128(p1, s1), Decimal128(p2, s2)) => {
            s2 >= s1 && i16::from(*p2) - i16::from(*s2) >= i16::from(*p1) - i16::from(*s1)
        }
        (from, Decimal128(p, s)) => digits(from).is_some_and(|d| i16::from(*p) - i16::from(*s) >= d),
        (Timestamp(a, za), Timestamp(b, zb)) => b >= a && za == zb,
        (from, to) => digits(from).zip(digits(to)).is_some_and(|(a, b)| a <= b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column as TableColumn, LogicalType};
    use datafusion_expr::{cast, col, in_list, lit};

    fn schema() -> TableSchema {
        TableSchema::new(vec![
            TableColumn::new("id", LogicalType::Int, true),
            TableColumn::new("name", LogicalType::STRING, true),
            TableColumn::new("d", LogicalType::Decimal(10, 2), true),
        ])
    }

    fn shown(e: Expr) -> Option<String> {
        let schema = schema();
        let columns = DFSchema::try_from(schema.to_arrow().as_ref().clone()).unwrap();
        predicate(&e, &columns, &schema).map(|p| p.to_string())
    }

    #[test]
    fn columns_against_values_of_their_own_type() {
        assert_eq!(shown(col("id").gt(lit(5))).as_deref(), Some("id > 5"));
        assert_eq!(shown(lit(5).gt(col("id"))).as_deref(), Some("id < 5"));
        assert_eq!(shown(col("name").eq(lit("O'Brien"))).as_deref(), Some("name = 'O''Brien'"));
        assert_eq!(shown(in_list(col("id"), vec![lit(1), lit(2)], false)).as_deref(), Some("id IN (1, 2)"));
        assert_eq!(shown(col("id").eq(lit(1)).or(col("id").eq(lit(2)))).as_deref(), Some("id IN (1, 2)"));
        assert_eq!(shown(col("name").is_not_null()).as_deref(), Some("name IS NOT NULL"));
    }

    #[test]
    fn a_cast_that_only_widens_is_looked_through_if_the_value_has_the_columns_type() {
        let wide = |v: i64| cast(col("id"), DataType::Int64).lt_eq(lit(v));
        assert_eq!(shown(wide(7)).as_deref(), Some("id <= 7"));
        assert_eq!(shown(wide(3_000_000_000)), None);
        let decimal =
            |v: i128| cast(col("d"), DataType::Decimal128(20, 4)).eq(lit(ScalarValue::Decimal128(Some(v), 20, 4)));
        assert_eq!(shown(decimal(12_300)).as_deref(), Some("d = 1.23"));
        assert_eq!(shown(decimal(12_345)), None);
        assert_eq!(shown(cast(col("id"), DataType::Int8).eq(lit(1_i8))), None);
        assert_eq!(shown(cast(col("name"), DataType::Int32).eq(lit(1))), None);
    }

    #[test]
    fn everything_else_stays_here() {
        assert_eq!(shown(col("id").eq(col("id"))), None);
        assert_eq!(shown((col("id") + lit(1)).eq(lit(2))), None);
        assert_eq!(shown(col("id").eq(lit(ScalarValue::Int32(None)))), None);
        assert_eq!(shown(in_list(col("id"), vec![lit(1)], true)), None);
        assert_eq!(shown(col("id").eq(lit(1)).or(col("name").eq(lit("a")))), None);
        assert_eq!(shown(col("id").eq(lit(1)).or(col("id").gt(lit(2)))), None);
    }
}
