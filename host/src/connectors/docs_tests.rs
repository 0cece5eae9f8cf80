//! The option tables of the docs are rendered from the tables that read the options. `BLESS=1` rewrites the pages.

use super::{CONNECTORS, api::ConnectorFactory};
use crate::catalog::common::COMMON;
use crate::formats::options::{FORMAT_OPTIONS, FormatOptions};
use crate::sql::options::{Dialect, OptionSpec, OptionType};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const BEGIN: &str = "<!-- options:begin -->\n";
const END: &str = "<!-- options:end -->";
const DIALECTS: [Dialect; 3] = [Dialect::DtStack, Dialect::Legacy, Dialect::Flink];
const NONE: &str = "-";

/// A page and the tables in it.
struct Page {
    path: &'static str,
    tables: Vec<Table>,
}

struct Table {
    /// Empty for the only table of its page.
    heading: String,
    options: &'static [OptionSpec],
    /// Stands in front of the spellings.
    prefix: fn(Dialect) -> String,
    /// Those that have the connector or format at all.
    dialects: Vec<Dialect>,
}

#[test]
fn the_option_tables_of_the_docs_are_those_of_the_code() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut stale = Vec::new();
    for page in pages() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page.path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/{}: {e}", page.path));
        let fresh =
            replaced(&text, &page.render()).unwrap_or_else(|| panic!("docs/{} has no option markers", page.path));
        if fresh == text {
            continue;
        }
        if bless {
            std::fs::write(&path, fresh).unwrap_or_else(|e| panic!("docs/{}: {e}", page.path));
        } else {
            stale.push(page.path);
        }
    }
    assert!(stale.is_empty(), "out of date, run with BLESS=1 and read the diff: {stale:?}");
}

#[test]
fn every_connector_has_a_page() {
    let pages: Vec<&str> = pages().iter().map(|p| p.path).collect();
    for c in CONNECTORS {
        assert!(pages.contains(&page_of(*c)), "{}", c.identifier());
    }
}

/// Tables that belong together share a page.
fn page_of(connector: &dyn ConnectorFactory) -> &'static str {
    match connector.identifier() {
        "blackhole" => "connectors/blackhole.md",
        "console" => "connectors/console.md",
        "datagen" => "connectors/datagen.md",
        "file" => "connectors/file.md",
        "kafka" | "upsert-kafka" => "connectors/kafka.md",
        "kudu" => "connectors/kudu.md",
        "jdbc" => "connectors/jdbc.md",
        "sqlite" => "connectors/sqlite.md",
        "stdin" => "connectors/stdin.md",
        "socket" => "connectors/socket.md",
        other => panic!("connector {other} has no page: add docs/connectors/{other}.md and a line here"),
    }
}

fn pages() -> Vec<Page> {
    let mut connectors: BTreeMap<&'static str, Page> = BTreeMap::new();
    for c in CONNECTORS {
        let path = page_of(*c);
        let page = connectors.entry(path).or_insert_with(|| Page { path, tables: Vec::new() });
        let dialects = DIALECTS.into_iter().filter(|d| !c.names(*d).is_empty()).collect();
        page.tables.push(Table {
            heading: connector_heading(*c),
            options: c.options(),
            prefix: |_| String::new(),
            dialects,
        });
    }
    let mut pages: Vec<Page> = connectors.into_values().collect();
    pages.push(Page {
        path: "formats.md",
        tables: FORMAT_OPTIONS.iter().filter(|f| f.supported).map(format_table).collect(),
    });
    let common =
        Table { heading: String::new(), options: COMMON, prefix: |_| String::new(), dialects: DIALECTS.to_vec() };
    pages.push(Page { path: "connectors/README.md", tables: vec![common] });
    pages
}

fn format_table(f: &FormatOptions) -> Table {
    let prefix: fn(Dialect) -> String = match f.identifier {
        _ if f.own_prefix => |_| "wasm.".to_string(),
        "json" | "dt_nest" => |d| format_prefix(d, "json."),
        "csv" => |d| format_prefix(d, "csv."),
        "raw" => |d| format_prefix(d, "raw."),
        "avro" => |d| format_prefix(d, "avro."),
        "avro-confluent" => |d| format_prefix(d, "avro-confluent."),
        "canal-json" => |d| format_prefix(d, "canal-json."),
        "debezium-json" => |d| format_prefix(d, "debezium-json."),
        other => panic!("format {other}: say its prefix here"),
    };
    Table {
        heading: format!("`{}`", f.identifier),
        options: f.options,
        prefix,
        dialects: DIALECTS.into_iter().filter(|d| f.names.iter().any(|(n, _)| n == d)).collect(),
    }
}

fn format_prefix(dialect: Dialect, flink: &str) -> String {
    match dialect {
        Dialect::DtStack => String::new(),
        Dialect::Legacy => "format.".into(),
        Dialect::Flink => flink.into(),
    }
}

/// `kafka: type = kafka | kafka09`
fn connector_heading(c: &dyn ConnectorFactory) -> String {
    let keys = ["type", "connector.type", "connector"];
    let named = DIALECTS.iter().zip(keys).filter(|(d, _)| !c.names(**d).is_empty()).map(|(d, key)| {
        let names: Vec<String> = c.names(*d).iter().map(|n| format!("`{n}`")).collect();
        format!("`{key}` = {}", names.join(" or "))
    });
    format!("`{}`: {}", c.identifier(), named.collect::<Vec<_>>().join("; "))
}

impl Page {
    fn render(&self) -> String {
        let mut out = String::new();
        for table in &self.tables {
            if !table.heading.is_empty() {
                out.push_str(&format!("### {}\n\n", table.heading));
            }
            out.push_str(&table.render());
            out.push('\n');
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }
}

impl Table {
    fn render(&self) -> String {
        let mut out = String::from(
            "| flinkStreamSQL | Flink 1.10, DLI | Flink | type | default | required | secret | meaning |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for o in self.options.iter().filter(|o| self.having(o).next().is_some()) {
            let mut cells: Vec<String> = DIALECTS.iter().map(|d| self.spellings(o, *d)).collect();
            cells.push(kind(o.kind));
            cells.push(self.default(o));
            cells.push(self.required(o));
            cells.push(if o.sensitive { "yes".into() } else { NONE.into() });
            cells.push(meaning(o));
            let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out
    }

    /// The dialects that have the option.
    fn having(&self, o: &OptionSpec) -> impl Iterator<Item = Dialect> {
        self.dialects.iter().copied().filter(|d| o.spelled(*d).next().is_some())
    }

    fn spellings(&self, o: &OptionSpec, dialect: Dialect) -> String {
        let star = if o.kind == OptionType::Prefix { "*" } else { "" };
        let spelled = o.spelled(dialect).filter(|_| self.dialects.contains(&dialect));
        let all: Vec<String> = spelled.map(|s| format!("`{}{s}{star}`", (self.prefix)(dialect))).collect();
        if all.is_empty() { NONE.into() } else { all.join(", ") }
    }

    /// One value if all dialects that have the option agree; a control character by its escape.
    fn default(&self, o: &OptionSpec) -> String {
        let mut by_value: Vec<(&str, Vec<&str>)> = Vec::new();
        for (d, value) in self.having(o).filter_map(|d| o.default.iter().find(|(of, _)| *of == d)) {
            match by_value.iter_mut().find(|(v, _)| v == value) {
                Some((_, dialects)) => dialects.push(d.as_str()),
                None => by_value.push((value, vec![d.as_str()])),
            }
        }
        let show = |v: &str| format!("`{}`", v.escape_debug());
        match by_value.as_slice() {
            [] => NONE.into(),
            [(one, dialects)] if dialects.len() == self.having(o).count() => show(one),
            values => {
                values.iter().map(|(v, d)| format!("{} ({})", show(v), d.join(", "))).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// In which dialects, `yes` if in all that have the option.
    fn required(&self, o: &OptionSpec) -> String {
        let listed: Vec<Dialect> = self.having(o).filter(|d| o.required.contains(d)).collect();
        match listed.len() {
            0 => NONE.into(),
            n if n == self.having(o).count() => "yes".into(),
            _ => listed.iter().map(|d| d.as_str()).collect::<Vec<_>>().join(", "),
        }
    }
}

fn kind(kind: OptionType) -> String {
    match kind {
        OptionType::Text => "text".into(),
        OptionType::Bool => "boolean".into(),
        OptionType::Int { min: i64::MIN, max: i64::MAX } => "integer".into(),
        OptionType::Int { min, max } if max >= i64::from(i32::MAX) => format!("integer, at least {min}"),
        OptionType::Int { min, max } => format!("integer, {min} to {max}"),
        OptionType::Float { min, max } => format!("number, {min} to {max}"),
        OptionType::Duration { bare } => format!("duration, bare numbers in {}", unit(bare)),
        OptionType::Size => "size".into(),
        OptionType::Enum(values) => values.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(", "),
        OptionType::List => "list, split at `,`".into(),
        OptionType::ListBy(c) => format!("list, split at `{c}`"),
        OptionType::Char => "character".into(),
        OptionType::Prefix => "any".into(),
        OptionType::Ignored(_) => "ignored".into(),
    }
}

fn unit(bare: Duration) -> &'static str {
    match bare.as_millis() {
        1 => "ms",
        1_000 => "s",
        60_000 => "min",
        other => panic!("name the unit of {other} ms here"),
    }
}

fn meaning(o: &OptionSpec) -> String {
    match o.kind {
        OptionType::Ignored(why) => format!("No effect here: {why}."),
        _ => o.doc.to_string(),
    }
}

/// The page with the text between its markers replaced; None without markers.
fn replaced(text: &str, tables: &str) -> Option<String> {
    let start = text.find(BEGIN)? + BEGIN.len();
    let end = start + text[start..].find(END)?;
    Some(format!("{}\n{tables}\n{}", &text[..start], &text[end..]))
}
