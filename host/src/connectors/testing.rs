//! What the connectors' tests share.

use super::api::{LookupSource, Sink, Source, SourceOutput, SubtaskContext, TableContext};
use super::native_format::NativeFormat;
use crate::data::{Batch, Column, Origin, RowError, TableSchema};
use crate::error::Result;
use crate::formats::FormatContext;
use crate::formats::testing::{chunk, options, rows_as_json};
use crate::metrics::{OperatorMetrics, OperatorRole};
use crate::sql::options::Dialect;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Rows or messages with the positions of their records.
pub(crate) type Positioned = Vec<(u64, String)>;

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn context(dir: &Path, columns: Vec<Column>, pairs: &[(&'static str, &str)]) -> TableContext {
    TableContext {
        table: "t".into(),
        dialect: Dialect::Flink,
        schema: TableSchema::new(columns),
        primary_key: vec![],
        options: options(pairs),
        base_dir: dir.to_path_buf(),
        time_zone: chrono_tz::UTC,
        max_record_bytes: 1 << 20,
        format: None,
        value_columns: vec![],
        key_format: None,
        key_columns: vec![],
        filters: vec![],
    }
}

pub(crate) fn subtask() -> SubtaskContext {
    SubtaskContext { subtask: 0, metrics: OperatorMetrics::new("test", OperatorRole::Transform) }
}

pub(crate) fn with_format(mut cx: TableContext, identifier: &str, pairs: &[(&'static str, &str)]) -> TableContext {
    let format = FormatContext {
        table: cx.table.clone(),
        schema: cx.schema.clone(),
        options: options(pairs),
        time_zone: cx.time_zone,
        null_on_error: false,
        declared: None,
        record_width: None,
    };
    cx.format = Some(NativeFormat::bind(identifier, format).unwrap());
    cx
}

/// A batch of JSON records.
pub(crate) fn batch(columns: &[Column], lines: &[&str]) -> Batch {
    let cx = crate::formats::testing::context(columns.to_vec(), &[]);
    let json = crate::formats::find("json").unwrap();
    let decoded = json.decoder(&cx).unwrap().decode(&chunk(lines)).unwrap();
    assert!(decoded.errors.is_empty(), "{:?}", decoded.errors);
    Batch::new(decoded.columns, Origin::unknown())
}

/// (position, row as JSON) of everything that a source gives, and the positions and messages of what it refused.
pub(crate) fn read_all(source: &dyn Source, parallelism: usize) -> Result<(Positioned, Positioned)> {
    let splits = block_on(source.enumerate(parallelism))?;
    let mut reader = source.reader(&subtask())?;
    splits.into_iter().for_each(|s| reader.add_split(s));
    let (mut rows, mut refused) = (vec![], vec![]);
    loop {
        let (columns, chunk, records) = match block_on(reader.poll(1000, Duration::from_millis(100)))? {
            SourceOutput::Exhausted => return Ok((rows, refused)),
            SourceOutput::Idle => continue,
            SourceOutput::Rows(columns, chunk) => {
                let records = (0..columns.num_rows() as u32).collect();
                (columns, chunk, records)
            }
            SourceOutput::Records(chunk) => {
                let chunk = Arc::new(chunk);
                let decoded = source.decoder()?.unwrap().decode(&chunk)?;
                refused.extend(decoded.refused().map(|e| (chunk.records[e.row as usize].position, e.message.clone())));
                let records = decoded.records.unwrap_or_else(|| (0..chunk.len() as u32).collect::<Vec<_>>());
                (decoded.columns, chunk, records)
            }
        };
        refused.extend(chunk.refused.iter().map(|r| (r.position, r.error.message.clone())));
        for (row, record) in rows_as_json(&columns).into_iter().zip(records) {
            rows.push((chunk.records[record as usize].position, row));
        }
    }
}

/// Writes and flushes; gives the refused rows.
pub(crate) fn write_all(sink: &dyn Sink, batches: &[Batch]) -> Result<Vec<RowError>> {
    block_on(async {
        sink.prepare(None).await?;
        let mut errors = vec![];
        let mut writer = sink.writer(&subtask())?;
        for batch in batches {
            writer.write(batch, &mut errors).await?;
        }
        let mut failed = vec![];
        writer.flush(&mut failed).await?;
        assert!(failed.is_empty());
        writer.close().await?;
        Ok(errors)
    })
}

pub(crate) fn load(lookup: &dyn LookupSource) -> Result<(Vec<String>, Positioned)> {
    let snapshot = block_on(lookup.load_all())?;
    let rows = snapshot.batches.iter().flat_map(rows_as_json).collect();
    Ok((rows, snapshot.failed.into_iter().map(|f| (f.origin.position, f.error.message)).collect()))
}
