//! What is wrong with a table's options taken together.

use super::properties::{Properties, Role};
use super::start::{self, Reset, Start};
use super::topics::Topics;
use crate::connectors::api::{OptionProblem, TableUse};
use crate::sql::options::{Dialect, ResolvedOptions};

pub fn check_kafka(table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
    let mut problems = Vec::new();
    check_topics(table.dialect, options, &mut problems);
    check_positions(table, options, &mut problems);
    check_keys(table, options, &mut problems);
    check_properties(table, options, &mut problems);
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

pub fn check_upsert(table: &TableUse, options: &ResolvedOptions) -> Vec<OptionProblem> {
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
    if let Err(problem) = start::end_of(table.dialect, options) {
        problems.push(problem);
    }
    check_prefix(options, &mut problems);
    check_guarantee(options, &mut problems);
    check_properties(table, options, &mut problems);
    problems
}

/// Exactly one of topic and topic-pattern (flinkStreamSQL requires topic).
fn check_topics(dialect: Dialect, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let (topic, pattern) = match dialect {
        Dialect::DtStack => ("topic", "topic"),
        Dialect::Legacy => ("connector.topic", "connector.topic-pattern"),
        Dialect::Flink => ("topic", "topic-pattern"),
    };
    let given = |name: &str| options.list(name).is_some_and(|l| !l.is_empty());
    match (given("topic"), options.text("topic-pattern").is_some_and(|t| !t.is_empty())) {
        (true, true) => {
            problems.push(OptionProblem::error("topic-pattern", format!("{topic} and {pattern} exclude each other")));
        }
        (false, false) if dialect != Dialect::DtStack => {
            problems.push(OptionProblem::error("topic", format!("{topic} or {pattern} is needed")));
        }
        _ => {}
    }
    if let Err(message) = Topics::of(dialect, options) {
        let option = if dialect == Dialect::DtStack { "topic" } else { "topic-pattern" };
        problems.push(OptionProblem::error(option, message));
    }
}

fn check_positions(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let start = start::start_of(table.dialect, options);
    problems.extend(start.as_ref().err().cloned());
    if start.is_ok() {
        problems.extend(start::check_offset_list(table.dialect, options));
    }
    problems.extend(start::end_of(table.dialect, options).err());
    problems.extend(Reset::of(options).err());
    let properties = options.prefixed.get("properties");
    let group = options.text("group.id").is_some() || super::properties::property(properties, "group.id").is_some();
    let option = if table.dialect == Dialect::DtStack { "offset-reset" } else { "scan.startup.mode" };
    // The default holds for tables that are never read, too: those are told when the job starts.
    if start == Ok(Start::Group) && !group && !table.is_sink && options.is_set(option) {
        let (key, others) = match table.dialect {
            Dialect::DtStack => ("groupId", "offsetReset = 'earliest' or 'latest'"),
            Dialect::Legacy => ("connector.properties.group.id", "connector.startup-mode = 'earliest-offset'"),
            Dialect::Flink => ("properties.group.id", "scan.startup.mode = 'earliest-offset'"),
        };
        let message = format!("starting from group-offsets needs {key}; or set {others}");
        problems.push(OptionProblem::error(option, message));
    }
}

fn check_keys(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if table.dialect == Dialect::Flink {
        match (options.is_set("key.format"), options.is_set("key.fields")) {
            (true, false) => problems.push(OptionProblem::error("key.format", "key.format needs key.fields")),
            (false, true) => problems.push(OptionProblem::error("key.fields", "key.fields needs key.format")),
            _ => {}
        }
        check_prefix(options, problems);
        check_guarantee(options, problems);
    }
    let partitioner = options.text("sink.partitioner");
    if let Some(name) = partitioner
        && !["default", "fixed", "round-robin"].iter().any(|p| p.eq_ignore_ascii_case(name))
    {
        let message =
            format!("partitioner {name}: default, fixed and round-robin are possible; Java classes cannot run here");
        problems.push(OptionProblem::error("sink.partitioner", message));
    }
    if partitioner.is_some_and(|p| p.eq_ignore_ascii_case("round-robin")) && options.is_set("key.fields") {
        let message = "round-robin and key.fields exclude each other: records with keys go where their key says";
        problems.push(OptionProblem::error("sink.partitioner", message));
    }
    if table.dialect == Dialect::Legacy && table.is_sink && options.text("update-mode").is_some_and(|m| m != "append") {
        let message = "Kafka sinks of this dialect append only; upsert-kafka (Flink 1.12 and later) writes changes";
        problems.push(OptionProblem::error("update-mode", message));
    }
    let append_only = |format: &str| {
        crate::formats::find(format).is_some_and(|f| f.changelog_mode() == crate::data::ChangelogMode::Append)
    };
    if table.dialect == Dialect::Flink && table.has_primary_key && options.text("format").is_some_and(append_only) {
        let message = "a PRIMARY KEY needs a format of changes (debezium-json ..) or the connector upsert-kafka: \
                       records of this format say nothing of updates";
        problems.push(OptionProblem::error("connector", message));
    }
    if table.dialect == Dialect::DtStack
        && table.is_sink
        && options.is_set("partition-keys")
        && options.text("format").is_some_and(|f| f != "json")
    {
        let message = "partitionKeys has no effect: only json records have keys";
        problems.push(OptionProblem::warning("partition-keys", message));
    }
}

fn check_prefix(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if options.text("key.fields-prefix").is_some_and(|p| !p.is_empty())
        && options.text("value.fields-include") != Some("EXCEPT_KEY")
    {
        let message = "key.fields-prefix needs value.fields-include = 'EXCEPT_KEY'";
        problems.push(OptionProblem::error("key.fields-prefix", message));
    }
}

fn check_guarantee(options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    if options.text("sink.delivery-guarantee") != Some("exactly-once") {
        return;
    }
    let message = if options.is_set("sink.transactional-id-prefix") {
        "not supported yet: exactly-once; at-least-once and none are"
    } else {
        "exactly-once needs sink.transactional-id-prefix, and is not supported yet; at-least-once and none are"
    };
    problems.push(OptionProblem::error("sink.delivery-guarantee", message));
}

fn check_properties(table: &TableUse, options: &ResolvedOptions, problems: &mut Vec<OptionProblem>) {
    let role = if table.is_sink { Role::Producer } else { Role::Consumer };
    let found = Properties::translate(options.prefixed.get("properties"), role);
    problems.extend(found.findings.into_iter().map(|f| OptionProblem {
        option: "properties",
        message: f.message,
        is_error: f.is_error,
    }));
}
