//! The statements on one table, for both products.

use super::connection::Arguments;
use super::describe::ServerTable;
use super::error::DbError;
use super::filter::Filter;
use super::types::{ServerColumn, Value};
use super::url::Product;
use super::{mysql, postgres};

/// What a NULL does to a row that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullPolicy {
    /// The old value stays.
    Keep,
    Overwrite,
}

/// A table with those of its columns that the job uses, in the job's order.
#[derive(Debug, Clone)]
pub struct Statements {
    product: Product,
    table: String,
    pub columns: Vec<ServerColumn>,
}

impl Statements {
    pub fn new(product: Product, table: &ServerTable, columns: Vec<ServerColumn>) -> Self {
        Self { product, table: table.sql_name.clone(), columns }
    }

    pub fn quoted(&self, name: &str) -> String {
        match self.product {
            Product::MySql => mysql::quoted(name),
            Product::Postgres => postgres::quoted(name),
        }
    }

    fn name(&self, index: usize) -> String {
        self.quoted(&self.columns[index].name)
    }

    fn names(&self, indexes: impl IntoIterator<Item = usize>) -> Vec<String> {
        indexes.into_iter().map(|i| self.name(i)).collect()
    }

    fn some(&self, indexes: &[usize]) -> Vec<&ServerColumn> {
        indexes.iter().map(|&i| &self.columns[i]).collect()
    }

    /// Whether the text is the same for any number of rows.
    pub fn same_for_any_rows(&self) -> bool {
        self.product == Product::Postgres
    }

    /// Values of rows that follow one another, each with the columns `indexes`.
    pub fn arguments(&self, indexes: &[usize], values: &[Value<'_>]) -> Result<Arguments, DbError> {
        match self.product {
            Product::MySql => mysql::arguments(values).map(Arguments::MySql),
            Product::Postgres => postgres::arrays(&self.some(indexes), values).map(Arguments::Postgres),
        }
    }

    /// Says no to a value that would make the whole statement fail before the server sees its rows.
    pub fn check_value(&self, index: usize, value: &Value<'_>) -> Result<(), String> {
        match (self.product, value) {
            (Product::MySql, Value::Float(v)) if !v.is_finite() => Err(format!("MySQL has no {v}")),
            (Product::MySql, _) => Ok(()),
            (Product::Postgres, _) => postgres::holds(&self.columns[index], value),
        }
    }

    /// Appends rows. With a key, rows whose key is there are changed instead: not REPLACE, which would delete the row
    /// and so lose the values of columns that the job does not write, fire triggers, and take new auto increments.
    pub fn insert(&self, rows: usize, key: &[usize], nulls: NullPolicy) -> String {
        let width = self.columns.len();
        let columns = self.names(0..width).join(", ");
        match self.product {
            Product::MySql => {
                let rows = mysql::rows_of_parameters(rows, width);
                let mut sql = format!("INSERT INTO {} ({columns}) VALUES {rows}", self.table);
                if !key.is_empty() {
                    let set = self.assignments(key, |column| match nulls {
                        NullPolicy::Keep => format!("{column} = IFNULL(VALUES({column}), {column})"),
                        NullPolicy::Overwrite => format!("{column} = VALUES({column})"),
                    });
                    // A table of nothing but its key: the row that is there stays.
                    let set = if set.is_empty() { vec![format!("{0} = {0}", self.name(key[0]))] } else { set };
                    sql.push_str(&format!(" ON DUPLICATE KEY UPDATE {}", set.join(", ")));
                }
                sql
            }
            Product::Postgres => {
                let all: Vec<&ServerColumn> = self.columns.iter().collect();
                let values: Vec<String> = (0..width).map(|i| postgres::cast_from_row(i, all[i])).collect();
                let from = postgres::unnest(&all);
                let mut sql =
                    format!("INSERT INTO {} AS t ({columns}) SELECT {} FROM {from}", self.table, values.join(", "));
                if !key.is_empty() {
                    let set = self.assignments(key, |column| match nulls {
                        NullPolicy::Keep => format!("{column} = COALESCE(EXCLUDED.{column}, t.{column})"),
                        NullPolicy::Overwrite => format!("{column} = EXCLUDED.{column}"),
                    });
                    let action =
                        if set.is_empty() { "NOTHING".to_string() } else { format!("UPDATE SET {}", set.join(", ")) };
                    let key = self.names(key.iter().copied()).join(", ");
                    sql.push_str(&format!(" ON CONFLICT ({key}) DO {action}"));
                }
                sql
            }
        }
    }

    fn assignments(&self, key: &[usize], assign: impl Fn(String) -> String) -> Vec<String> {
        (0..self.columns.len()).filter(|i| !key.contains(i)).map(|i| assign(self.name(i))).collect()
    }

    /// Deletes the rows with these keys.
    pub fn delete(&self, rows: usize, key: &[usize]) -> String {
        match self.product {
            Product::MySql => {
                let condition = mysql::key_condition(&self.names(key.iter().copied()), rows);
                format!("DELETE FROM {} WHERE {condition}", self.table)
            }
            Product::Postgres => {
                format!("DELETE FROM {} AS t USING {} WHERE {}", self.table, self.unnest(key), self.equal_to_row(key))
            }
        }
    }

    fn unnest(&self, indexes: &[usize]) -> String {
        postgres::unnest(&self.some(indexes))
    }

    fn equal_to_row(&self, key: &[usize]) -> String {
        let equal = key
            .iter()
            .enumerate()
            .map(|(i, &k)| format!("t.{} = {}", self.name(k), postgres::cast_from_row(i, &self.columns[k])));
        equal.collect::<Vec<_>>().join(" AND ")
    }

    /// The columns to read, or a constant where none is needed.
    fn selected(&self) -> String {
        let columns = self.columns.iter().map(|c| match self.product {
            Product::MySql => format!("t.{}", mysql::quoted(&c.name)),
            Product::Postgres => postgres::selected(&format!("t.{}", postgres::quoted(&c.name)), c.kind),
        });
        let columns: Vec<String> = columns.collect();
        if columns.is_empty() { "1".to_string() } else { columns.join(", ") }
    }

    /// The rows with one of these keys. `key`: columns of the table, which need not be among those read.
    pub fn lookup(&self, rows: usize, key: &[ServerColumn], filter: &Filter) -> String {
        // The parameters of the filter follow those of the keys.
        let parameters = if self.product == Product::MySql { rows * key.len() } else { key.len() };
        let more: String = filter.conditions(parameters).iter().map(|c| format!(" AND {c}")).collect();
        match self.product {
            Product::MySql => {
                let key: Vec<String> = key.iter().map(|k| format!("t.{}", mysql::quoted(&k.name))).collect();
                let condition = mysql::key_condition(&key, rows);
                format!("SELECT {} FROM {} AS t WHERE ({condition}){more}", self.selected(), self.table)
            }
            Product::Postgres => {
                let columns: Vec<&ServerColumn> = key.iter().collect();
                let equal = columns
                    .iter()
                    .enumerate()
                    .map(|(i, k)| format!("t.{} = {}", postgres::quoted(&k.name), postgres::cast_from_row(i, k)));
                format!(
                    "SELECT {} FROM {} AS t JOIN {} ON {}{more}",
                    self.selected(),
                    self.table,
                    postgres::unnest(&columns),
                    equal.collect::<Vec<_>>().join(" AND ")
                )
            }
        }
    }

    /// All rows that the filter lets through, of those where a column is within bounds (the first two parameters).
    pub fn scan(&self, between: Option<&str>, filter: &Filter, order: &[String], offset: u64) -> String {
        let mut sql = format!("SELECT {} FROM {} AS t", self.selected(), self.table);
        let between = between.map(|column| match self.product {
            Product::MySql => format!("t.{} BETWEEN ? AND ?", self.quoted(column)),
            Product::Postgres => format!("t.{} BETWEEN $1 AND $2", self.quoted(column)),
        });
        let parameters = if between.is_some() { 2 } else { 0 };
        let conditions: Vec<String> = between.into_iter().chain(filter.conditions(parameters)).collect();
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if !order.is_empty() {
            let order: Vec<String> = order.iter().map(|c| format!("t.{}", self.quoted(c))).collect();
            sql.push_str(&format!(" ORDER BY {}", order.join(", ")));
        }
        match (self.product, offset) {
            (_, 0) => {}
            // MySQL's OFFSET needs a LIMIT; its documentation recommends this number.
            (Product::MySql, n) => sql.push_str(&format!(" LIMIT 18446744073709551615 OFFSET {n}")),
            (Product::Postgres, n) => sql.push_str(&format!(" OFFSET {n}")),
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::Kind;
    use super::*;

    fn table(product: Product) -> Statements {
        let column = |name: &str, kind, cast: &str| ServerColumn {
            name: name.into(),
            kind,
            type_name: String::new(),
            cast: cast.into(),
            nullable: true,
            has_default: true,
            generated: false,
        };
        let columns =
            vec![column("a", Kind::Int { unsigned: false }, "integer"), column("b c", Kind::Text { max: None }, "")];
        let sql_name = match product {
            Product::MySql => "`t`",
            Product::Postgres => "\"t\"",
        };
        let table = ServerTable { sql_name: sql_name.into(), ..Default::default() };
        Statements::new(product, &table, columns)
    }

    #[test]
    fn mysql_writes_rows_by_one_statement_and_keeps_or_overwrites_with_null() {
        let t = table(Product::MySql);
        assert_eq!(t.insert(2, &[], NullPolicy::Overwrite), "INSERT INTO `t` (`a`, `b c`) VALUES (?, ?), (?, ?)");
        let upsert = t.insert(1, &[0], NullPolicy::Keep);
        assert!(upsert.ends_with("ON DUPLICATE KEY UPDATE `b c` = IFNULL(VALUES(`b c`), `b c`)"), "{upsert}");
        let upsert = t.insert(1, &[0], NullPolicy::Overwrite);
        assert!(upsert.ends_with("ON DUPLICATE KEY UPDATE `b c` = VALUES(`b c`)"), "{upsert}");
        assert_eq!(t.delete(2, &[0]), "DELETE FROM `t` WHERE `a` IN (?, ?)");
        assert!(t.delete(2, &[0, 1]).ends_with("(`a` = ? AND `b c` = ?) OR (`a` = ? AND `b c` = ?)"));
        assert!(
            t.scan(Some("a"), &Filter::default(), &["a".into()], 5)
                .ends_with("WHERE t.`a` BETWEEN ? AND ? ORDER BY t.`a` LIMIT 18446744073709551615 OFFSET 5")
        );
    }

    #[test]
    fn postgres_takes_its_rows_from_arrays() {
        let t = table(Product::Postgres);
        assert_eq!(
            t.insert(2, &[0], NullPolicy::Keep),
            "INSERT INTO \"t\" AS t (\"a\", \"b c\") SELECT CAST(r.c0 AS integer), r.c1 FROM UNNEST($1::bigint[], \
             $2::text[]) AS r(c0, c1) ON CONFLICT (\"a\") DO UPDATE SET \"b c\" = COALESCE(EXCLUDED.\"b c\", t.\"b c\")"
        );
        assert_eq!(t.insert(1, &[0], NullPolicy::Keep), t.insert(9, &[0], NullPolicy::Keep));
        assert!(t.insert(1, &[0, 1], NullPolicy::Keep).ends_with("ON CONFLICT (\"a\", \"b c\") DO NOTHING"));
        assert!(t.delete(1, &[1]).ends_with("USING UNNEST($1::text[]) AS r(c0) WHERE t.\"b c\" = r.c0"));
        assert_eq!(t.scan(None, &Filter::default(), &[], 0), "SELECT t.\"a\", t.\"b c\" FROM \"t\" AS t");
    }
}
