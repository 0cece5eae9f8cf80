//! Metadata columns: what Kafka knows of a record beside its key and value.

use super::topics::split_name;
use crate::connectors::api::{MetadataKey, MetadataType, TableContext};
use crate::data::RecordChunk;
use crate::error::{Error, Result};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, Int32Array, Int64Array, MapArray, MapBuilder, MapFieldNames, RecordBatch,
    StringArray, StringBuilder, TimestampMillisecondArray,
};
use arrow::datatypes::TimestampMillisecondType;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataColumn {
    Topic,
    Partition,
    Headers,
    LeaderEpoch,
    Offset,
    Timestamp,
    TimestampType,
}

const fn key(key: &'static str, data_type: MetadataType, writable: bool) -> MetadataKey {
    MetadataKey { key, data_type, writable }
}

/// As Flink's Kafka connector names them.
pub static KEYS: &[MetadataKey] = &[
    key("topic", MetadataType::Text, true),
    key("partition", MetadataType::Int, false),
    key("headers", MetadataType::Headers, true),
    key("leader-epoch", MetadataType::Int, false),
    key("offset", MetadataType::BigInt, false),
    key("timestamp", MetadataType::Instant, true),
    key("timestamp-type", MetadataType::Text, false),
];

/// The table's metadata columns: (index in its schema, what it holds).
pub fn columns(cx: &TableContext) -> Result<Vec<(usize, MetadataColumn)>> {
    let column = |(i, key): (usize, &str)| {
        let column = match key {
            "topic" => MetadataColumn::Topic,
            "partition" => MetadataColumn::Partition,
            "headers" => MetadataColumn::Headers,
            "leader-epoch" => MetadataColumn::LeaderEpoch,
            "offset" => MetadataColumn::Offset,
            "timestamp" => MetadataColumn::Timestamp,
            "timestamp-type" => MetadataColumn::TimestampType,
            _ => return Err(Error::user(format!("table {}: Kafka has no metadata {key}", cx.table))),
        };
        Ok((i, column))
    };
    cx.metadata_columns().map(column).collect()
}

/// The column for these records of a chunk.
pub fn build(column: MetadataColumn, chunk: &RecordChunk, records: impl Iterator<Item = usize>) -> Result<ArrayRef> {
    let (topic, partition) = split_name(&chunk.split).unwrap_or((&chunk.split, 0));
    let envelope = |r: usize| chunk.envelopes.get(r);
    Ok(match column {
        MetadataColumn::Topic => Arc::new(records.map(|_| Some(topic)).collect::<StringArray>()),
        MetadataColumn::Partition => Arc::new(records.map(|_| Some(partition)).collect::<Int32Array>()),
        MetadataColumn::LeaderEpoch => Arc::new(records.map(|r| envelope(r)?.leader_epoch).collect::<Int32Array>()),
        MetadataColumn::Offset => {
            let offset = |r: usize| i64::try_from(chunk.records[r].position).ok();
            Arc::new(records.map(offset).collect::<Int64Array>())
        }
        MetadataColumn::Timestamp => {
            let times = records.map(|r| envelope(r)?.timestamp).collect::<TimestampMillisecondArray>();
            Arc::new(times.with_timezone("UTC"))
        }
        MetadataColumn::TimestampType => {
            let kind = |r: usize| Some(envelope(r)?.timestamp_type);
            Arc::new(records.map(kind).collect::<StringArray>())
        }
        MetadataColumn::Headers => headers(chunk, records)?,
    })
}

fn headers(chunk: &RecordChunk, records: impl Iterator<Item = usize>) -> Result<ArrayRef> {
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), BinaryBuilder::new());
    for r in records {
        let headers = chunk.envelopes.get(r).map(|e| e.headers.as_slice()).unwrap_or_default();
        for (i, (name, value)) in headers.iter().enumerate() {
            // A map has a key once: as in Flink, the last header of a name counts.
            if headers[i + 1..].iter().any(|(later, _)| later == name) {
                continue;
            }
            builder.keys().append_value(name);
            builder.values().append_option(value.as_ref());
        }
        builder.append(true)?;
    }
    Ok(Arc::new(builder.finish()))
}

/// What a sink's metadata columns say of each row.
#[derive(Default)]
pub struct Written<'a> {
    topic: Option<&'a StringArray>,
    timestamp: Option<&'a TimestampMillisecondArray>,
    headers: Option<&'a MapArray>,
}

impl<'a> Written<'a> {
    /// An internal error for a column of another type.
    pub fn of(batch: &'a RecordBatch, columns: &[(usize, MetadataColumn)]) -> Result<Self> {
        let mut written = Written::default();
        for (i, column) in columns {
            let array = batch.column(*i);
            let found = match column {
                MetadataColumn::Topic => {
                    written.topic = array.as_string_opt();
                    written.topic.is_some()
                }
                MetadataColumn::Timestamp => {
                    written.timestamp = array.as_primitive_opt::<TimestampMillisecondType>();
                    written.timestamp.is_some()
                }
                MetadataColumn::Headers => {
                    written.headers = array.as_map_opt();
                    written.headers.is_some()
                }
                // Not writable: the catalog leaves them out.
                _ => true,
            };
            if !found {
                return Err(Error::internal(format!("{column:?} is written from a {}", array.data_type())));
            }
        }
        Ok(written)
    }

    pub fn topic(&self, row: usize) -> Option<&'a str> {
        self.topic.filter(|a| a.is_valid(row)).map(|a| a.value(row))
    }

    pub fn timestamp(&self, row: usize) -> Option<i64> {
        self.timestamp.filter(|a| a.is_valid(row)).map(|a| a.value(row))
    }

    pub fn headers(&self, row: usize) -> Vec<(String, Option<Vec<u8>>)> {
        let Some(map) = self.headers.filter(|a| a.is_valid(row)) else { return vec![] };
        let entries = map.value(row);
        let (Some(keys), Some(values)) =
            (entries.column(0).as_string_opt::<i32>(), entries.column(1).as_binary_opt::<i32>())
        else {
            return vec![];
        };
        (0..entries.len())
            .map(|i| (keys.value(i).to_string(), values.is_valid(i).then(|| values.value(i).to_vec())))
            .collect()
    }
}
