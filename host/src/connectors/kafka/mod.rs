//! Kafka. Only the option tables so far: jobs are checked, and run with stand-ins.
pub mod options;

use super::api::{Capabilities, ConnectorFactory, KeyLayout, MetadataKey, MetadataType, OptionProblem, TableUse};
use crate::sql::options::{Dialect, OptionSpec, ResolvedOptions};

const fn metadata(key: &'static str, data_type: MetadataType, writable: bool) -> MetadataKey {
    MetadataKey { key, data_type, writable }
}

/// As Flink's Kafka connector names them.
static METADATA: &[MetadataKey] = &[
    metadata("topic", MetadataType::Text, true),
    metadata("partition", MetadataType::Int, false),
    metadata("headers", MetadataType::Headers, true),
    metadata("leader-epoch", MetadataType::Int, false),
    metadata("offset", MetadataType::BigInt, false),
    metadata("timestamp", MetadataType::Instant, true),
    metadata("timestamp-type", MetadataType::Text, false),
];

pub struct Kafka;

impl ConnectorFactory for Kafka {
    fn identifier(&self) -> &'static str {
        "kafka"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => &["kafka", "kafka09", "kafka10", "kafka11"],
            Dialect::Legacy | Dialect::Flink => &["kafka"],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::KAFKA
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn default_format(&self, dialect: Dialect, as_sink: bool) -> Option<&'static str> {
        match (dialect, as_sink) {
            (Dialect::DtStack, false) => Some("dt_nest"),
            (Dialect::DtStack, true) => Some("json"),
            _ => None,
        }
    }
    /// flinkStreamSQL's source splits csv at `|`, its sink writes `,`.
    fn format_defaults(&self, dialect: Dialect, as_sink: bool) -> &'static [(&'static str, &'static str)] {
        match (dialect, as_sink) {
            (Dialect::DtStack, false) => &[("field-delimiter", "|")],
            _ => &[],
        }
    }
    fn metadata(&self, dialect: Dialect) -> &'static [MetadataKey] {
        if dialect == Dialect::Flink { METADATA } else { &[] }
    }
    fn key_layout(&self, table: &TableUse, options: &ResolvedOptions, _primary_key: &[String]) -> Option<KeyLayout> {
        let (columns, format) = match table.dialect {
            // flinkStreamSQL makes keys of its JSON sinks only.
            Dialect::DtStack if table.is_sink && options.text("format").unwrap_or("json") == "json" => {
                (options.list("partition-keys")?, "json")
            }
            Dialect::Flink => (options.list("key.fields")?, options.text("key.format")?),
            _ => return None,
        };
        Some(KeyLayout {
            format: format.to_string(),
            columns: columns.to_vec(),
            prefix: options.text("key.fields-prefix").unwrap_or_default().to_string(),
            in_value: options.text("value.fields-include") != Some("EXCEPT_KEY"),
        })
    }
    fn has_runtime(&self) -> bool {
        false
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        check_topics(table.dialect, options, &mut problems);
        check_startup(table.dialect, options, &mut problems);
        check_keys(table, options, &mut problems);
        if table.dialect == Dialect::DtStack && !table.is_sink {
            for (name, key) in [("update-mode", "updateMode"), ("enable-key-partitions", "enableKeyPartitions")] {
                if options.is_set(name) {
                    problems.push(OptionProblem::warning(name, format!("{key} has no effect on a source")));
                }
            }
        }
        if let Some(zone) = options.text("timezone")
            && zone.parse::<chrono_tz::Tz>().is_err()
        {
            let message = format!("unknown time zone {zone}: names look like Asia/Shanghai or UTC");
            problems.push(OptionProblem::error("timezone", message));
        }
        problems
    }
}

/// Exactly one of topic and topic-pattern (flinkStreamSQL requires topic).
fn check_topics(dialect: Dialect, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let (topic, pattern) = match dialect {
        Dialect::DtStack => return,
        Dialect::Legacy => ("connector.topic", "connector.topic-pattern"),
        Dialect::Flink => ("topic", "topic-pattern"),
    };
    let given = |name: &str| options.list(name).is_some_and(|l| !l.is_empty());
    match (given("topic"), options.text("topic-pattern").is_some_and(|t| !t.is_empty())) {
        (true, true) => {
            problems.push(OptionProblem::error("topic-pattern", format!("{topic} and {pattern} exclude each other")));
        }
        (false, false) => problems.push(OptionProblem::error("topic", format!("{topic} or {pattern} is needed"))),
        _ => {}
    }
}

fn check_startup(dialect: Dialect, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if let Some(reset) = options.text("offset-reset") {
        let words = ["latest", "earliest", "group-offsets", "timestamp"];
        let is_word = words.iter().any(|w| w.eq_ignore_ascii_case(reset));
        if !is_word && !is_offset_map(reset) {
            // flinkStreamSQL itself reads everything else as latest, silently.
            let message =
                format!("offsetReset must be one of {}, or offsets such as {{\"0\":12,\"1\":7}}", words.join(", "));
            problems.push(OptionProblem::error("offset-reset", message));
        }
        if reset.eq_ignore_ascii_case("timestamp") && !options.is_set("scan.startup.timestamp-millis") {
            problems.push(OptionProblem::error("offset-reset", "offsetReset = 'timestamp' needs timestampOffset"));
        }
    }
    let mode = options.text("scan.startup.mode");
    let needs = |mode_name: &str, option: &str| mode == Some(mode_name) && !options.is_set(option);
    let (offsets_key, millis_key) = match dialect {
        Dialect::Legacy => ("connector.specific-offsets", "connector.startup-timestamp-millis"),
        _ => ("scan.startup.specific-offsets", "scan.startup.timestamp-millis"),
    };
    let indexed = options.prefixed.contains_key("scan.startup.specific-offsets.indexed");
    if needs("specific-offsets", "scan.startup.specific-offsets") && !indexed {
        problems.push(OptionProblem::error("scan.startup.mode", format!("specific-offsets needs {offsets_key}")));
    }
    if needs("timestamp", "scan.startup.timestamp-millis") {
        problems.push(OptionProblem::error("scan.startup.mode", format!("timestamp needs {millis_key}")));
    }
    if let Some(text) = options.text("scan.startup.specific-offsets") {
        if !is_offset_list(text) {
            let message = format!("{offsets_key} must look like partition:0,offset:42;partition:1,offset:300");
            problems.push(OptionProblem::error("scan.startup.specific-offsets", message));
        }
        if options.list("topic").is_some_and(|t| t.len() > 1) {
            let message = format!("{offsets_key} needs a single topic");
            problems.push(OptionProblem::error("scan.startup.specific-offsets", message));
        }
    }
}

fn check_keys(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if table.dialect != Dialect::Flink {
        return;
    }
    match (options.is_set("key.format"), options.is_set("key.fields")) {
        (true, false) => problems.push(OptionProblem::error("key.format", "key.format needs key.fields")),
        (false, true) => problems.push(OptionProblem::error("key.fields", "key.fields needs key.format")),
        _ => {}
    }
    check_transactions(options, problems);
}

fn check_transactions(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let exactly_once = options.text("sink.delivery-guarantee") == Some("exactly-once");
    if exactly_once && !options.is_set("sink.transactional-id-prefix") {
        let message = "exactly-once needs sink.transactional-id-prefix";
        problems.push(OptionProblem::error("sink.delivery-guarantee", message));
    }
}

/// `{"0":12}` or, per topic, `{"t":{"0":12}}`.
fn is_offset_map(text: &str) -> bool {
    use serde_json::Value;
    let offsets = |v: &Value| {
        v.as_object().is_some_and(|o| !o.is_empty() && o.iter().all(|(k, v)| k.parse::<u32>().is_ok() && v.is_u64()))
    };
    serde_json::from_str::<Value>(text)
        .is_ok_and(|v| offsets(&v) || v.as_object().is_some_and(|o| !o.is_empty() && o.values().all(offsets)))
}

/// `partition:0,offset:42;partition:1,offset:300`
fn is_offset_list(text: &str) -> bool {
    let number = |s: Option<&str>| s.is_some_and(|s| s.trim().parse::<u64>().is_ok());
    text.trim_end_matches(';').split(';').all(|pair| {
        pair.split_once(',').is_some_and(|(p, o)| {
            number(p.trim().strip_prefix("partition:")) && number(o.trim().strip_prefix("offset:"))
        })
    })
}

pub struct UpsertKafka;

impl ConnectorFactory for UpsertKafka {
    fn identifier(&self) -> &'static str {
        "upsert-kafka"
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Flink => &["upsert-kafka"],
            _ => &[],
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::UPSERT_KAFKA
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: false }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn metadata(&self, _dialect: Dialect) -> &'static [MetadataKey] {
        METADATA
    }
    fn key_layout(&self, _table: &TableUse, options: &ResolvedOptions, primary_key: &[String]) -> Option<KeyLayout> {
        Some(KeyLayout {
            format: options.text("key.format")?.to_string(),
            columns: primary_key.to_vec(),
            prefix: options.text("key.fields-prefix").unwrap_or_default().to_string(),
            in_value: options.text("value.fields-include") != Some("EXCEPT_KEY"),
        })
    }
    fn has_runtime(&self) -> bool {
        false
    }
    fn check_options(&self, table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        if !table.has_primary_key {
            problems.push(OptionProblem::error("connector", "upsert-kafka needs a PRIMARY KEY .. NOT ENFORCED"));
        }
        let rows = options.int("sink.buffer-flush.max-rows").is_some_and(|n| n > 0);
        let interval = options.duration("sink.buffer-flush.interval").is_some_and(|d| !d.is_zero());
        if rows != interval {
            let message = "sink.buffer-flush.max-rows and sink.buffer-flush.interval work only together";
            problems.push(OptionProblem::error("sink.buffer-flush.max-rows", message));
        }
        check_transactions(options, &mut problems);
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_checked_for_their_shape() {
        assert!(is_offset_map(r#"{"0":12,"1":7}"#) && is_offset_map(r#"{"t1":{"0":5}}"#));
        assert!(!is_offset_map("newest") && !is_offset_map("{}") && !is_offset_map(r#"{"a":1}"#));
        assert!(is_offset_list("partition:0,offset:42;partition:1,offset:300"));
        assert!(!is_offset_list("partition:0,offset:42;partition:1") && !is_offset_list("partition:0,offset:x"));
    }
}
