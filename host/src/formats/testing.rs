//! What the tests of the formats and connectors share.

use super::json::{JsonEncoder, KindMember};
use super::{Encoded, Encoder, FormatContext};
use crate::data::{Batch, Column, LogicalType, Origin, RecordChunk, RecordRef, TableSchema};
use crate::sql::options::{OptionEntry, OptionValue, ResolvedOptions};
use arrow::array::RecordBatch;
use std::sync::Arc;

/// `true` and `false` become booleans, options that are characters characters, the rest text.
pub(crate) fn options(pairs: &[(&'static str, &str)]) -> ResolvedOptions {
    let mut options = ResolvedOptions::default();
    for (name, text) in pairs {
        let mut chars = text.chars();
        let value = match (*text, chars.next(), chars.next()) {
            ("true", ..) => OptionValue::Bool(true),
            ("false", ..) => OptionValue::Bool(false),
            (_, Some(c), None) if name.ends_with("-character") || *name == "field-delimiter" => OptionValue::Char(c),
            _ => OptionValue::Text(text.to_string()),
        };
        let entry = OptionEntry { value, text: text.to_string(), key: name.to_string(), span: None, sensitive: false };
        options.entries.insert(name, entry);
    }
    options
}

pub(crate) fn context(columns: Vec<Column>, pairs: &[(&'static str, &str)]) -> FormatContext {
    FormatContext {
        table: "t".into(),
        schema: TableSchema::new(columns),
        options: options(pairs),
        time_zone: chrono_tz::Asia::Shanghai,
        null_on_error: false,
        declared: None,
        record_width: None,
    }
}

pub(crate) fn column(name: &str, t: LogicalType) -> Column {
    Column::new(name, t, true)
}

pub(crate) fn chunk<R: AsRef<[u8]>>(records: &[R]) -> Arc<RecordChunk> {
    let mut chunk = RecordChunk { table: "t".into(), split: "s".into(), unit: "line", ..Default::default() };
    for (i, r) in records.iter().enumerate() {
        let start = chunk.bytes.len() as u32;
        chunk.bytes.extend_from_slice(r.as_ref());
        chunk.records.push(RecordRef { position: i as u64 + 1, start, end: chunk.bytes.len() as u32 });
    }
    Arc::new(chunk)
}

pub(crate) fn rows_as_json(batch: &RecordBatch) -> Vec<String> {
    let schema = batch.schema();
    let columns =
        schema.fields().iter().map(|f| Column::new(f.name(), LogicalType::from_arrow(f.data_type()).unwrap(), true));
    let schema = TableSchema::new(columns.collect());
    let mut out = Encoded::default();
    let mut errors = vec![];
    let batch = Batch::new(batch.clone(), Origin::unknown());
    JsonEncoder::plain(&schema, KindMember::Never).encode(&batch, &mut out, &mut errors).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    records(&out)
}

pub(crate) fn records(out: &Encoded) -> Vec<String> {
    let mut start = 0;
    let text = |(end, _): &(usize, u32)| {
        let record = String::from_utf8(out.bytes[start..*end].to_vec()).unwrap();
        start = *end;
        record
    };
    out.records.iter().map(text).collect()
}
