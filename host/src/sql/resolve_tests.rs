//! Tests of [`super`].

use super::*;
use crate::diagnostic::{Pos, Span};
use std::time::Duration;

const DT: Dialect = Dialect::DtStack;
const FL: Dialect = Dialect::Flink;

const SPECS: &[OptionSpec] = &[
    OptionSpec::new(
        "servers",
        OptionType::List,
        &[(DT, "bootstrapServers"), (FL, "properties.bootstrap.servers")],
        "Where.",
    )
    .required(&[DT, FL]),
    OptionSpec::new("properties", OptionType::Prefix, &[(DT, "kafka."), (FL, "properties.")], "Client options."),
    OptionSpec::new("mode", OptionType::Enum(&["append", "upsert"]), &[(DT, "updateMode"), (FL, "mode")], "How.")
        .default(&[(DT, "append")]),
    OptionSpec::new(
        "wait",
        OptionType::Duration { bare: Duration::from_millis(1) },
        &[(DT, "batchWaitInterval"), (DT, "batchWait"), (FL, "wait")],
        "How long.",
    ),
    OptionSpec::new("password", OptionType::Text, &[(DT, "password"), (FL, "password")], "Secret.").sensitive(),
    OptionSpec::new("delimiter", OptionType::Char, &[(DT, "fieldDelimiter"), (FL, "delimiter")], "Between fields."),
    OptionSpec::new("old", OptionType::Ignored("it is never read"), &[(DT, "zookeeperQuorum")], "Old."),
];

fn with(entries: &[(&str, &str)]) -> WithOptions {
    let at = |line, column| Span::new(Pos { line, column }, Pos { line, column: column + 1 });
    let entries = entries
        .iter()
        .enumerate()
        .map(|(i, (k, v))| WithOption {
            key: k.to_string(),
            value: v.to_string(),
            key_span: at(i as u32 + 1, 1),
            value_span: at(i as u32 + 1, 20),
        })
        .collect();
    WithOptions { entries, span: at(1, 1) }
}

fn run(dialect: Dialect, entries: &[(&str, &str)]) -> (ResolvedOptions, Vec<String>) {
    let mut out = Vec::new();
    let options = resolve(&[SPECS], dialect, &with(entries), "t", &mut out);
    (options, out.into_iter().map(|d| format!("{} {} | {}", d.code, d.message, d.hint.unwrap_or_default())).collect())
}

#[test]
fn aliases_defaults_and_prefixes_resolve_to_our_names() {
    let (o, out) = run(DT, &[("BOOTSTRAPSERVERS", "a:1, b:2"), ("kafka.group.id", "g"), ("batchWait", "5")]);
    assert!(out.is_empty(), "{out:?}");
    assert_eq!(o.list("servers"), Some(&["a:1".to_string(), "b:2".to_string()][..]));
    assert_eq!((o.text("mode"), o.is_set("mode")), (Some("append"), false));
    assert_eq!(o.duration("wait"), Some(Duration::from_millis(5)));
    assert_eq!(o.prefixed["properties"]["group.id"], "g");
    let (o, out) = run(FL, &[("properties.bootstrap.servers", "a:1"), ("properties.x", "1")]);
    assert!(out.is_empty() && o.prefixed["properties"].len() == 1, "{out:?} {o:?}");
}

#[test]
fn unknown_options_warn_in_flinkstreamsql_and_fail_elsewhere() {
    let (_, out) = run(DT, &[("bootstrapServers", "a"), ("zookeeperQuorm", "z")]);
    assert_eq!(out, ["W0301 unknown option zookeeperQuorm is ignored | did you mean zookeeperQuorum?"]);
    let (_, out) = run(FL, &[("properties.bootstrap.servers", "a"), ("MODE", "append")]);
    assert_eq!(out, ["E0301 unknown option MODE | option names are case-sensitive: mode"]);
}

#[test]
fn missing_empty_ignored_double_and_bad_options_are_named() {
    assert_eq!(run(DT, &[]).1, ["E0302 table t needs the option bootstrapServers | Where."]);
    assert_eq!(run(DT, &[("bootstrapServers", " ")]).1, ["E0302 option bootstrapServers of table t is empty | Where."]);
    let ok = ("bootstrapServers", "a");
    assert_eq!(
        run(DT, &[ok, ("zookeeperQuorum", "z")]).1,
        ["W0302 option zookeeperQuorum has no effect here: it is never read | "]
    );
    assert_eq!(
        run(DT, &[ok, ("batchWait", "1"), ("batchWaitInterval", "2")]).1,
        ["E0303 options batchWait and batchWaitInterval mean the same | "]
    );
    assert_eq!(
        run(DT, &[ok, ("updateMode", "merge")]).1,
        ["E0304 option updateMode must be one of append, upsert, not 'merge' | "]
    );
    assert_eq!(
        run(DT, &[ok, ("fieldDelimiter", "||")]).1,
        ["W0303 only the first character of option fieldDelimiter counts | "]
    );
}

#[test]
fn secrets_are_not_shown() {
    let (o, _) = run(
        DT,
        &[
            ("bootstrapServers", "h"),
            ("password", "p1"),
            ("kafka.sasl.jaas.config", "x password=\"p2\";"),
            ("kafka.ssl.key.password", "p3"),
        ],
    );
    let shown = format!("{:?}", o.display());
    assert!(!["p1", "p2", "p3"].iter().any(|p| shown.contains(p)), "{shown}");
    assert_eq!(shown.matches("******").count(), 3, "{shown}");
}

proptest::proptest! {
    #[test]
    fn arbitrary_options_never_panic(entries in proptest::collection::vec(("\\PC{0,12}", "\\PC{0,12}"), 0..6), flink: bool) {
        let entries: Vec<(&str, &str)> = entries.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let (options, _) = run(if flink { FL } else { DT }, &entries);
        let _ = options.display();
    }

    #[test]
    fn arbitrary_text_is_parsed_without_panic(text in "[\\PC\n'\"`;(),=<>.\\[\\]]{0,80}") {
        for head in ["", "CREATE TABLE t(", "CREATE TABLE t(a int) WITH(", "INSERT INTO t SELECT ", "CREATE FUNCTION "] {
            let _ = crate::sql::parse_script(&crate::diagnostic::SourceFile::new("job.sql", format!("{head}{text}")));
        }
    }
}
