//! The table is made on first use, where its key is known (Bahir).

use super::cluster::Cluster;
use super::types::made_for;
use crate::connectors::api::TableContext;
use crate::data::TableSchema;
use crate::error::{Error, Result};
use crate::sql::options::Dialect;
use kudu_rs::{ColumnSchema, Schema, Table};

/// What a table that is not there is made of.
pub struct Creation {
    key: Vec<String>,
    hash: Vec<String>,
    buckets: u32,
    replicas: i32,
}

impl Creation {
    /// None: nothing says what the key would be, or the dialect makes no tables.
    pub fn new(cx: &TableContext) -> Option<Self> {
        if cx.dialect == Dialect::DtStack {
            return None;
        }
        let listed = |name: &str| cx.options.list(name).map(<[String]>::to_vec).filter(|l| !l.is_empty());
        let key = listed("primary-key-columns").unwrap_or_else(|| cx.primary_key.clone());
        if key.is_empty() {
            return None;
        }
        Some(Self {
            hash: listed("hash-columns").unwrap_or_else(|| key.clone()),
            key,
            buckets: cx.options.int("hash-partitions").and_then(|n| u32::try_from(n).ok()).unwrap_or(3),
            replicas: cx.options.int("replicas").and_then(|n| i32::try_from(n).ok()).unwrap_or(1),
        })
    }

    /// Columns of the key come first, as Kudu wants them.
    pub async fn create(&self, cluster: &Cluster, schema: &TableSchema) -> Result<Table> {
        let refuse = |why: String| Error::user(format!("table {}: it cannot be made in Kudu: {why}", cluster.table));
        let mut columns = Vec::with_capacity(schema.columns.len());
        for name in &self.key {
            let Some(c) = schema.columns.iter().find(|c| c.name == *name) else {
                return Err(refuse(format!("the key column {name} is not among its columns")));
            };
            columns.push((c, true));
        }
        columns.extend(schema.columns.iter().filter(|c| !self.key.contains(&c.name)).map(|c| (c, false)));
        let mut made = Vec::with_capacity(columns.len());
        for (c, is_key) in columns {
            let data_type = made_for(&c.logical_type).map_err(|why| refuse(format!("column {}: {why}", c.name)))?;
            let column = ColumnSchema::new(&c.name, data_type);
            made.push(match (is_key, c.nullable) {
                (true, _) => column.key(),
                (false, true) => column.nullable(),
                (false, false) => column,
            });
        }
        let made = Schema::new(made).map_err(|e| refuse(e.to_string()))?;
        let client = cluster.client().await?;
        let creator = client.create_table(&cluster.name, &made).hash_partitions(&self.hash, self.buckets);
        match creator.replicas(self.replicas).create().await {
            Ok(table) => {
                tracing::info!("table {}: made Kudu table {}", cluster.table, cluster.name);
                Ok(table)
            }
            // Another job was faster.
            Err(e) if e.is_already_present() => cluster.open().await,
            Err(e) => Err(cluster.error("make", &e)),
        }
    }
}
