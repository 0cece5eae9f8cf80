//! Where reading begins and ends, as each dialect says it.

use super::properties::property;
use crate::connectors::api::OptionProblem;
use crate::sql::options::{Dialect, ResolvedOptions};
use serde_json::Value;

/// Offsets per partition; without a topic they hold for the table's only one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offsets(pub Vec<(Option<String>, i32, i64)>);

impl Offsets {
    pub fn get(&self, topic: &str, partition: i32) -> Option<i64> {
        let named = |t: &Option<String>| t.as_deref().is_none_or(|t| t == topic);
        self.0.iter().find(|(t, p, _)| *p == partition && named(t)).map(|(_, _, o)| *o)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    Earliest,
    Latest,
    Group,
    /// The first record at or after this time (ms).
    At(i64),
    Offsets(Offsets),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Never,
    Latest,
    Group,
    At(i64),
    /// Not included; partitions without one end where they stand at the start.
    Offsets(Offsets),
}

/// What to do where there is no position (any more).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    Earliest,
    Latest,
    Fail,
}

impl Reset {
    /// None: the table does not say.
    pub fn of(options: &ResolvedOptions) -> Result<Option<Self>, OptionProblem> {
        let Some(text) = property(options.prefixed.get("properties"), "auto.offset.reset") else { return Ok(None) };
        Ok(Some(match text.to_ascii_lowercase().as_str() {
            // The old names are Kafka 0.8's, which librdkafka takes, too.
            "earliest" | "smallest" => Reset::Earliest,
            "latest" | "largest" => Reset::Latest,
            "none" | "error" => Reset::Fail,
            _ => {
                return Err(OptionProblem::error(
                    "properties",
                    "auto.offset.reset: earliest, latest or none is needed",
                ));
            }
        }))
    }

    pub fn as_property(self) -> &'static str {
        match self {
            Reset::Earliest => "earliest",
            Reset::Latest => "latest",
            Reset::Fail => "error",
        }
    }
}

type Parsed<T> = Result<T, OptionProblem>;

pub fn start_of(dialect: Dialect, options: &ResolvedOptions) -> Parsed<Start> {
    if dialect == Dialect::DtStack {
        return dt_start(options);
    }
    match options.text("scan.startup.mode").unwrap_or("group-offsets") {
        "earliest-offset" => Ok(Start::Earliest),
        "latest-offset" => Ok(Start::Latest),
        "timestamp" => match options.int("scan.startup.timestamp-millis") {
            Some(at) => Ok(Start::At(at)),
            None => {
                let key = if dialect == Dialect::Legacy {
                    "connector.startup-timestamp-millis"
                } else {
                    "scan.startup.timestamp-millis"
                };
                Err(OptionProblem::error("scan.startup.mode", format!("timestamp needs {key}")))
            }
        },
        "specific-offsets" => specific_offsets(dialect, options).map(Start::Offsets),
        _ => Ok(Start::Group),
    }
}

fn dt_start(options: &ResolvedOptions) -> Parsed<Start> {
    const WORDS: &str = "latest, earliest, group-offsets, timestamp";
    let text = options.text("offset-reset").unwrap_or("latest").trim();
    match text.to_ascii_lowercase().as_str() {
        "latest" => Ok(Start::Latest),
        "earliest" => Ok(Start::Earliest),
        "group-offsets" => Ok(Start::Group),
        "timestamp" => match options.int("scan.startup.timestamp-millis") {
            Some(at) => Ok(Start::At(at)),
            None => Err(OptionProblem::error("offset-reset", "offsetReset = 'timestamp' needs timestampOffset")),
        },
        // flinkStreamSQL itself reads everything else as latest, silently.
        _ => offset_map(text).map(Start::Offsets).ok_or_else(|| {
            let message = format!("offsetReset must be one of {WORDS}, or offsets such as {{\"0\":12,\"1\":7}}");
            OptionProblem::error("offset-reset", message)
        }),
    }
}

fn specific_offsets(dialect: Dialect, options: &ResolvedOptions) -> Parsed<Offsets> {
    let key = match dialect {
        Dialect::Legacy => "connector.specific-offsets",
        _ => "scan.startup.specific-offsets",
    };
    let problem = |what: &str| Err(OptionProblem::error("scan.startup.specific-offsets", format!("{key} {what}")));
    if options.list("topic").is_none_or(|t| t.len() != 1) {
        return problem("needs a single topic");
    }
    if let Some(indexed) = options.prefixed.get("scan.startup.specific-offsets.indexed") {
        return match indexed_offsets(indexed) {
            Some(offsets) => Ok(offsets),
            None => problem("must come in pairs such as 0.partition = 0, 0.offset = 42"),
        };
    }
    match options.text("scan.startup.specific-offsets") {
        None => Err(OptionProblem::error("scan.startup.mode", format!("specific-offsets needs {key}"))),
        Some(text) => match offset_list(text) {
            Some(offsets) => Ok(offsets),
            None => problem("must look like partition:0,offset:42;partition:1,offset:300"),
        },
    }
}

/// Checks the list even where the mode does not use it.
pub fn check_offset_list(dialect: Dialect, options: &ResolvedOptions) -> Option<OptionProblem> {
    options.text("scan.startup.specific-offsets")?;
    specific_offsets(dialect, options).err()
}

pub fn end_of(dialect: Dialect, options: &ResolvedOptions) -> Parsed<End> {
    const OPTION: &str = "scan.bounded.specific-offsets";
    let text = options.text(OPTION).map(str::trim);
    if dialect == Dialect::DtStack {
        return match text {
            None | Some("") => Ok(End::Never),
            Some(text) => offset_map(text)
                .map(End::Offsets)
                .ok_or_else(|| OptionProblem::error(OPTION, "offsetEnd must be offsets such as {\"0\":100,\"1\":7}")),
        };
    }
    match options.text("scan.bounded.mode").unwrap_or("unbounded") {
        "latest-offset" => Ok(End::Latest),
        "group-offsets" => Ok(End::Group),
        "timestamp" => match options.int("scan.bounded.timestamp-millis") {
            Some(at) => Ok(End::At(at)),
            None => Err(OptionProblem::error("scan.bounded.mode", "timestamp needs scan.bounded.timestamp-millis")),
        },
        "specific-offsets" => match text {
            None => Err(OptionProblem::error("scan.bounded.mode", format!("specific-offsets needs {OPTION}"))),
            Some(text) => offset_list(text).map(End::Offsets).ok_or_else(|| {
                OptionProblem::error(
                    OPTION,
                    format!("{OPTION} must look like partition:0,offset:42;partition:1,offset:300"),
                )
            }),
        },
        _ => Ok(End::Never),
    }
}

/// `{"0":12}` or, per topic, `{"t":{"0":12}}`.
fn offset_map(text: &str) -> Option<Offsets> {
    let value: Value = serde_json::from_str(text).ok()?;
    let outer = value.as_object().filter(|o| !o.is_empty())?;
    let mut offsets = Vec::new();
    let mut add = |topic: Option<&String>, partition: &str, offset: &Value| {
        let offset = i64::try_from(offset.as_u64()?).ok()?;
        offsets.push((topic.cloned(), partition.parse::<u16>().ok()?.into(), offset));
        Some(())
    };
    for (key, value) in outer {
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                for (partition, offset) in inner {
                    add(Some(key), partition, offset)?;
                }
            }
            offset => add(None, key, offset)?,
        }
    }
    Some(Offsets(offsets))
}

/// `partition:0,offset:42;partition:1,offset:300`
fn offset_list(text: &str) -> Option<Offsets> {
    let pair = |pair: &str| {
        let (partition, offset) = pair.split_once(',')?;
        let partition: u16 = partition.trim().strip_prefix("partition:")?.trim().parse().ok()?;
        let offset: u64 = offset.trim().strip_prefix("offset:")?.trim().parse().ok()?;
        Some((None, partition.into(), i64::try_from(offset).ok()?))
    };
    text.trim().trim_end_matches(';').split(';').map(pair).collect::<Option<_>>().map(Offsets)
}

/// `0.partition` = 0, `0.offset` = 42, ..
fn indexed_offsets(given: &indexmap::IndexMap<String, String>) -> Option<Offsets> {
    let mut offsets = Vec::new();
    for (key, value) in given {
        match key.rsplit_once('.')? {
            (n, "partition") => {
                let offset: u64 = given.get(&format!("{n}.offset"))?.trim().parse().ok()?;
                let partition: u16 = value.trim().parse().ok()?;
                offsets.push((None, partition.into(), i64::try_from(offset).ok()?));
            }
            (n, "offset") if given.contains_key(&format!("{n}.partition")) => {}
            _ => return None,
        }
    }
    Some(Offsets(offsets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b36_offsets_are_checked_for_their_shape() {
        let read = |o: Option<Offsets>| o.map(|o| o.0);
        assert_eq!(read(offset_map(r#"{"0":12,"1":7}"#)), Some(vec![(None, 0, 12), (None, 1, 7)]));
        assert_eq!(read(offset_map(r#"{"t1":{"0":5}}"#)), Some(vec![(Some("t1".into()), 0, 5)]));
        for text in ["newest", "{}", r#"{"a":1}"#, r#"{"0":-1}"#, r#"{"t":{}}"#, "[1]"] {
            assert_eq!(offset_map(text), None, "{text}");
        }
        assert_eq!(
            read(offset_list("partition:0,offset:42; partition:1, offset:300;")),
            Some(vec![(None, 0, 42), (None, 1, 300)])
        );
        for text in ["partition:0,offset:42;partition:1", "partition:0,offset:x", "", "0:42"] {
            assert_eq!(offset_list(text), None, "{text}");
        }
        let indexed = |pairs: &[(&str, &str)]| {
            indexed_offsets(&pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()).map(|o| o.0)
        };
        let pairs = [("0.partition", "3"), ("0.offset", "42"), ("1.offset", "7"), ("1.partition", "4")];
        assert_eq!(indexed(&pairs), Some(vec![(None, 3, 42), (None, 4, 7)]));
        assert_eq!(indexed(&pairs[..3]), None);
    }

    #[test]
    fn offsets_hold_for_their_topic() {
        let offsets = Offsets(vec![(Some("a".into()), 0, 1), (None, 1, 2)]);
        assert_eq!((offsets.get("a", 0), offsets.get("b", 0), offsets.get("b", 1)), (Some(1), None, Some(2)));
    }
}
