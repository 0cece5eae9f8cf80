//! The text of a checkpoint: JSON with a version and a checksum.

use super::{Checkpoint, OperatorState};
use crate::connectors::api::SourceSplit;
use crate::data::Epoch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_128;

const VERSION: u32 = 1;

/// Who wrote it and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub job: String,
    /// Of the process and attempt that wrote it.
    pub attempt: String,
    /// RFC 3339.
    pub time: String,
}

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    version: u32,
    /// XXH3-128 of the bytes of `checkpoint`, in hexadecimal.
    checksum: String,
    #[serde(borrow)]
    checkpoint: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    provenance: Provenance,
    epoch: u64,
    operators: Vec<Operator>,
}

#[derive(Serialize, Deserialize)]
struct Operator {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    access: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    splits: Vec<Split>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unassigned: Vec<Split>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    states: Vec<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Split {
    id: String,
    position: u64,
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    detail: serde_json::Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

impl From<&SourceSplit> for Split {
    fn from(s: &SourceSplit) -> Self {
        Self { id: s.id.to_string(), position: s.position, detail: s.detail.clone(), size: s.size }
    }
}

impl From<Split> for SourceSplit {
    fn from(s: Split) -> Self {
        Self { id: s.id.into(), position: s.position, detail: s.detail, size: s.size }
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, PartialEq)]
pub enum Unusable {
    /// It was written by another version of Wasmill: nothing is wrong with it.
    Version(u32),
    /// It is not what was written.
    Damaged(String),
}

pub fn write(checkpoint: &Checkpoint, provenance: &Provenance) -> serde_json::Result<Vec<u8>> {
    let splits = |s: &[SourceSplit]| s.iter().map(Split::from).collect();
    let operators = checkpoint.operators.iter().map(|o| Operator {
        name: o.name.clone(),
        access: o.access.clone(),
        splits: splits(&o.splits),
        unassigned: splits(&o.unassigned),
        states: o.states.clone(),
    });
    let content = Content { provenance: provenance.clone(), epoch: checkpoint.epoch.0, operators: operators.collect() };
    let content = serde_json::value::to_raw_value(&content)?;
    let checksum = checksum(content.get());
    serde_json::to_vec(&Envelope { version: VERSION, checksum, checkpoint: &content })
}

pub fn read(bytes: &[u8]) -> Result<(Checkpoint, Provenance), Unusable> {
    /// What every version begins with.
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |e: serde_json::Error| Unusable::Damaged(format!("it is no manifest: {e}"));
    let Version { version } = serde_json::from_slice(bytes).map_err(damaged)?;
    if version != VERSION {
        return Err(Unusable::Version(version));
    }
    let envelope: Envelope = serde_json::from_slice(bytes).map_err(damaged)?;
    if envelope.checksum != checksum(envelope.checkpoint.get()) {
        return Err(Unusable::Damaged("its checksum does not fit its content".to_string()));
    }
    let content: Content = serde_json::from_str(envelope.checkpoint.get()).map_err(damaged)?;
    let splits = |s: Vec<Split>| s.into_iter().map(SourceSplit::from).collect();
    let operators = content.operators.into_iter().map(|o| OperatorState {
        name: o.name,
        access: o.access,
        splits: splits(o.splits),
        unassigned: splits(o.unassigned),
        states: o.states,
    });
    Ok((Checkpoint { epoch: Epoch(content.epoch), operators: operators.collect() }, content.provenance))
}

fn checksum(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written() -> (Checkpoint, Provenance, Vec<u8>) {
        let split = |id: &str| SourceSplit {
            id: id.into(),
            position: u64::MAX,
            detail: json!({"path": "a\u{1}b"}),
            size: Some(7),
        };
        let source = OperatorState {
            name: "Source: s".into(),
            access: "kafka".into(),
            splits: vec![split("1")],
            unassigned: vec![SourceSplit { detail: json!(null), size: None, ..split("2") }],
            states: vec![],
        };
        let sink =
            OperatorState { name: "Sink: t".into(), states: vec![json!({"parts": [1.5]})], ..Default::default() };
        let c = Checkpoint { epoch: Epoch(3), operators: vec![source, sink] };
        let p = Provenance { job: "j".into(), attempt: "a-1".into(), time: "2020-01-01T00:00:00Z".into() };
        let bytes = write(&c, &p).unwrap();
        (c, p, bytes)
    }

    #[test]
    fn what_is_written_is_read() {
        let (checkpoint, provenance, bytes) = written();
        assert_eq!(read(&bytes), Ok((checkpoint, provenance)));
    }

    #[test]
    fn every_change_and_every_cut_is_noticed() {
        let (_, _, bytes) = written();
        for i in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[i] ^= 1;
            assert!(read(&changed).is_err(), "byte {i}: {}", String::from_utf8_lossy(&changed));
            assert!(matches!(read(&bytes[..i]), Err(Unusable::Damaged(_))));
        }
    }

    #[test]
    fn another_version_is_told_from_damage() {
        assert_eq!(read(br#"{"version":2,"whatever":true}"#), Err(Unusable::Version(2)));
    }
}
