//! `canal-json`: changes of MySQL as Canal writes them, several rows a record. Flink's rules: an UPDATE lists the new rows
//! in `data` and what they had before in `old`, without the members that did not change; statements that change tables
//! (DDL) are passed over; written are INSERT for what is added and DELETE for what is taken back.

use super::decode::{JsonDecoder, Part};
use super::encode::JsonEncoder;
use super::envelope::{self, Members};
use crate::data::{Batch, ChangelogMode, RecordChunk, RowError, RowKind};
use crate::error::{Error, Result};
use crate::formats::rows::RecordFault;
use crate::formats::{Decoded, Decoder, Encoded, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::sql::options::{OptionSpec, ResolvedOptions};
use regex::Regex;
use std::sync::Arc;

/// `canal-json`
pub struct CanalJson;

impl FormatFactory for CanalJson {
    fn identifier(&self) -> &'static str {
        "canal-json"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::CANAL_JSON
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
        let pattern = |name: &str| match cx.options.text(name).filter(|t| !t.is_empty()) {
            None => Ok(None),
            // The whole name must match, as in Flink.
            Some(text) => Regex::new(&format!("^(?:{text})$")).map(Some).map_err(|e| {
                Error::user(format!("table {}: canal-json.{name}: {text} is no regular expression: {e}", cx.table))
            }),
        };
        let wanted = Wanted { database: pattern("database.include")?, table: pattern("table.include")? };
        Ok(Box::new(CanalDecoder { json: JsonDecoder::new(cx, false)?, wanted }))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(CanalEncoder { row: JsonEncoder::new(cx)? }))
    }
}

/// Of which database and table changes are read.
struct Wanted {
    database: Option<Regex>,
    table: Option<Regex>,
}

struct CanalDecoder {
    json: JsonDecoder,
    wanted: Wanted,
}

impl Decoder for CanalDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        let wanted = &self.wanted;
        self.json.decode_parts(chunk, |record, parts| changes(record, wanted, parts))
    }
}

const MEMBERS: &[&str] = &["data", "old", "type", "isDdl", "database", "table"];

fn changes(record: &str, wanted: &Wanted, parts: &mut Vec<Part>) -> std::result::Result<(), RecordFault> {
    let refuse = |what: String| Err(RecordFault::record(what));
    let members = Members::of(record, 0..record.len(), MEMBERS)?;
    for (name, pattern) in [("database", &wanted.database), ("table", &wanted.table)] {
        let Some(pattern) = pattern else { continue };
        if !members.text(name)?.is_some_and(|text| pattern.is_match(&text)) {
            return Ok(());
        }
    }
    let Some(kind) = members.text("type")? else {
        return refuse("the record has no type: it is no change of Canal's".into());
    };
    let is_ddl = members.is_true("isDdl");
    if is_ddl || matches!(&*kind, "CREATE" | "ALTER" | "ERASE" | "RENAME" | "CINDEX" | "DINDEX" | "QUERY") {
        return Ok(());
    }
    let rows = |name: &str| {
        members.objects(name)?.ok_or_else(|| RecordFault::record(format!("the {kind} has no rows in '{name}'")))
    };
    match &*kind {
        "INSERT" => {
            parts.extend(rows("data")?.into_iter().map(|own| Part { own, base: None, kind: RowKind::Insert }));
        }
        "DELETE" => {
            parts.extend(rows("data")?.into_iter().map(|own| Part { own, base: None, kind: RowKind::Delete }));
        }
        "UPDATE" => {
            let (new, old) = (rows("data")?, rows("old")?);
            if new.len() != old.len() {
                return refuse(format!("the UPDATE has {} rows in 'data' and {} in 'old'", new.len(), old.len()));
            }
            for (new, old) in new.into_iter().zip(old) {
                parts.push(Part { own: old, base: Some(new.clone()), kind: RowKind::UpdateBefore });
                parts.push(Part { own: new, base: None, kind: RowKind::UpdateAfter });
            }
        }
        other => {
            return refuse(format!("the type '{}' is none of INSERT, UPDATE and DELETE", envelope::shown(other)));
        }
    }
    Ok(())
}

struct CanalEncoder {
    row: JsonEncoder,
}

impl Encoder for CanalEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        envelope::encode(&self.row, batch, out, errors, |kind| match kind {
            RowKind::Insert | RowKind::UpdateAfter => ("{\"data\":[", "],\"type\":\"INSERT\"}"),
            RowKind::UpdateBefore | RowKind::Delete => ("{\"data\":[", "],\"type\":\"DELETE\"}"),
        })
    }
}
