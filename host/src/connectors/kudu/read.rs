//! Reading a table: what a scan and a side table share.

use super::cluster::Cluster;
use super::filter;
use super::rows::Reading;
use super::types::Direction;
use crate::connectors::api::TableContext;
use crate::connectors::predicate::Predicate;
use crate::error::{Error, Result};
use kudu_rs::{DataType, Row, ScanBuilder, Table, Value};
use std::sync::Arc;
use tokio::sync::OnceCell;

pub struct ReadTable {
    pub cluster: Cluster,
    pub reading: Reading,
    filters: Vec<Predicate>,
    pub limit: Option<u64>,
    batch_bytes: Option<u32>,
    fault_tolerant: bool,
    bounds: Option<Bounds>,
    opened: OnceCell<Opened>,
}

/// `primaryKey`, `lowerBoundPrimaryKey` and `upperBoundPrimaryKey`: keys in Kudu's order, the upper one excluded.
struct Bounds {
    columns: Vec<String>,
    lower: Vec<String>,
    upper: Vec<String>,
}

/// The table as it is, and where the job's columns are in it.
pub struct Opened {
    pub table: Table,
    pub places: Vec<usize>,
    /// None: no row can meet the query's conditions.
    predicates: Option<Vec<kudu_rs::Predicate>>,
}

impl Opened {
    /// Names in Kudu, in the order of the job's columns.
    pub fn columns(&self) -> Vec<String> {
        self.places.iter().map(|p| self.table.schema().columns()[*p].name.clone()).collect()
    }
    pub fn predicates(&self) -> Option<&[kudu_rs::Predicate]> {
        self.predicates.as_deref()
    }
}

impl ReadTable {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let cluster = Cluster::new(cx)?;
        let list = |name: &str| cx.options.list(name).map(<[String]>::to_vec);
        let bounds = match (list("scan.key-columns"), list("scan.lower-bound"), list("scan.upper-bound")) {
            (Some(columns), Some(lower), Some(upper)) => Some(Bounds { columns, lower, upper }),
            _ => None,
        };
        Ok(Self {
            reading: Reading {
                table: cx.table.clone(),
                split: cluster.name.as_str().into(),
                schema: cx.schema.clone(),
                zone: cx.time_zone,
            },
            cluster,
            filters: cx.filters.clone(),
            limit: cx.options.int("limit").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0),
            batch_bytes: cx.options.size("scan.batch-size").map(|b| u32::try_from(b).unwrap_or(u32::MAX)),
            fault_tolerant: cx.options.bool("fault-tolerant") == Some(true),
            bounds,
            opened: OnceCell::new(),
        })
    }

    pub async fn opened(&self) -> Result<&Opened> {
        self.opened.get_or_try_init(|| self.look_at()).await
    }

    /// Asks anew: the table may have been made or altered since.
    pub async fn look_at(&self) -> Result<Opened> {
        let table = self.cluster.open().await?;
        let places = self.cluster.resolve(&table, &self.reading.schema, Direction::Read)?;
        let Reading { schema, zone, .. } = &self.reading;
        let predicates = filter::predicates(&self.cluster, &self.filters, schema, &table, &places, *zone)?;
        if let Some(bounds) = &self.bounds {
            self.bound(&table, &bounds.columns, &bounds.lower)?;
            self.bound(&table, &bounds.columns, &bounds.upper)?;
        }
        Ok(Opened { table, places, predicates })
    }

    /// A scan of what the query needs; None: there can be no such row.
    pub fn scan(&self, opened: &Opened) -> Result<Option<ScanBuilder>> {
        let Some(predicates) = &opened.predicates else { return Ok(None) };
        let mut scan = opened.table.scan().project(opened.columns()).predicates(predicates.clone());
        if let Some(bytes) = self.batch_bytes {
            scan = scan.batch_size_bytes(bytes);
        }
        if self.fault_tolerant {
            scan = scan.fault_tolerant();
        }
        if let Some(limit) = self.limit {
            scan = scan.limit(limit);
        }
        if let Some(bounds) = &self.bounds {
            scan = scan
                .lower_bound(self.bound(&opened.table, &bounds.columns, &bounds.lower)?)
                .upper_bound(self.bound(&opened.table, &bounds.columns, &bounds.upper)?);
        }
        Ok(Some(scan))
    }

    /// A key from its texts. Columns of the key that are not named are the least there is.
    fn bound(&self, table: &Table, columns: &[String], values: &[String]) -> Result<Row> {
        let refuse = |why: String| Error::user(format!("table {}: {why}", self.cluster.table));
        let mut row = table.row();
        for (name, text) in columns.iter().zip(values) {
            let Some(column) = table.schema().key_columns().iter().find(|c| c.name.eq_ignore_ascii_case(name)) else {
                let key: Vec<&str> = table.schema().key_columns().iter().map(|c| c.name.as_str()).collect();
                return Err(refuse(format!("primaryKey: {name} is not of the key ({})", key.join(", "))));
            };
            let value = parsed(text, column.data_type)
                .ok_or_else(|| refuse(format!("the bound '{text}' of {name} is no {}", column.data_type)))?;
            row.set(column.name.as_str(), value).map_err(|e| refuse(format!("the bound of {name}: {e}")))?;
        }
        for column in table.schema().key_columns() {
            if row.get(column.name.as_str()).is_ok_and(|v| v.is_none()) {
                row.set(column.name.as_str(), least(column.data_type)).map_err(|e| refuse(e.to_string()))?;
            }
        }
        Ok(row)
    }

    pub fn error(&self, e: &kudu_rs::Error) -> Error {
        self.cluster.error("read", e)
    }

    pub fn split(&self, name: &str) -> Reading {
        Reading { split: Arc::from(name), ..self.reading.clone() }
    }
}

/// The least value of a key column.
fn least(of: DataType) -> Value {
    match of {
        DataType::Int8 => Value::Int8(i8::MIN),
        DataType::Int16 => Value::Int16(i16::MIN),
        DataType::Int32 => Value::Int32(i32::MIN),
        DataType::Int64 => Value::Int64(i64::MIN),
        DataType::UnixtimeMicros => Value::UnixtimeMicros(i64::MIN),
        // 0001-01-01
        DataType::Date => Value::Date(-719_162),
        DataType::Decimal { precision, scale } => {
            Value::Decimal { unscaled: 1 - 10_i128.pow(u32::from(precision.min(38))), scale }
        }
        DataType::Binary => Value::Binary(Default::default()),
        _ => Value::String(String::new()),
    }
}

fn parsed(text: &str, to: DataType) -> Option<Value> {
    Some(match to {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Value::Int64(text.trim().parse().ok()?),
        DataType::UnixtimeMicros => Value::UnixtimeMicros(text.trim().parse().ok()?),
        DataType::String | DataType::Varchar { .. } => Value::String(text.to_string()),
        DataType::Binary => Value::Binary(text.as_bytes().to_vec().into()),
        DataType::Date => {
            let day: chrono::NaiveDate = text.trim().parse().ok()?;
            Value::Date(day.signed_duration_since(chrono::NaiveDate::default()).num_days().try_into().ok()?)
        }
        DataType::Decimal { precision, scale } => {
            Value::Decimal { unscaled: crate::formats::parse_decimal(text.trim(), precision, scale).ok()?, scale }
        }
        _ => return None,
    })
}
