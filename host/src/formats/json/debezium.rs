//! `debezium-json`: a change with the row before and after it. Flink's rules: `c` and `r` (snapshot) insert, `u` gives the
//! row before as -U and the row after as +U, `d` deletes; written are `c` for what is added and `d` for what is taken
//! back.

use super::decode::{JsonDecoder, Part};
use super::encode::JsonEncoder;
use super::envelope::{self, Members};
use crate::data::{Batch, ChangelogMode, RecordChunk, RowError, RowKind};
use crate::error::{Error, Result};
use crate::formats::rows::RecordFault;
use crate::formats::{Decoded, Decoder, Encoded, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::sql::options::{OptionSpec, ResolvedOptions};
use std::sync::Arc;

/// `debezium-json`
pub struct DebeziumJson;

impl FormatFactory for DebeziumJson {
    fn identifier(&self) -> &'static str {
        "debezium-json"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::DEBEZIUM_JSON
    }
    fn framing(&self, _options: &ResolvedOptions) -> Result<Framing> {
        Ok(Framing::Lines)
    }
    fn is_text(&self) -> bool {
        true
    }
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::All
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        let with_schema = cx.options.bool("schema-include").unwrap_or(false);
        Ok(Box::new(DebeziumDecoder { json: JsonDecoder::new(cx, false)?, with_schema }))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        if cx.options.bool("schema-include").unwrap_or(false) {
            let message =
                format!("table {}: debezium-json.schema-include is for sources; records are written without", cx.table);
            return Err(Error::user(message));
        }
        Ok(Box::new(DebeziumEncoder { row: JsonEncoder::new(cx)? }))
    }
}

struct DebeziumDecoder {
    json: JsonDecoder,
    /// The change lies in the member `payload`, beside its schema.
    with_schema: bool,
}

impl Decoder for DebeziumDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let with_schema = self.with_schema;
        self.json.decode_parts(chunk, |record, parts| change(record, with_schema, parts))
    }
}

fn change(record: &str, with_schema: bool, parts: &mut Vec<Part>) -> std::result::Result<(), RecordFault> {
    let refuse = |what: String| Err(RecordFault::record(what));
    let mut members = Members::of(record, 0..record.len(), &["before", "after", "op", "payload"])?;
    match (with_schema, members.object("payload")?) {
        (true, Some(payload)) => members = Members::of(record, payload, &["before", "after", "op"])?,
        (true, None) => return refuse("the record has no payload (schema-include says that it is inside one)".into()),
        (false, Some(_)) if !members.has("op") => {
            return refuse("the record has a payload: set debezium-json.schema-include to true".into());
        }
        (false, _) => {}
    }
    let Some(op) = members.text("op")? else {
        return refuse("the record has no op: it is no change of Debezium's".into());
    };
    let (before, after) = (members.object("before")?, members.object("after")?);
    let mut part = |own, kind| parts.push(Part { own, base: None, kind });
    let image = |what: &str, name: &str| {
        let hint = "a database must be told to log it: in PostgreSQL ALTER TABLE .. REPLICA IDENTITY FULL";
        let hint = if name == "before" { format!("; {hint}") } else { String::new() };
        RecordFault::record(format!("the {what} (op = '{op}') has no row in '{name}'{hint}"))
    };
    match &*op {
        "c" | "r" => part(after.ok_or_else(|| image("insert", "after"))?, RowKind::Insert),
        "u" => {
            let before = before.ok_or_else(|| image("update", "before"))?;
            let after = after.ok_or_else(|| image("update", "after"))?;
            part(before, RowKind::UpdateBefore);
            part(after, RowKind::UpdateAfter);
        }
        "d" => part(before.ok_or_else(|| image("delete", "before"))?, RowKind::Delete),
        other => return refuse(format!("the op '{}' is none of c, r, u and d", envelope::shown(other))),
    }
    Ok(())
}

struct DebeziumEncoder {
    row: JsonEncoder,
}

impl Encoder for DebeziumEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let sparse = self.row.leaves_nulls_out();
        envelope::encode(&self.row, batch, out, errors, |kind| {
            match (matches!(kind, RowKind::Insert | RowKind::UpdateAfter), sparse) {
                (true, false) => ("{\"before\":null,\"after\":", ",\"op\":\"c\"}"),
                (true, true) => ("{\"after\":", ",\"op\":\"c\"}"),
                (false, false) => ("{\"before\":", ",\"after\":null,\"op\":\"d\"}"),
                (false, true) => ("{\"before\":", ",\"op\":\"d\"}"),
            }
        })
    }
}
